#pragma once

#include "compilers/nvrtc/plan.hpp"
#include "format/recipe.hpp"
#include "recipes/recipe_data.hpp"

#include <string>
#include <vector>

namespace hearth::nvrtc {

// The question that the recorded program would ask for these options and this compiler, on the machine that recorded
// it.
Key question_there(const format::Recipe& recipe, Program program, std::vector<std::string> options,
                   const Identity& compiler);

// Whether what was recorded gives the key that it was recorded under. `program`: what recorded_program() returns.
bool has_its_key(const format::Recipe& recipe, const Program& program);
bool comes_to_its_key(const format::Recipe& recipe, const recipes::Recipes::Data& data);

// Whether a result was compiled from the files of a recipe.
bool read_the_files_of(const format::Recipe& recipe, const Artifact& result);

}  // namespace hearth::nvrtc
