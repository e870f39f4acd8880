#pragma once

#include "starts/starts.hpp"

namespace hearth::starts {

// Whether a program can be started as `hearth exec -- PROGRAM`: it goes by its own name, the system would start it, and
// this library knows where it lies itself. Everything else is the caller's to be told by the system.
bool can_be_replaced(const Program& program);

// The program as `hearth exec [OPTION] -- PROGRAM`, without the libraries of this one's folder being preloaded into it.
// `option` may be null.
Program through_hearth(const char* hearth, const char* option, const Program& program, const Stage& stage);

}  // namespace hearth::starts
