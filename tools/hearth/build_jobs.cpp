#include "build_jobs.hpp"

#include "exit.hpp"
#include "hearth/units.hpp"
#include "output.hpp"
#include "stop_signals.hpp"
#include "text.hpp"
#include "worker_pool.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

namespace hearth::cli {

namespace {

using recipes::Outcome;
using recipes::Recipe;

recipes::BuildResult result_of(const std::string& answer)
{
    const auto json = nlohmann::json::parse(answer, nullptr, false);
    recipes::BuildResult result;
    result.reason = "The process that compiled it gave an answer that makes no sense.";
    if (!json.is_object() || !json.contains("outcome"))
        return result;
    result.outcome = static_cast<Outcome>(json.value("outcome", static_cast<int>(Outcome::failed)));
    result.key = Key::parse(json.value("key", "")).value_or(Key{});
    result.reason = json.value("reason", "");
    result.log = json.value("log", "");
    result.took = std::chrono::nanoseconds(static_cast<std::int64_t>(json.value("ms", 0.0) * 1e6));
    return result;
}

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
    if (!place.over_signed_by.empty())
        words.insert(words.end(), {"--over-signed-by", place.over_signed_by});
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

}  // namespace

void tell_of_damage(const recipes::Damage& damage)
{
    if (damage.places != 0)
        warn(fmt::format("{} damaged, and passed over ({}).",
                         count_of(damage.places, "place of the recipes is", "places of the recipes are"),
                         format_size(damage.bytes)));
}

recipes::Recipes gather_recipes(const std::vector<std::string>& files, const ScratchFolder& scratch)
{
    const Result<recipes::MergeReport> merged = recipes::merge(scratch / "recipes", files);
    if (!merged)
        fail(merged.error().message);
    tell_of_damage(merged->damage);
    stop_if_told();
    Result<recipes::Recipes> all = recipes::read(scratch / "recipes");
    if (!all)
        fail(all.error().message);
    stop_if_told();
    return *std::move(all);
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
    // A target may be any bytes, as its options were: they go as numbers.
    for (const BuildJob& job : jobs)
        lines.push_back(nlohmann::json{{"recipe", job.recipe},
                                       {"target", std::vector<unsigned char>(job.target.begin(), job.target.end())}}
                            .dump());

    ProgressBar bar("Building", place.progress);
    const Progress progress = bar.report();
    std::size_t done = 0;
    WorkerPool pool(std::move(commands));
    const std::size_t begun = pool.run(lines, {[&](std::size_t line, const std::string& answer) {
                                                   jobs[line].result = result_of(answer);
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
          Outcome::not_cacheable, Outcome::not_buildable, Outcome::failed})
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

std::uint64_t tell_of_compiler(const recipes::Recipes& all, const std::string& build)
{
    std::uint64_t others = 0;
    const Recipe* example = nullptr;
    for (const Recipe& recipe : all.list())
        if (recipe.bypass.empty() && recipe.compiler_build != build) {
            ++others;
            example = &recipe;
        }
    if (example != nullptr)
        warn(fmt::format(
            "{} of {} recorded with another NVRTC ({}, build {:.12}) than this one (build {:.12}): what is "
            "built serves programs that use this one. Choose another with --nvrtc or HEARTH_NVRTC.",
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
            targets[{job.recipe, job.result.reason}].push_back(job.target.empty() ? "no target" : job.target);
    for (const BuildJob& job : jobs) {
        const Recipe& recipe = all.list()[job.recipe];
        if (job.result.outcome == Outcome::not_cacheable)
            complain(fmt::format("{} cannot be cached: {}.", name_of(recipe), recipe.bypass));
        else if (auto all_of_them = targets.extract({job.recipe, job.result.reason}); !all_of_them.empty())
            complain(fmt::format("{} for {} was not built: {}", name_of(recipe), fmt::join(all_of_them.mapped(), ", "),
                                 job.result.reason));
    }
}

void add_failures(nlohmann::ordered_json& object, const OutcomeCounts& counts)
{
    object["failed_as_recorded"] = counts.at(Outcome::failed_as_recorded);
    object["compile_errors"] = counts.at(Outcome::compile_error);
    object["not_cacheable"] = counts.at(Outcome::not_cacheable);
    object["not_buildable"] = counts.at(Outcome::not_buildable);
    object["failed"] = counts.at(Outcome::failed);
}

nlohmann::ordered_json problems_as_json(const std::vector<BuildJob>& jobs, const recipes::Recipes& all)
{
    nlohmann::ordered_json problems = nlohmann::ordered_json::array();
    for (const BuildJob& job : jobs) {
        if (job.result.outcome == Outcome::built || job.result.outcome == Outcome::already_there)
            continue;
        const Recipe& recipe = all.list()[job.recipe];
        problems.push_back({{"name", recipe.name},
                            {"target", job.target},
                            {"recipe", recipe.key.hex()},
                            {"outcome", to_string(job.result.outcome)},
                            {"reason", job.result.reason},
                            {"log", job.result.log}});
    }
    return problems;
}

}  // namespace hearth::cli
