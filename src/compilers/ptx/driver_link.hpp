#pragma once

#include "compilers/ptx/linker.hpp"

namespace hearth::ptx {

// Links with the CUDA driver: in the context that is current, or in the first device's primary one, which is held for
// as long as it takes.
Result<Artifact> link_with_driver(const Job& job);

// Why the driver cannot take this job; empty: it can. Asks nobody.
std::string refusal_of_driver(const Job& job);

}  // namespace hearth::ptx
