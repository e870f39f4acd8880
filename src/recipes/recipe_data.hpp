#pragma once

#include "base/files.hpp"
#include "format/recipe.hpp"
#include "hearth/recipes.hpp"

#include <unordered_map>
#include <vector>

namespace hearth::recipes {

// Whether a file holds something other than recipes: then it is somebody's, and is neither replaced nor added to.
bool holds_other_things(base::Files& files, int fd);

// What is in recipe files, each thing once.
struct Recipes::Data {
    std::vector<Bytes> files;  // what the contents point to
    format::StoredContents contents;
    std::vector<format::Recipe> recipes;
    std::vector<format::RecipeUse> uses;
    std::vector<Recipe> list;  // of the recipes, in their order
    Damage damage;
    std::uint64_t content_bytes = 0;
    std::uint64_t stored_bytes = 0;

    // None when it is not there, or is not what its digest says.
    std::optional<Bytes> content(const base::Sha256& digest) const;
    // The size it states for itself; 0 when it is not there.
    std::uint64_t raw_size(const base::Sha256& digest) const;
};

// Whether a recipe's request has the key that it was recorded under. The recipe's compiler knows how to tell.
using ComesToItsKey = bool (*)(const format::Recipe& recipe, const Recipes::Data& data);

Result<Recipes> read(const std::string& path, ComesToItsKey check);
Result<MergeReport> merge(base::Files& files, const std::string& path, const std::vector<std::string>& inputs,
                          ComesToItsKey check);

}  // namespace hearth::recipes
