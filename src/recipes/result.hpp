#pragma once

#include "format/recipe.hpp"
#include "hearth/artifact.hpp"
#include "hearth/cache.hpp"
#include "recipes/recipe_data.hpp"

namespace hearth::recipes {

// What only the program itself can compile, such as a framework's kernel: its recipe is the entry. Whatever goes wrong
// here, the program goes on.
void record_result(const Recording& recording, const Key& key, const Artifact& artifact) noexcept;

// What was recorded; null: it is not there, or not what it claims to be.
std::shared_ptr<Artifact> result_of(const format::Recipe& recipe, const Recipes::Data& data, const Trust& trust = {});

}  // namespace hearth::recipes
