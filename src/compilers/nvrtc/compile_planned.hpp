#pragma once

#include "compilers/nvrtc/plan.hpp"

namespace hearth::nvrtc {

// Compiles through the cache, for a plan that does not go past it. If headers change meanwhile, that is an error. Does
// not record the compile.
Result<Compiled> compile_planned(Cache& cache, const Program& program, Plan plan);

}  // namespace hearth::nvrtc
