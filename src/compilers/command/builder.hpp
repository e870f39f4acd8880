#pragma once

#include "recipes/recipe_data.hpp"
#include "watch/condition.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hearth::command {

// Builds entries from recipes of commands. The command is run in a tree that holds the recorded files, where no path of
// it matters; otherwise where it was recorded, if the same files are there. What it writes goes to the scratch folder
// either way. An entry is built only if it depends on exactly what the recorded one depends on.
// Thread safety: none; it changes the process's directory and variables meanwhile.
class RecipeBuilder {
public:
    RecipeBuilder(Cache& cache, const recipes::Recipes::Data& recipes, const recipes::BuildOptions& options);

    recipes::BuildResult build(const format::Recipe& recipe);

private:
    recipes::BuildResult compile(const format::Recipe& recipe,
                                 const std::optional<std::vector<watch::Condition>>& recorded);

    Cache& m_cache;
    const recipes::Recipes::Data& m_recipes;
    const recipes::BuildOptions m_options;
};

}  // namespace hearth::command
