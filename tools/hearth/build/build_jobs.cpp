#include "build/build_jobs.hpp"

#include "build/worker_pool.hpp"
#include "build/worker_protocol.hpp"
#include "hearth/units.hpp"
#include "process/stop_signals.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

namespace hearth::cli {

namespace {

using recipes::Outcome;
using recipes::Recipe;

std::vector<std::string> worker_command(std::size_t number, const ScratchFolder& scratch, const BuildPlace& place)
{
    const std::string folder = scratch / fmt::format("worker-{}", number);
    std::filesystem::create_directory(folder);
    std::vector<std::string> words{"build-worker", scratch / "recipes", "--scratch", folder};
    if (place.globals.directory)
        words.insert(words.end(), {"--dir", *place.globals.directory});
    if (!place.library.empty())
        words.insert(words.end(), {"--nvrtc", std::filesystem::absolute(place.library).string()});
    if (place.into == Into::bundle)
        words.emplace_back("--for-bundle");
    if (!place.over.empty())
        words.insert(words.end(), {"--over", std::filesystem::absolute(place.over).string()});
    if (!place.sign_with.empty())
        words.insert(words.end(), {"--sign-with", std::filesystem::absolute(place.sign_with).string()});
    if (place.nice)
        words.emplace_back("--nice");
    return words;
}

bool is_problem(Outcome outcome)
{
    return outcome == Outcome::compile_error || outcome == Outcome::not_buildable || outcome == Outcome::failed;
}

std::string name_of(const Recipe& recipe)
{
    return recipe.name.empty() ? "an unnamed program" : printable(recipe.name);
}

// A host compiler has no target.
std::string for_targets(const Recipe& recipe, std::vector<std::string> targets)
{
    if (recipe.kind != recipes::Kind::nvrtc && recipe.target.empty())
        return {};
    for (std::string& target : targets)
        if (target.empty())
            target = "no target";
    return fmt::format(" for {}", fmt::join(targets, ", "));
}

}  // namespace

void tell_of_damage(const recipes::Damage& damage)
{
    if (damage.places != 0)
        warn(fmt::format("{} damaged, and left out ({}).",
                         count_of(damage.places, "place of the recipes is", "places of the recipes are"),
                         format_size(damage.bytes)));
}

recipes::Recipes gather_recipes(const std::vector<std::string>& files, const ScratchFolder& scratch)
{
    const recipes::MergeReport merged = or_fail(recipes::merge(scratch / "recipes", files));
    tell_of_damage(merged.damage);
    stop_if_told();
    recipes::Recipes all = or_fail(recipes::read(scratch / "recipes"));
    stop_if_told();
    return all;
}

std::size_t run_build_jobs(std::vector<BuildJob>& jobs, const ScratchFolder& scratch, const BuildPlace& place,
                           const std::function<bool()>& enough)
{
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t count = std::min<std::size_t>(place.jobs.value_or(cores), jobs.size());
    std::vector<std::vector<std::string>> commands;
    for (std::size_t i = 0; i < count; ++i)
        commands.push_back(worker_command(i, scratch, place));
    std::vector<std::string> lines;
    lines.reserve(jobs.size());
    for (const BuildJob& job : jobs)
        lines.push_back(line_of(WorkerJob{job.recipe, job.target}));

    ProgressBar bar("Building", place.progress);
    const Progress progress = bar.report();
    std::size_t done = 0;
    WorkerPool pool(std::move(commands));
    const std::size_t begun = pool.run(lines, {[&](std::size_t line, const std::string& answer) {
                                                   jobs[line].result = result_in(answer);
                                                   ++done;
                                               },
                                               [&](std::size_t line, const std::string& how) {
                                                   jobs[line].result.reason =
                                                       fmt::format("The process that compiled it {}.", how);
                                                   ++done;
                                               },
                                               [&] { progress(done, lines.size()); }, enough});
    stop_if_told();
    const std::size_t left_out = jobs.size() - begun;
    jobs.resize(begun);
    return left_out;
}

OutcomeCounts count_outcomes(const std::vector<BuildJob>& jobs)
{
    OutcomeCounts counts;
    for (const Outcome outcome :
         {Outcome::built, Outcome::already_there, Outcome::failed_as_recorded, Outcome::compile_error,
          Outcome::past_the_cache, Outcome::not_buildable, Outcome::failed})
        counts[outcome] = 0;
    for (const BuildJob& job : jobs)
        ++counts[job.result.outcome];
    return counts;
}

std::uint64_t count_problems(const OutcomeCounts& counts)
{
    std::uint64_t problems = 0;
    for (const auto& [outcome, count] : counts)
        problems += is_problem(outcome) ? count : 0;
    return problems;
}

bool needs_nvrtc(const recipes::Recipes& all)
{
    return std::ranges::any_of(all.list(), [](const Recipe& recipe) { return recipe.kind == recipes::Kind::nvrtc; });
}

std::uint64_t tell_of_compiler(const recipes::Recipes& all, const std::string& build)
{
    std::uint64_t others = 0;
    const Recipe* example = nullptr;
    for (const Recipe& recipe : all.list())
        if (recipe.kind == recipes::Kind::nvrtc && recipe.why_past_the_cache.empty() &&
            recipe.compiler_build != build) {
            ++others;
            example = &recipe;
        }
    if (example != nullptr)
        warn(fmt::format(
            "{} of {} recorded with another NVRTC ({}, build {:.12}) than this one (build {:.12}): what is "
            "built only serves programs that use this one. Choose another with --nvrtc or HEARTH_NVRTC.",
            others, count_of(all.list().size(), "recipe was", "recipes were"),
            example->compiler.empty() ? "version unknown" : example->compiler, example->compiler_build, build));
    return others;
}

void print_failed_as_recorded(const OutcomeCounts& counts)
{
    if (const std::uint64_t count = counts.at(Outcome::failed_as_recorded); count != 0)
        print_out("{} as when {} recorded.\n", count_of(count, "compile fails", "compiles fail"),
                  count == 1 ? "it was" : "they were");
}

void tell_of_problems(const std::vector<BuildJob>& jobs, const recipes::Recipes& all)
{
    std::map<std::pair<std::size_t, std::string>, std::vector<std::string>> targets;
    for (const BuildJob& job : jobs)
        if (is_problem(job.result.outcome))
            targets[{job.recipe, job.result.reason}].push_back(job.target);
    for (const BuildJob& job : jobs) {
        const Recipe& recipe = all.list()[job.recipe];
        if (job.result.outcome == Outcome::past_the_cache)
            complain(fmt::format("{} goes past the cache: {}.", name_of(recipe), recipe.why_past_the_cache));
        else if (auto all_of_them = targets.extract({job.recipe, job.result.reason}); !all_of_them.empty())
            complain(fmt::format("{}{} was not built: {}", name_of(recipe), for_targets(recipe, all_of_them.mapped()),
                                 job.result.reason));
    }
}

void add_failures(Json& object, const OutcomeCounts& counts)
{
    object.add("failed_as_recorded", counts.at(Outcome::failed_as_recorded));
    object.add("compile_errors", counts.at(Outcome::compile_error));
    object.add("past_the_cache", counts.at(Outcome::past_the_cache));
    object.add("not_buildable", counts.at(Outcome::not_buildable));
    object.add("failed", counts.at(Outcome::failed));
}

Json problems_as_json(const std::vector<BuildJob>& jobs, const recipes::Recipes& all)
{
    Json problems = Json::array();
    for (const BuildJob& job : jobs) {
        if (job.result.outcome == Outcome::built || job.result.outcome == Outcome::already_there)
            continue;
        const Recipe& recipe = all.list()[job.recipe];
        problems.add({{"name", recipe.name},
                      {"target", job.target},
                      {"recipe", recipe.key.hex()},
                      {"outcome", to_string(job.result.outcome)},
                      {"reason", job.result.reason},
                      {"log", job.result.log}});
    }
    return problems;
}

}  // namespace hearth::cli
