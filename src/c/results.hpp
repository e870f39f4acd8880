#pragma once

#include "c/handles.hpp"

// Results of hearth.h: what compile functions fill.

namespace hearth::c {

inline constexpr const char* k_no_section = "A section needs a result and bytes, and one of them is null.";

// Adds all sections, or none: false, if one that is not empty has no bytes.
bool add(hearth_result& result, const char* const* names, const hearth_bytes* bytes, std::size_t count);

// What a compile function gives. A result that is empty is none, whatever the status: ctypes and its like return
// HEARTH_OK for a function that has raised.
Result<Artifact> filled(hearth_compile compile, void* user);

}  // namespace hearth::c
