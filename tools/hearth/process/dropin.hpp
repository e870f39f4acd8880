#pragma once

#include <string>

namespace hearth::cli {

// The drop-in library that the dynamic loader asks.
inline constexpr const char* k_audit_library = "libhearth_audit.so";

// Where the drop-in libraries are: HEARTH_DROPIN, or else beside this command; empty if they are in neither place.
std::string dropin_folder();

// Puts an entry first in a list, separated by colons, that programs take from the environment. If `hearth run` runs
// `hearth run`, once is enough.
void put_first(const char* name, const std::string& entry);

// Changes this process's environment so that the programs it starts, and their children, are served: the libraries that
// they load, and with `processes` the compilers that they start. Returns a sentence if they cannot be; otherwise empty.
std::string serve_children(bool processes);

}  // namespace hearth::cli
