#pragma once

#include "compilers/nvrtc/plan.hpp"

namespace hearth::nvrtc {

// Through the cache, for a plan that does not go past it. Headers that change meanwhile are an error, and nothing is
// recorded.
Result<Compiled> compile_planned(Cache& cache, const Program& program, Plan plan);

}  // namespace hearth::nvrtc
