// Builds entries from recipes.

#include "base/error.hpp"
#include "base/text.hpp"
#include "compilers/nvrtc/compile_planned.hpp"
#include "compilers/nvrtc/headers_section.hpp"
#include "compilers/nvrtc/recorded_key.hpp"
#include "compilers/nvrtc/workplace.hpp"
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

using nvrtc::key_there;
using nvrtc::manifest_of;
using nvrtc::Plan;
using nvrtc::Program;

// Why the key is not the expected one.
std::string why_another_key(const format::Recipe& recipe, const format::Manifest& found)
{
    const auto differences =
        nvrtc::compare_headers(nvrtc::headers_section(found), nvrtc::headers_section(manifest_of(recipe)));
    if (differences.empty())
        return "its headers are found in another order, or their paths matter in another way";
    const Difference& first = differences.front();
    if (first.there.empty())
        return fmt::format("{} is found here and was not when it was recorded", first.field);
    if (first.here.empty())
        return fmt::format("{} was found when it was recorded and is not here", first.field);
    return fmt::format("{} is another one here", first.field);
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

// While it lives, the process has another working directory, and NVRTC other appended flags.
class Surroundings {
public:
    Surroundings(const std::string& directory, const std::string& appended)
        : m_before(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    {
        if (const char* flags = std::getenv(nvrtc::k_appended))
            m_appended_before = flags;
        if (appended.empty())
            ::unsetenv(nvrtc::k_appended);
        else
            ::setenv(nvrtc::k_appended, appended.c_str(), 1);
        m_error = ::chdir(directory.c_str()) == 0 ? 0 : errno;
    }
    ~Surroundings()
    {
        if (m_appended_before)
            ::setenv(nvrtc::k_appended, m_appended_before->c_str(), 1);
        else
            ::unsetenv(nvrtc::k_appended);
        if (m_before >= 0) {
            [[maybe_unused]] const int back = ::fchdir(m_before);
            ::close(m_before);
        }
    }
    Surroundings(const Surroundings&) = delete;
    Surroundings& operator=(const Surroundings&) = delete;

    int error() const { return m_error; }

private:
    int m_before;
    int m_error = 0;
    std::optional<std::string> m_appended_before;
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
        : cache(its_cache), recipes(std::move(its_recipes)), options(std::move(its_options)),
          tree(base::system_files(), tree_in(options.scratch))
    {
    }

    BuildResult build(const format::Recipe& recipe, const std::string& target);
    BuildResult compile(const format::Recipe& recipe, const std::vector<std::string>& wanted, const Key& expected);

    Cache& cache;
    const Recipes recipes;
    const BuildOptions options;
    nvrtc::HeaderTree tree;
    // The recipe whose headers are laid out: its next target finds them in place.
    const format::Recipe* laid_out = nullptr;
    nvrtc::Workplace workplace;
    std::optional<format::Manifest> manifest;
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
    const Key expected = key_there(recipe, *program, wanted, *compiler);
    BuildResult result;
    if (const Lookup there = cache.peek(expected); there && !there->failed())
        result.outcome = Outcome::already_there;
    else
        result = compile(recipe, wanted, expected);
    result.key = expected;
    return result;
}

BuildResult Builder::State::compile(const format::Recipe& recipe, const std::vector<std::string>& wanted,
                                    const Key& expected)
{
    if (laid_out != &recipe) {
        laid_out = nullptr;
        manifest.reset();
        Result<nvrtc::Workplace> made = nvrtc::lay_out(recipe, recipes.data(), tree);
        if (!made)
            return ended(made.error().code == Code::io ? Outcome::failed : Outcome::not_buildable,
                         made.error().message);
        workplace = *std::move(made);
        laid_out = &recipe;
    }
    const Surroundings surroundings(workplace.working_directory, recipe.appended);
    if (surroundings.error() != 0)
        return ended(Outcome::failed,
                     base::describe("Cannot work in", workplace.working_directory, surroundings.error()) + ".");
    Program program = workplace.program;
    // The same change of target, for the options with the moved include directories.
    if (wanted != recipe.options)
        program.options = nvrtc::with_target(program.options, nvrtc::read_options(wanted).target);
    Result<Plan> plan = nvrtc::begin_plan(cache, program, {.library = options.library});
    if (!plan)
        return ended(Outcome::failed, plan.error().message);
    // Options with side effects make a recipe past the cache. One that does not say so was not recorded by Hearth.
    if (!plan->why_past_the_cache.empty())
        return ended(Outcome::past_the_cache, fmt::format("It goes past the cache: {}.", plan->why_past_the_cache));
    if (!manifest)
        manifest = nvrtc::search_headers(program, *plan);
    nvrtc::finish_plan(program, *manifest, *plan);
    if (plan->request.key() != expected || !plan->why_past_the_cache.empty())
        return ended(Outcome::failed,
                     fmt::format("Compiled here it would be another request than the recorded one: {}.",
                                 plan->why_past_the_cache.empty() ? why_another_key(recipe, *manifest)
                                                                  : plan->why_past_the_cache));
    // What is built must show no path of this machine.
    plan->shown = std::make_shared<const nvrtc::Places>(
        nvrtc::Places{wanted, recipe.name.empty() ? std::string(nvrtc::k_unnamed) : recipe.name, manifest_of(recipe)});
    const Result<nvrtc::Compiled> compiled = nvrtc::compile_planned(cache, program, *std::move(plan));
    if (!compiled)
        return ended(Outcome::failed, compiled.error().message);
    BuildResult result;
    result.log = compiled->artifact().text("log");
    if (!compiled->failed()) {
        // A failed store does not make the compile fail, so it has to be checked here.
        if (const Lookup there = cache.peek(expected); there && !there->failed())
            result.outcome = Outcome::built;
        else
            result.reason =
                "It was compiled, and the cache did not keep it. See that there is room for it: on the disk, and "
                "within the limits of the cache (HEARTH_MAX_BYTES).";
        return result;
    }
    result.outcome = recipe.status != 0 ? Outcome::failed_as_recorded : Outcome::compile_error;
    result.reason = fmt::format("NVRTC returned {}: {}{}", compiled->status(), first_error(result.log),
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
