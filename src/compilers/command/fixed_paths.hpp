#pragma once

#include "watch/condition.hpp"

#include <string>
#include <string_view>
#include <vector>

// CacheOptions::stable_paths for host compilers: they are told to write other paths into debug information and for
// __FILE__ than those of the places, so that a source which lies in a new directory each time is a hit.

namespace hearth::command {

// Of a place that is named by its whole path, and of what lies below it.
struct FixedPath {
    std::string path;
    std::string name;     // that is written for it
    int descriptor = -1;  // the open directory that the name leads to, where it does (linked_paths.hpp)
};

// Of a directory.
std::string without_last_slash(std::string path);

// The working directory is ".", and the others are told by their number. None: a compiler would misread one of them.
std::vector<FixedPath> fixed_paths(const watch::Places& places);

// For the command line of gcc or clang.
std::vector<std::string> options_of(const std::vector<FixedPath>& fixed);

// What is written for each of the places, the directories in their order.
std::vector<std::string> names_of(const watch::Places& places, const std::vector<FixedPath>& fixed);

// Whether a text holds the whole path of a place, as it was given or without its links.
bool holds_place(std::string_view text, const watch::Places& places);

}  // namespace hearth::command
