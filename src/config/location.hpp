#pragma once

#include <string>

namespace hearth::config {

// Where entries are kept when nobody said: XDG_CACHE_HOME, HOME, or a folder of our own in the temporary directory.
// `source` says which.
std::string default_directory(std::string& source);

// HEARTH_CONFIG, or the usual place; empty when there is none. `named` when the user pointed to it.
std::string configuration_file(bool& named);

}  // namespace hearth::config
