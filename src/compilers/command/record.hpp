#pragma once

#include "compilers/command/compile.hpp"
#include "format/recipe.hpp"

namespace hearth::command {

// Appends a command that compiles to the file that the cache records to, if there is one. `answer`: null if there is
// none. What failed is not recorded. Whatever goes wrong here, the command has ended as it has.
void record(Cache& cache, const Plan& plan, const compilers::Answer* answer, const Done& done) noexcept;

// Whether a recipe is called what its question and its conditions say.
bool has_its_name(const format::Recipe& recipe);

// The places of the command, where it was recorded.
watch::Places places_of(const format::Recipe& recipe);

}  // namespace hearth::command
