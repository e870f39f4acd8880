#pragma once

#include <string>

namespace hearth::cli {

// The one among them that the dynamic loader asks.
inline constexpr const char* k_audit_library = "libhearth_audit.so";

// Where the drop-in libraries are: HEARTH_DROPIN, then beside this command; empty where they are not.
std::string dropin_folder();

// Changes this process's environment so that programs it starts, and theirs, are served. Empty, or a sentence that says
// why they cannot be.
std::string serve_children();

}  // namespace hearth::cli
