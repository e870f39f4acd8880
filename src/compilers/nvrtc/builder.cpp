// Builds entries from recipes.

#include "base/error.hpp"
#include "base/text.hpp"
#include "compilers/nvrtc/plan.hpp"
#include "compilers/nvrtc/record.hpp"
#include "compilers/nvrtc/recorded_key.hpp"
#include "compilers/nvrtc/workplace.hpp"
#include "hearth/lasting.hpp"
#include "hearth/recipes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace hearth::recipes {

namespace {

using nvrtc::Plan;
using nvrtc::Program;

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

// The line of a log that says what is wrong. Warnings are skipped.
std::string first_error(std::string_view log)
{
    std::string_view first;
    while (!log.empty()) {
        const std::string_view line = base::take_until('\n', log);
        const std::size_t problem = std::min(line.find("error"), line.find("fatal"));
        if (problem < line.find("warning"))
            return std::string(line);
        if (first.empty())
            first = line;
    }
    return first.empty() ? "its log is empty" : std::string(first);
}

// While it lives, the process has another working directory, and of the variables that a compiler reads those that were
// recorded.
class Surroundings {
public:
    Surroundings(const std::string& directory, const std::vector<std::string>& here,
                 const std::vector<std::string>& recorded)
        : m_before(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    {
        for (const std::string& variable : here)
            ::unsetenv(name_to_restore(variable).c_str());
        for (const std::string& variable : recorded)
            ::setenv(name_to_restore(variable).c_str(),
                     variable.c_str() + std::min(variable.find('=') + 1, variable.size()), 1);
        m_error = ::chdir(directory.c_str()) == 0 ? 0 : errno;
    }
    ~Surroundings()
    {
        // What was noted first is what was there at the beginning.
        std::reverse(m_variables_before.begin(), m_variables_before.end());
        for (const auto& [name, value] : m_variables_before) {
            if (value)
                ::setenv(name.c_str(), value->c_str(), 1);
            else
                ::unsetenv(name.c_str());
        }
        if (m_before >= 0) {
            [[maybe_unused]] const int back = ::fchdir(m_before);
            ::close(m_before);
        }
    }
    Surroundings(const Surroundings&) = delete;
    Surroundings& operator=(const Surroundings&) = delete;

    int error() const { return m_error; }

private:
    std::string name_to_restore(const std::string& variable)
    {
        std::string name = variable.substr(0, variable.find('='));
        const char* const value = std::getenv(name.c_str());
        m_variables_before.emplace_back(name, value != nullptr ? std::optional<std::string>(value) : std::nullopt);
        return name;
    }

    int m_before;
    int m_error = 0;
    std::vector<std::pair<std::string, std::optional<std::string>>> m_variables_before;
};

// An absolute path, since the working directory changes.
std::string tree_in(const std::string& scratch)
{
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(scratch, error);
    return (error ? std::filesystem::path(scratch) : absolute) / "tree";
}

BuildResult ended(Outcome outcome, std::string reason)
{
    BuildResult result;
    result.outcome = outcome;
    result.reason = std::move(reason);
    return result;
}

}  // namespace

struct Builder::State {
    State(Cache& its_cache, Recipes its_recipes, BuildOptions its_options)
        : cache(lasting(its_cache)), recipes(std::move(its_recipes)), options(std::move(its_options)),
          tree(base::system_files(), tree_in(options.scratch))
    {
    }

    BuildResult build(const format::Recipe& recipe, const std::string& target);
    BuildResult compile(const format::Recipe& recipe, const nvrtc::Identity& compiler,
                        const std::vector<std::string>& wanted, const Key& expected);

    Cache& cache;
    const Recipes recipes;
    const BuildOptions options;
    nvrtc::HeaderTree tree;
    // The recipe whose headers are laid out: its next target finds them in place.
    const format::Recipe* laid_out = nullptr;
    nvrtc::Workplace workplace;
};

BuildResult Builder::State::build(const format::Recipe& recipe, const std::string& target)
{
    if (!recipe.why_past_the_cache.empty())
        return ended(Outcome::past_the_cache, fmt::format("It goes past the cache: {}.", recipe.why_past_the_cache));
    const Result<Program> program = nvrtc::recorded_program(recipe, recipes.data());
    if (!program)
        return ended(Outcome::not_buildable, program.error().message);
    // Everything below relies on this: the recipe holds everything that its key was built from.
    if (!nvrtc::has_its_key(recipe, *program))
        return ended(Outcome::failed, "What was recorded does not come to the key that it was recorded under: another "
                                      "version of Hearth made its keys in another way. Record it again with this one.");
    const Result<nvrtc::Identity> compiler = nvrtc::identify(cache, options.library);
    if (!compiler)
        return ended(Outcome::failed, compiler.error().message);
    const std::vector<std::string> wanted =
        target == recipe.target ? recipe.options : nvrtc::with_target(recipe.options, target);
    const Key expected = nvrtc::question_there(recipe, *program, wanted, *compiler);
    BuildResult result;
    compilers::for_each_result(cache, expected, [&](const Key& key, const Lookup& there) {
        if (there->failed() || !nvrtc::read_the_files_of(recipe, *there))
            return;
        result.outcome = Outcome::already_there;
        result.key = key;
    });
    return result.outcome == Outcome::already_there ? result : compile(recipe, *compiler, wanted, expected);
}

BuildResult Builder::State::compile(const format::Recipe& recipe, const nvrtc::Identity& compiler,
                                    const std::vector<std::string>& wanted, const Key& expected)
{
    if (laid_out != &recipe) {
        laid_out = nullptr;
        Result<nvrtc::Workplace> made = nvrtc::lay_out(recipe, recipes.data(), tree);
        if (!made)
            return ended(made.error().code == Code::io ? Outcome::failed : Outcome::not_buildable,
                         made.error().message);
        workplace = *std::move(made);
        laid_out = &recipe;
    }
    const Surroundings surroundings(workplace.working_directory, nvrtc::environment_of(cache, compiler),
                                    nvrtc::split_environment(recipe.environment));
    if (surroundings.error() != 0)
        return ended(Outcome::failed,
                     base::describe("Cannot work in", workplace.working_directory, surroundings.error()) + ".");
    Program program = workplace.program;
    // The same change of target, for the options with the moved include directories.
    if (wanted != recipe.options)
        program.options = nvrtc::with_target(program.options, nvrtc::read_options(wanted).target);
    Result<Plan> plan = nvrtc::make_plan(cache, program, {.library = options.library});
    if (!plan)
        return ended(Outcome::failed, plan.error().message);
    // Options with side effects make a recipe past the cache. One that does not say so was not recorded by Hearth.
    if (!plan->why_past_the_cache.empty())
        return ended(Outcome::past_the_cache, fmt::format("It goes past the cache: {}.", plan->why_past_the_cache));
    if (plan->request.key() != expected)
        return ended(Outcome::failed, "Compiled here it would be another question than the recorded one: the compiler "
                                      "was loaded here with other variables in its environment.");
    // What is built must show no path of this machine.
    const std::string name = recipe.name.empty() ? std::string(nvrtc::k_unnamed) : recipe.name;
    plan->shown = std::make_shared<const nvrtc::Shown>(
        nvrtc::Shown{wanted, nvrtc::places_of(name, nvrtc::read_options(wanted), recipe.working_directory)});
    const watch::Places places = plan->places;
    const Result<compilers::Answer> answer = nvrtc::compile_plan(cache, program, *std::move(plan));
    if (!answer)
        return ended(Outcome::failed, answer.error().message);
    if (!answer->why_past_the_cache.empty())
        return ended(Outcome::past_the_cache, fmt::format("It goes past the cache: {}.", answer->why_past_the_cache));
    const Lookup& compiled = answer->lookup;
    BuildResult result;
    result.key = answer->key;
    result.log = compiled->text("log");
    if (!recipe.compiler.empty() && !nvrtc::read_the_files_of(recipe, *compiled))
        return ended(Outcome::failed, fmt::format("Compiled here it reads other files than were recorded: {}.",
                                                  what_differs(recipe, *compiled, places)));
    if (!compiled->failed()) {
        // A failed store does not make the compile fail, so it has to be checked here.
        if (const Lookup there = cache.peek(answer->key); there && !there->failed())
            result.outcome = Outcome::built;
        else
            result.reason =
                "It was compiled, and the cache did not keep it. See that there is room for it: on the disk, and "
                "within the limits of the cache (HEARTH_MAX_BYTES).";
        return result;
    }
    result.outcome = recipe.status != 0 ? Outcome::failed_as_recorded : Outcome::compile_error;
    result.reason = fmt::format("NVRTC returned {}: {}{}", compiled->status, first_error(result.log),
                                recipe.compiler.empty() ? " (it was not compiled when it was recorded)" : "");
    return result;
}

Builder::Builder(Cache& cache, Recipes recipes, BuildOptions options)
    : m_state(std::make_unique<State>(cache, std::move(recipes), std::move(options)))
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
            : ended(Outcome::failed, fmt::format("There is no recipe {}: the file has {}.", recipe, all.size()));
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
