#pragma once

#include "compilers/nvrtc/plan.hpp"
#include "format/recipe.hpp"
#include "hearth/cache.hpp"

namespace hearth::nvrtc {

// Appends this compile to the file that the cache records to, if it does. `result` is what came of it; null: nothing.
// Whatever goes wrong, the compile does not suffer.
void record(Cache& cache, const Program& program, const Plan& plan, const Artifact* result) noexcept;

// The recipe that a plan makes. Its key is the request's, or a name of its own where the plan goes past the cache.
format::Recipe recipe_of(const Program& program, const Plan& plan, const Artifact* result);

}  // namespace hearth::nvrtc
