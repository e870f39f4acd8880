#include "compilers/nvrtc/builder.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "compilers/common/building.hpp"
#include "compilers/nvrtc/record.hpp"
#include "compilers/nvrtc/recorded_key.hpp"
#include "hearth/lasting.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::nvrtc {

namespace {

using recipes::BuildResult;

// What a compile read that was not there, or was another file, when it was recorded.
std::string what_differs(const format::Recipe& recipe, const Artifact& result, const watch::Places& places)
{
    for (const watch::Condition& condition : compilers::conditions_of(result).value_or(std::vector<watch::Condition>{}))
        if (condition.kind == watch::Condition::Kind::content &&
            std::ranges::find(recipe.files, condition.digest, &format::RecipeFile::digest) == recipe.files.end())
            return fmt::format("{} is another file here, or was not read when it was recorded",
                               condition.spot.shown(places));
    return "what it read is not known";
}

}  // namespace

RecipeBuilder::RecipeBuilder(Cache& cache, const recipes::Recipes::Data& recipes, const recipes::BuildOptions& options)
    : m_cache(lasting(cache)), m_recipes(recipes), m_options(options),
      m_tree(base::system_files(), compilers::tree_in(options.scratch))
{
}

BuildResult RecipeBuilder::build(const format::Recipe& recipe, const std::string& target)
{
    if (!recipe.why_past_the_cache.empty())
        return compilers::build_ended(recipes::Outcome::past_the_cache,
                                      fmt::format("It goes past the cache: {}.", recipe.why_past_the_cache));
    const Result<Program> program = recorded_program(recipe, m_recipes);
    if (!program)
        return compilers::build_ended(recipes::Outcome::not_buildable, program.error().message);
    // Everything below relies on this: the recipe holds everything that its key was built from.
    if (!has_its_key(recipe, *program))
        return compilers::build_ended(recipes::Outcome::failed,
                                      "What was recorded does not come to the key that it was recorded under: another "
                                      "version of Hearth made its keys in another way. Record it again with this one.");
    const Result<Identity> compiler = identify(m_cache, m_options.library);
    if (!compiler)
        return compilers::build_ended(recipes::Outcome::failed, compiler.error().message);
    const std::vector<std::string> wanted =
        target == recipe.target ? recipe.options : with_target(recipe.options, target);
    const Key expected = question_there(recipe, *program, wanted, *compiler);
    BuildResult result;
    compilers::for_each_result(m_cache, expected, [&](const Key& key, const Lookup& there) {
        if (there->failed() || !read_the_files_of(recipe, *there))
            return;
        result.outcome = recipes::Outcome::already_there;
        result.key = key;
    });
    return result.outcome == recipes::Outcome::already_there ? result : compile(recipe, *compiler, wanted, expected);
}

BuildResult RecipeBuilder::compile(const format::Recipe& recipe, const Identity& compiler,
                                   const std::vector<std::string>& wanted, const Key& expected)
{
    if (m_laid_out != &recipe) {
        m_laid_out = nullptr;
        Result<Workplace> made = lay_out(recipe, m_recipes, m_tree);
        if (!made)
            return compilers::build_ended(made.error().code == Code::io ? recipes::Outcome::failed
                                                                        : recipes::Outcome::not_buildable,
                                          made.error().message);
        m_workplace = *std::move(made);
        m_laid_out = &recipe;
    }
    const compilers::Surroundings surroundings(m_workplace.working_directory, environment_of(m_cache, compiler),
                                               split_environment(recipe.environment));
    if (surroundings.error() != 0)
        return compilers::build_ended(
            recipes::Outcome::failed,
            base::describe("Cannot work in", m_workplace.working_directory, surroundings.error()) + ".");
    Program program = m_workplace.program;
    // The same change of target, for the options with the moved include directories.
    if (wanted != recipe.options)
        program.options = with_target(program.options, read_options(wanted).target);
    Result<Plan> plan = make_plan(m_cache, program, {.library = m_options.library});
    if (!plan)
        return compilers::build_ended(recipes::Outcome::failed, plan.error().message);
    // Options with side effects make a recipe past the cache. One that does not say so was not recorded by Hearth.
    if (!plan->why_past_the_cache.empty())
        return compilers::build_ended(recipes::Outcome::past_the_cache,
                                      fmt::format("It goes past the cache: {}.", plan->why_past_the_cache));
    if (plan->request.key() != expected)
        return compilers::build_ended(recipes::Outcome::failed,
                                      "Compiled here it would be another question than the recorded one: the compiler "
                                      "was loaded here with other variables in its environment.");
    // What is built must show no path of this machine.
    const std::string name = recipe.name.empty() ? std::string(k_unnamed) : recipe.name;
    plan->shown =
        std::make_shared<const Shown>(Shown{wanted, places_of(name, read_options(wanted), recipe.working_directory)});
    const watch::Places places = plan->places;
    const Result<compilers::Answer> answer = compile_plan(m_cache, program, *std::move(plan));
    if (!answer)
        return compilers::build_ended(recipes::Outcome::failed, answer.error().message);
    if (!answer->why_past_the_cache.empty())
        return compilers::build_ended(recipes::Outcome::past_the_cache,
                                      fmt::format("It goes past the cache: {}.", answer->why_past_the_cache));
    const Lookup& compiled = answer->lookup;
    const std::string log(compiled->text("log"));
    if (!recipe.compiler.empty() && !read_the_files_of(recipe, *compiled))
        return compilers::build_ended(recipes::Outcome::failed,
                                      fmt::format("Compiled here it reads other files than were recorded: {}.",
                                                  what_differs(recipe, *compiled, places)));
    BuildResult result;
    if (!compiled->failed()) {
        result = compilers::build_stored(m_cache, answer->key);
    } else {
        result.key = answer->key;
        result.outcome = recipe.status != 0 ? recipes::Outcome::failed_as_recorded : recipes::Outcome::compile_error;
        result.reason = fmt::format("NVRTC returned {}: {}{}", compiled->status, compilers::first_error(log),
                                    recipe.compiler.empty() ? " (it was not compiled when it was recorded)" : "");
    }
    result.log = log;
    return result;
}

}  // namespace hearth::nvrtc
