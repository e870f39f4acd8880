#pragma once

#include "compilers/nvrtc/plan.hpp"
#include "compilers/nvrtc/workplace.hpp"
#include "recipes/header_tree.hpp"
#include "recipes/recipe_data.hpp"

#include <string>
#include <vector>

namespace hearth::nvrtc {

// Builds entries from recipes of NVRTC, as recipes::Builder says.
class RecipeBuilder {
public:
    RecipeBuilder(Cache& cache, const recipes::Recipes::Data& recipes, const recipes::BuildOptions& options);

    recipes::BuildResult build(const format::Recipe& recipe, const std::string& target);

private:
    recipes::BuildResult compile(const format::Recipe& recipe, const Identity& compiler,
                                 const std::vector<std::string>& wanted, const Key& expected);

    Cache& m_cache;
    const recipes::Recipes::Data& m_recipes;
    const recipes::BuildOptions m_options;
    recipes::HeaderTree m_tree;
    // The recipe whose headers are laid out: its next target finds them in place.
    const format::Recipe* m_laid_out = nullptr;
    Workplace m_workplace;
};

}  // namespace hearth::nvrtc
