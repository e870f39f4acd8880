#pragma once

#include "compilers/command/fixed_paths.hpp"
#include "compilers/command/profile.hpp"

// CacheOptions::stable_paths for nvcc, which has no option for it: what it is told instead of its source's directory
// and of the directories that it searches is the same for every call, and leads each to its own. /proc/self/fd/640 is a
// directory that is open in every process of the tree, and /proc/self/cwd the working directory, which the recorder
// tells for it. Two calls at once are not in each other's way.

namespace hearth::command {

// None: this call cannot be made so.
std::vector<FixedPath> linked_paths(const Call& call, const watch::Places& places);

// What is written for the source's directory and the others, in their order.
std::vector<std::string> names_of_links(const watch::Places& places, const std::vector<FixedPath>& links);

// The words of a command, whose first is its program.
std::vector<std::string> through_links(std::vector<std::string> words, const Call& call,
                                       const std::vector<FixedPath>& links);

// A message as it would be without links.
std::string without_links(std::string text, const std::vector<FixedPath>& links);

}  // namespace hearth::command
