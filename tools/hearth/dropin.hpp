#pragma once

#include <string>

namespace hearth::cli {

// Where the drop-in libraries are: HEARTH_DROPIN, then beside this command; empty where they are not.
std::string dropin_folder();

// Changes this process's environment so that programs it starts, and theirs, are served. Empty, or a sentence that says
// why they cannot be.
std::string serve_children();

}  // namespace hearth::cli
