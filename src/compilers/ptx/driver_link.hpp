#pragma once

#include "compilers/ptx/linker.hpp"

namespace hearth::ptx {

// Links with the CUDA driver, in the current context, or else in the first device's primary one, which is held
// meanwhile.
Result<Artifact> link_with_driver(const Job& job);

// Why what the driver that this process has loaded gives is not what `identity` gives: it was replaced meanwhile.
// Empty: it is.
std::string why_not_kept(const Identity& identity);

// Why the driver cannot take this job; empty: it can. Does not ask the driver.
std::string refusal_of_driver(const Job& job);

}  // namespace hearth::ptx
