#pragma once

#include "process/descriptor.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

// What is done below an open folder. No link is followed.

namespace hearth::cli::carry {

// Sorted. None, with errno: they cannot be listed.
std::optional<std::vector<std::string>> names_in(int folder);

// Opens the folder that a path below `top` lies in, one name at a time. Gives it with the last name; a descriptor below
// 0: it is not there, or a link is in the way.
std::pair<Descriptor, std::string> open_parent(int top, const std::string& path);

// A file, or a folder with all that is in it, as far as it can be removed.
void remove_all(int folder, const std::string& name);

}  // namespace hearth::cli::carry
