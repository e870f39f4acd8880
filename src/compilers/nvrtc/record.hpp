#pragma once

#include "compilers/nvrtc/plan.hpp"
#include "format/recipe.hpp"
#include "hearth/cache.hpp"

namespace hearth::nvrtc {

// Appends this compile to the file that the cache records to, if there is one. `result` is the result; null: none.
// Whatever goes wrong here, the compile goes on.
void record(Cache& cache, const Program& program, const Plan& plan, const Artifact* result) noexcept;

// The recipe for a plan. Its key is the request's, or one of its own if the plan goes past the cache.
format::Recipe recipe_of(const Program& program, const Plan& plan, const Artifact* result);

}  // namespace hearth::nvrtc
