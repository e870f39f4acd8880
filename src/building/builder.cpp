// Hands each recipe to the compiler that it is of.

#include "compilers/command/builder.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "compilers/command/record.hpp"
#include "compilers/common/building.hpp"
#include "compilers/nvrtc/builder.hpp"
#include "compilers/nvrtc/recorded_key.hpp"
#include "hearth/recipes.hpp"
#include "recipes/result.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::recipes {

namespace {

using format::RecipeKind;

bool comes_to_its_key(const format::Recipe& recipe, const Recipes::Data& data)
{
    if (recipe.kind == RecipeKind::result)
        return result_of(recipe, data) != nullptr;
    return recipe.kind == RecipeKind::command ? command::has_its_name(recipe) : nvrtc::comes_to_its_key(recipe, data);
}

BuildResult keep_result(Cache& cache, const format::Recipe& recipe, const Recipes::Data& data, const Trust& trust)
{
    const std::shared_ptr<Artifact> recorded = result_of(recipe, data, trust);
    if (!recorded)
        return compilers::build_ended(Outcome::not_buildable,
                                      "Its result is not in the file, or damaged, and only the program itself could "
                                      "compile it. Record it again.");
    BuildResult kept;
    kept.key = recipe.key;
    kept.outcome = Outcome::already_there;
    if (cache.peek(recipe.key))
        return kept;
    const Result<InsertReport> stored = cache.insert(recipe.key, *recorded);
    if (!stored && stored.error().code == Code::invalid_argument)
        return compilers::build_ended(Outcome::not_buildable,
                                      "It is a result that was recorded without a signature by a trusted key, so it is "
                                      "not signed here. Record it with HEARTH_SIGN_WITH set, or build without a key.");
    if (!stored)
        return compilers::build_ended(Outcome::failed, stored.error().message);
    return compilers::build_stored(cache, recipe.key);
}

}  // namespace

Result<Recipes> read(const std::string& path)
{
    return read(path, comes_to_its_key);
}

Result<MergeReport> merge(const std::string& path, const std::vector<std::string>& inputs)
{
    return merge(base::system_files(), path, inputs, comes_to_its_key);
}

struct Builder::State {
    State(Cache& its_cache, Recipes its_recipes, const BuildOptions& options)
        : cache(its_cache), recipes(std::move(its_recipes)), trust(options.trust),
          nvrtc(cache, recipes.data(), options), commands(cache, recipes.data(), options)
    {
    }

    BuildResult build(const format::Recipe& recipe, const std::string& target)
    {
        if (recipe.kind == RecipeKind::result)
            return keep_result(cache, recipe, recipes.data(), trust);
        return recipe.kind == RecipeKind::command ? commands.build(recipe) : nvrtc.build(recipe, target);
    }

    Cache& cache;
    const Recipes recipes;
    const Trust trust;
    nvrtc::RecipeBuilder nvrtc;
    command::RecipeBuilder commands;
};

Builder::Builder(Cache& cache, Recipes recipes, BuildOptions options)
    : m_state(std::make_unique<State>(cache, std::move(recipes), options))
{
}
Builder::~Builder() = default;
Builder::Builder(Builder&&) noexcept = default;
Builder& Builder::operator=(Builder&&) noexcept = default;

BuildResult Builder::build(std::size_t recipe, const std::string& target)
{
    const auto started = std::chrono::steady_clock::now();
    const std::vector<format::Recipe>& all = m_state->recipes.data().recipes;
    BuildResult result =
        recipe < all.size()
            ? m_state->build(all[recipe], target)
            : compilers::build_ended(Outcome::failed,
                                     fmt::format("There is no recipe {}: the file has {}.", recipe, all.size()));
    result.target = target;
    result.took = std::chrono::steady_clock::now() - started;
    return result;
}

Result<std::string> compiler_build(Cache& cache, const std::string& library)
{
    const Result<nvrtc::Identity> compiler = nvrtc::identify(cache, library);
    HEARTH_TRY(compiler);
    return compiler->build_id;
}

std::string_view to_string(Outcome outcome)
{
    switch (outcome) {
    case Outcome::built:
        return "built";
    case Outcome::already_there:
        return "already there";
    case Outcome::failed_as_recorded:
        return "failed as recorded";
    case Outcome::compile_error:
        return "compile error";
    case Outcome::past_the_cache:
        return "past the cache";
    case Outcome::not_buildable:
        return "not buildable";
    case Outcome::failed:
        return "failed";
    }
    return "";
}

namespace {

// "sm_" and "90a" of "sm_90a".
std::pair<std::string_view, std::string_view> parts_of(std::string_view target)
{
    const std::size_t bar = target.find('_');
    if (bar == std::string_view::npos)
        return {{}, target};
    return {target.substr(0, bar + 1), target.substr(bar + 1)};
}

}  // namespace

bool is_target(std::string_view text)
{
    const auto [kind, number] = parts_of(text);
    if (kind != "sm_" && kind != "compute_" && kind != "lto_")
        return false;
    const auto end = std::find_if_not(number.begin(), number.end(), base::is_digit);
    const std::string_view suffix = number.substr(static_cast<std::size_t>(end - number.begin()));
    return end != number.begin() && (suffix.empty() || suffix == "a" || suffix == "f");
}

std::vector<std::string> targets_of(const Recipe& recipe, const std::vector<std::string>& wanted)
{
    if (recipe.kind != Kind::nvrtc)
        return {recipe.target};
    std::vector<std::string> targets;
    if (wanted.empty() || recipe.target.empty())
        targets.push_back(recipe.target);
    const std::string_view kind = parts_of(recipe.target).first;
    for (const std::string& one : wanted) {
        std::string target = kind.empty() ? one : std::string(kind) + std::string(parts_of(one).second);
        if (std::find(targets.begin(), targets.end(), target) == targets.end())
            targets.push_back(std::move(target));
    }
    return targets;
}

}  // namespace hearth::recipes
