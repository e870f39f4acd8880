#include "compilers/command/builder.hpp"

#include "base/error.hpp"
#include "compilers/command/comparable.hpp"
#include "compilers/command/compile.hpp"
#include "compilers/command/kept_files.hpp"
#include "compilers/command/record.hpp"
#include "compilers/command/run_watched.hpp"
#include "compilers/command/workplace.hpp"
#include "compilers/common/building.hpp"
#include "hearth/lasting.hpp"
#include "hearth/libraries.hpp"
#include "watch/manifest.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <memory>

namespace hearth::command {

namespace {

namespace fs = std::filesystem;
using compilers::build_ended;
using recipes::BuildResult;
using Kind = watch::Condition::Kind;
using Conditions = std::vector<watch::Condition>;

// Options whose values are a linker's own.
constexpr std::array<std::string_view, 5> k_for_linkers{"-Xlinker", "--for-linker", "--linker-options", "-Xnvlink",
                                                        "--nvlink-options"};

// Of a result, as comparable() has them.
Conditions comparable_of(const Artifact& result)
{
    return comparable(compilers::conditions_of(result).value_or(Conditions{}));
}

// Those that the recorded result depends on have the values that they had.
struct Variables {
    std::vector<std::string> unset;
    std::vector<std::string> set;
};

Variables variables_of(const format::Recipe& recipe, const Conditions& conditions, const std::string& working_directory)
{
    Variables variables;
    variables.set.push_back("PWD=" + working_directory);  // as a shell would
    if (!recipe.environment.empty())
        variables.set.emplace_back(recipe.environment.c_str());
    for (const watch::Condition& condition : conditions)
        if (condition.kind == Kind::variable)
            variables.set.push_back(condition.name + "=" + condition.text);
        else if (condition.kind == Kind::variable_unset)
            variables.unset.push_back(condition.name);
    return variables;
}

// Why this machine cannot run the compiler of a recipe. Empty: it can.
std::string why_no_compiler(Cache& cache, const format::Recipe& recipe)
{
    // Whoever made the file chose the words. (What a compiler's options start is theirs too: docs/recipes.md.)
    const Profile* const profile = recipe.options.empty() ? nullptr : profile_of(recipe.options.front());
    if (profile == nullptr)
        return "Its command is no compiler that is known. Record it with this version of Hearth.";
    const std::string program = (fs::path(recipe.working_directory) / recipe.options.front()).string();
    std::error_code error;
    if (!fs::is_regular_file(program, error))
        return fmt::format("The compiler {} is not on this machine. Build it where the same toolkit is at the same "
                           "path, as in the image that the program runs in.",
                           program);
    if (const std::string build = build_of_file(cache, program); build != recipe.build_id)
        return fmt::format("The compiler {} is another one here (build {:.12}) than when it was recorded (build "
                           "{:.12}). Build it where the same toolkit is, or record it again with this one.",
                           program, build, recipe.build_id);
    return {};
}

// Why what a recipe sets must not be set here. Empty: it may.
std::string why_not_set(const format::Recipe& recipe, const Conditions& conditions)
{
    if (!recipe.environment.empty() && !recipe.environment.starts_with("PATH="))
        return "It was recorded with another variable than PATH where only that stands. Record it again.";
    for (const watch::Condition& condition : conditions)
        if (condition.kind == Kind::variable && !condition.text.empty() &&
            (condition.name == "LD_PRELOAD" || condition.name == "LD_AUDIT" || condition.name == "GCONV_PATH"))
            return fmt::format("It was recorded with {}={}, which puts a library into every program that builds it. "
                               "Record it without that.",
                               condition.name, condition.text);
    return {};
}

// Two files of one text are one to `#pragma once`, or two, by times that nobody has recorded. An Error: there are such.
Status check_told_apart(const format::Recipe& recipe, const recipes::Recipes::Data& contents)
{
    std::map<base::Sha256, std::string> known;
    for (const format::RecipeFile& file : recipe.files) {
        const auto [first, is_new] = known.emplace(file.digest, file.path);
        if (is_new || first->second == file.path)
            continue;
        const std::optional<Bytes> text = contents.content(file.digest);
        if (text && text->text().find("once") != std::string_view::npos)
            return error(
                Code::unavailable,
                "{} and {} have one text with `#pragma once`, which tells them apart by their times. Guard them "
                "by macros, and record it again.",
                first->second, file.path);
    }
    return {};
}

// Of gcc, clang and nvcc, also within what nvcc hands to a host compiler.
bool is_for_linkers(std::string_view word)
{
    return word.find("-Wl,") != std::string_view::npos ||
           std::ranges::any_of(k_for_linkers, [&](std::string_view option) { return word.starts_with(option); });
}

// Makes the directories that the outputs go to. An Error if one would be written outside of the scratch folder: the
// files there are the user's.
Status prepare_outputs(const Plan& plan, const std::string& scratch)
{
    const fs::path working(plan.question.places.working_directory);
    const auto is_ours = [&](const fs::path& path) {
        const fs::path relative = path.lexically_normal().lexically_relative(scratch);
        return !relative.empty() && *relative.begin() != "..";
    };
    if (!plan.call.names_output && !is_ours(working))
        return error(Code::unavailable,
                     "It names no output, so that it would write into {}, where it has to be built. Name its output "
                     "with -o, and record it again.",
                     working.string());
    for (const std::string& word : plan.call.words)
        if (is_for_linkers(word))
            return error(Code::unavailable,
                         "It hands {} to the linker, which may name a file to write. Only the program itself can make "
                         "this.",
                         word);
    for (const std::string& output : plan.call.outputs) {
        const fs::path path = working / output;
        if (!is_ours(path))
            return error(Code::unavailable,
                         "It would write {}, which a file of arguments or a variable names. Name its outputs among its "
                         "own words, and record it again.",
                         path.string());
        std::error_code failure;
        if (fs::create_directories(path.lexically_normal().parent_path(), failure); failure)
            return error(Code::io, "Cannot make {}: {}.", path.parent_path().string(), failure.message());
    }
    return {};
}

// An empty directory for one build, which is removed with all that is in it.
class BuildScratch {
public:
    explicit BuildScratch(const std::string& scratch)
    {
        std::error_code error;
        m_path = fs::absolute(scratch, error) / "command";
        fs::create_directories(m_path, error);
        // As the working directory will be told.
        if (fs::path real = fs::canonical(m_path, error); !error)
            m_path = std::move(real);
    }
    ~BuildScratch()
    {
        std::error_code ignored;
        fs::remove_all(m_path, ignored);
    }
    BuildScratch(const BuildScratch&) = delete;
    BuildScratch& operator=(const BuildScratch&) = delete;

    std::string path() const { return m_path.string(); }

private:
    fs::path m_path;
};

// What became of a command that was run, or that the cache had the result of.
BuildResult came_out(Cache& cache, const format::Recipe& recipe, const std::optional<Conditions>& recorded,
                     const compilers::Answer& answer, const Done& done)
{
    using recipes::Outcome;
    if (done.code != 0 || done.signal != 0)
        return build_ended(Outcome::compile_error,
                           fmt::format("{} ended with {}: {}", fs::path(recipe.options.front()).filename().string(),
                                       done.signal != 0 ? 128 + done.signal : done.code,
                                       compilers::first_error(text_of_streams(answer.lookup->text(k_streams)))));
    if (!answer.why_past_the_cache.empty())
        return build_ended(Outcome::not_buildable,
                           fmt::format("Here it goes past the cache: {}.", answer.why_past_the_cache));
    const std::string differs =
        recorded ? what_differs(*recorded, comparable_of(*answer.lookup), places_of(recipe)) : std::string{};
    if (!differs.empty())
        return build_ended(Outcome::not_buildable,
                           fmt::format("Built here it depends on something that is not as it was recorded: {}. Build "
                                       "it where that is the same, as in the image that the program runs in.",
                                       differs));
    BuildResult result = compilers::build_stored(cache, answer.key);
    if (!done.ran && result.outcome == Outcome::built)
        result.outcome = Outcome::already_there;
    return result;
}

}  // namespace

RecipeBuilder::RecipeBuilder(Cache& cache, const recipes::Recipes::Data& recipes, const recipes::BuildOptions& options)
    : m_cache(lasting(cache)), m_recipes(recipes), m_options(options)
{
}

BuildResult RecipeBuilder::build(const format::Recipe& recipe)
{
    using recipes::Outcome;
    if (!recipe.why_past_the_cache.empty())
        return build_ended(Outcome::past_the_cache,
                           fmt::format("It goes past the cache: {}.", recipe.why_past_the_cache));
    if (!has_its_name(recipe) || recipe.names.empty())
        return build_ended(Outcome::failed, "What was recorded does not come to the key that it was recorded under. "
                                            "Record it again with this version of Hearth.");
    std::optional<Conditions> recorded;
    if (recipe.conditions != base::Sha256{}) {
        const std::optional<Bytes> encoded = m_recipes.content(recipe.conditions);
        recorded = encoded ? watch::decode_conditions(*encoded) : std::nullopt;
        if (!recorded)
            return build_ended(Outcome::not_buildable,
                               "What it depends on is not in the recipe file, or is damaged. Record it again.");
    }
    BuildResult result;
    if (const std::optional<Key> question = Key::parse(recipe.builtins); question && recorded)
        compilers::for_each_result(m_cache, *question, [&](const Key& key, const Lookup& there) {
            if (there->failed() || comparable_of(*there) != *recorded)
                return;
            result.outcome = Outcome::already_there;
            result.key = key;
        });
    if (result.outcome == Outcome::already_there)
        return result;
    if (std::string why = why_no_compiler(m_cache, recipe); !why.empty())
        return build_ended(Outcome::not_buildable, std::move(why));
    return compile(recipe, recorded);
}

BuildResult RecipeBuilder::compile(const format::Recipe& recipe, const std::optional<Conditions>& recorded)
{
    using recipes::Outcome;
    if (std::string why = why_not_set(recipe, recorded.value_or(Conditions{})); !why.empty())
        return build_ended(Outcome::not_buildable, std::move(why));
    if (const Status apart = check_told_apart(recipe, m_recipes); !apart)
        return build_ended(Outcome::not_buildable, apart.error().message);
    const BuildScratch scratch(m_options.scratch);
    const Result<Workplace> workplace = lay_out(recipe, m_recipes, recorded, scratch.path());
    if (!workplace)
        return build_ended(workplace.error().code == Code::io ? Outcome::failed : Outcome::not_buildable,
                           workplace.error().message);
    const Variables variables = variables_of(recipe, recorded.value_or(Conditions{}), workplace->working_directory);
    const compilers::Surroundings surroundings(workplace->working_directory, variables.unset, variables.set);
    if (surroundings.error() != 0)
        return build_ended(Outcome::failed,
                           base::describe("Cannot work in", workplace->working_directory, surroundings.error()) + ".");
    auto plan = std::make_shared<Plan>(
        make_plan(m_cache, {workplace->words}, {.recorder = m_options.recorder}, recipe.names.back()));
    // What is built must show no path of this machine.
    plan->shown = recipe.options;
    if (!plan->question.why_past_the_cache.empty())
        return build_ended(Outcome::not_buildable,
                           fmt::format("Here it goes past the cache: {}.", plan->question.why_past_the_cache));
    if (plan->call.only_tells || !plan->call.compiles || plan->question.request.key().hex() != recipe.builtins)
        return build_ended(Outcome::not_buildable,
                           "Built here it would be another question than the recorded one: a path to the compiler, or "
                           "what a variable or a file of arguments says, is not the same. Build it in the image that "
                           "the program runs in.");
    if (const Status prepared = prepare_outputs(*plan, scratch.path()); !prepared.ok())
        return build_ended(prepared.error().code == Code::io ? Outcome::failed : Outcome::not_buildable,
                           prepared.error().message);
    const auto done = std::make_shared<Done>();
    const Result<compilers::Answer> answer = compilers::answer(
        m_cache, plan->question, [&cache = m_cache, plan, done] { return compile_now(cache, *plan, *done); });
    if (!answer)
        return build_ended(Outcome::failed, answer.error().message);
    BuildResult result = came_out(m_cache, recipe, recorded, *answer, *done);
    result.log = text_of_streams(answer->lookup->text(k_streams));
    return result;
}

}  // namespace hearth::command
