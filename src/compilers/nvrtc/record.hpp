#pragma once

#include "compilers/nvrtc/plan.hpp"
#include "format/recipe.hpp"
#include "hearth/cache.hpp"

namespace hearth::nvrtc {

// Appends this compile to the file that the cache records to, if there is one. `answer`: null if there is none.
// Whatever goes wrong here, the compile goes on.
void record(Cache& cache, const Program& program, const Plan& plan, const compilers::Answer* answer) noexcept;

// The environment of a plan as a recipe has it, and back.
std::string joined_environment(const std::vector<std::string>& variables);
std::vector<std::string> split_environment(std::string_view joined);

// What a recipe is called: by its question and the files that were read.
Key name_of_recipe(const Key& question, const std::vector<format::RecipeFile>& files);

// The files among the conditions of a result, each once. A file that was only looked for is one too, as an empty one:
// it has to be there.
std::vector<format::RecipeFile> files_of(const std::vector<watch::Condition>& conditions, const watch::Places& places);

}  // namespace hearth::nvrtc
