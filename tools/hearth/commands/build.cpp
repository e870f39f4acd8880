#include "build/build_jobs.hpp"
#include "cache/open_cache.hpp"
#include "commands/bundle_parts.hpp"
#include "hearth/bundle.hpp"
#include "hearth/recipes.hpp"
#include "hearth/units.hpp"
#include "process/folder_lock.hpp"
#include "process/scratch_folder.hpp"
#include "process/stop_signals.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include <unistd.h>

namespace hearth::cli {

namespace {

using recipes::Outcome;

struct BuildArguments {
    std::vector<std::string> files;
    std::vector<std::string> targets;
    std::string library;
    std::optional<std::uint64_t> jobs;
    std::string bundle;
    std::string sign_with;
    bool nice = false;
    bool json = false;
};

// The most expensive recipes come first, so that none of them runs alone at the end. The targets of a recipe stay
// together.
std::vector<BuildJob> jobs_of(const recipes::Recipes& all, const std::vector<std::string>& targets)
{
    std::vector<std::size_t> order(all.list().size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return all.list()[a].cost > all.list()[b].cost; });
    std::vector<BuildJob> jobs;
    for (const std::size_t i : order)
        for (const std::string& target : recipes::targets_of(all.list()[i], targets)) {
            jobs.push_back({i, target});
            if (!all.list()[i].why_past_the_cache.empty())
                break;  // the reason is the same for every target
        }
    return jobs;
}

bool is_in_a_cache(Outcome outcome)
{
    return outcome == Outcome::built || outcome == Outcome::already_there;
}

// The bundle at `path` to add to; empty: there is no file yet. Fails with a sentence if the file cannot be added to.
std::string bundle_to_extend(const std::string& path, const bundles::WriteOptions& signing)
{
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
        // Found out now, and not after everything is compiled.
        const std::filesystem::path folder = std::filesystem::absolute(path, error).parent_path();
        if (::access(folder.c_str(), W_OK) != 0)
            fail(fmt::format("{} cannot be written: {}: {}. Choose another file with -o.", in_quotes(path),
                             in_quotes(folder.string()), system_error(errno)));
        return {};
    }
    const Result<bundles::Facts> facts = bundles::read(path);
    if (!facts)
        fail(fmt::format("{} Choose another file with -o.", facts.error().message));
    // Our signature would cover all its entries, whoever compiled them.
    if (signing.sign_with && facts->signed_by != signing.sign_with->public_key())
        fail(fmt::format("{} is {}, and its entries would be signed along with the new ones. Choose another file "
                         "with -o.",
                         in_quotes(path),
                         facts->signed_by ? "signed by another key, " + facts->signed_by->text() : "not signed"));
    if (facts->signed_by && !signing.sign_with)
        fail(fmt::format(
            "{} is signed, and what is added to it has to be signed as well. Name the key with --sign-with, "
            "or choose another file with -o.",
            in_quotes(path)));
    if (!facts->base.empty())
        fail(fmt::format(
            "{} is a delta over another bundle, and adding to it is not possible. Choose another file with -o.",
            in_quotes(path)));
    return path;
}

// A job whose entry was built but is not in the bundle has failed.
void check_written(const std::string& path, std::set<Key> wanted, std::vector<BuildJob>& jobs)
{
    const Status listed = bundles::list(path, [&](const EntryRow& row) {
        wanted.erase(row.key);
        return true;
    });
    if (!listed.ok())
        fail(listed.error().message);
    for (BuildJob& job : jobs)
        if (is_in_a_cache(job.result.outcome) && wanted.contains(job.result.key)) {
            job.result.outcome = Outcome::failed;
            job.result.reason = "It was built, but could not be read back to write it into the bundle. Free some space "
                                "for scratch files, or name another place for them with TMPDIR.";
        }
}

// None if there was nothing to write.
std::optional<bundles::WriteReport> write_bundle(const BuildArguments& arguments, const ScratchFolder& scratch,
                                                 std::vector<BuildJob>& jobs, const std::string& key,
                                                 const bundles::WriteOptions& signing)
{
    std::set<Key> built;
    for (const BuildJob& job : jobs)
        if (is_in_a_cache(job.result.outcome))
            built.insert(job.result.key);
    const bool anything_new =
        std::any_of(jobs.begin(), jobs.end(), [](const BuildJob& job) { return job.result.outcome == Outcome::built; });
    if (!anything_new)
        return std::nullopt;
    Globals globals;
    globals.directory = scratch / "cache";
    Result<Cache> cache = open_to_build(globals, Into::bundle, "", key);
    if (!cache)
        fail(cache.error().message);
    // Another build may have written the bundle meanwhile, so it is checked again under a lock.
    const FolderLock lock(arguments.bundle);
    const std::string over = bundle_to_extend(arguments.bundle, signing);
    ProgressBar bar("Bundling", unless(arguments.json));
    const std::string part = over.empty() ? arguments.bundle : scratch / "new.bundle";
    Result<bundles::WriteReport> report = bundles::create(
        part, *cache, [&](const EntryRow& row) { return built.contains(row.key); }, signing, bar.report());
    if (report && !over.empty()) {
        const bundles::WriteReport created = *std::move(report);
        report = bundles::merge(arguments.bundle, {over, part}, signing, bar.report());
        if (report) {
            report->rejected += created.rejected;
            report->problems.insert(report->problems.end(), created.problems.begin(), created.problems.end());
        }
    }
    if (!report) {
        stop_if_told();
        fail(report.error().message);
    }
    check_written(arguments.bundle, std::move(built), jobs);
    return *std::move(report);
}

void print_for_people(const std::vector<BuildJob>& jobs, const OutcomeCounts& counts, const recipes::Recipes& all,
                      const BuildArguments& arguments, std::chrono::nanoseconds took)
{
    print_out(
        "{} {}: {} built, {} already there, {} not built; {}.\n", count_of(all.list().size(), "recipe", "recipes"),
        arguments.targets.empty() ? "as recorded" : fmt::format("for {}", fmt::join(arguments.targets, ", ")),
        counts.at(Outcome::built), counts.at(Outcome::already_there), count_problems(counts), show_duration(took));
    print_failed_as_recorded(counts);
    tell_of_problems(jobs, all);
}

void print_as_json(const std::vector<BuildJob>& jobs, const OutcomeCounts& counts, const recipes::Recipes& all,
                   const std::optional<bundles::WriteReport>& written, const BuildArguments& arguments,
                   std::uint64_t other_compiler, std::chrono::nanoseconds took)
{
    Json object{{"recipes", all.list().size()},
                {"targets", arguments.targets},
                {"built", counts.at(Outcome::built)},
                {"already_there", counts.at(Outcome::already_there)}};
    add_failures(object, counts);
    object.add("recorded_with_another_compiler", other_compiler);
    object.add("seconds", std::chrono::duration<double>(took).count());
    object.add("bundle", !written ? Json()
                                  : Json{{"file", arguments.bundle},
                                         {"id", written->id},
                                         {"entries", written->entries},
                                         {"bytes", written->bytes},
                                         {"rejected", written->rejected}});
    object.add("problems", problems_as_json(jobs, all));
    print_json(object);
}

int run_build(const Globals& globals, const BuildArguments& arguments)
{
    for (const std::string& target : arguments.targets)
        if (!recipes::is_target(target))
            fail_usage(fmt::format("{} is not a target. Give targets such as sm_80,sm_90a or compute_80. A recipe that "
                                   "was recorded for sm_ stays sm_, and one for compute_ stays compute_.",
                                   in_quotes(target)));
    const bool bundling = !arguments.bundle.empty();
    if (!bundling && !arguments.sign_with.empty())
        fail_usage("--sign-with signs a bundle: name one with -o. What goes into the cache is signed with the key that "
                   "HEARTH_SIGN_WITH names.");
    const std::string key = bundling ? key_file(globals, arguments.sign_with) : "";
    const bundles::WriteOptions signed_by = bundling ? signing(globals, key) : bundles::WriteOptions{};
    const std::string over = bundling ? bundle_to_extend(arguments.bundle, signed_by) : "";
    const auto started = std::chrono::steady_clock::now();
    const StopSignals signals;  // made first: the folder is removed before signals take effect again
    const ScratchFolder scratch;
    const recipes::Recipes all = gather_recipes(arguments.files, scratch);
    if (all.list().empty()) {
        complain("There is nothing to build: no recipe was recorded.");
        return k_nothing;
    }

    Globals of_build = globals;
    if (bundling)
        of_build.directory = scratch / "cache";
    std::uint64_t other_compiler = 0;
    {
        Cache cache = open_cache(of_build, Use::change);  // fails with a sentence if it cannot be written
        if (needs_nvrtc(all))
            other_compiler = tell_of_compiler(all, or_fail(recipes::compiler_build(cache, arguments.library)));
    }
    stop_if_told();
    std::vector<BuildJob> jobs = jobs_of(all, arguments.targets);
    run_build_jobs(jobs, scratch,
                   {.globals = of_build,
                    .into = bundling ? Into::bundle : Into::cache,
                    .over = over,
                    .sign_with = key,
                    .library = arguments.library,
                    .jobs = arguments.jobs,
                    .nice = arguments.nice,
                    .progress = unless(arguments.json)});

    const std::optional<bundles::WriteReport> written =
        bundling ? write_bundle(arguments, scratch, jobs, key, signed_by) : std::nullopt;
    const OutcomeCounts counts = count_outcomes(jobs);
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - started;
    if (arguments.json)
        print_as_json(jobs, counts, all, written, arguments, other_compiler, took);
    else
        print_for_people(jobs, counts, all, arguments, took);
    if (written && !arguments.json)
        print_out("Wrote {} to {} ({}).\n", count_of(written->entries, "entry", "entries"), printable(arguments.bundle),
                  format_size(written->bytes));
    if (written)
        for (const std::string& problem : written->problems)
            warn(problem);
    if (bundling && !written && over.empty())
        complain(fmt::format("Nothing was built, and {} was not written.", in_quotes(arguments.bundle)));
    if (counts.at(Outcome::compile_error) != 0)
        return k_compile_error;
    const bool lacking =
        count_problems(counts) != 0 || (written && written->rejected != 0) || (bundling && !written && over.empty());
    return lacking ? k_nothing : k_done;
}

}  // namespace

void add_build(Command& command)
{
    command.describe("Compiles recorded recipes into the cache or a bundle, for any target and without a GPU.",
                     "  hearth run --record app.recipes -- python app.py\n"
                     "  hearth build app.recipes --target sm_80,sm_90 -o app.bundle\n"
                     "  hearth --dir /var/cache/hearth build app.recipes --jobs 4 --nice",
                     "Entries that the bundle or the cache already has stay as they are. Exit code 1: something could "
                     "not be built here; 4: the compiler found an error.");
    auto& arguments = command.runs(run_build);
    command.list("RECIPES", arguments.files, "Files that HEARTH_RECORD or 'hearth recipes merge' wrote").required();
    command.repeated("--target,--arch", arguments.targets, Commas::separate,
                     "Targets: sm_80, sm_90a, ...; otherwise, and for commands and results, as recorded", "TARGET");
    command.text("--nvrtc", arguments.library, "The libnvrtc to compile with (otherwise HEARTH_NVRTC)", "PATH");
    command.count("--jobs", arguments.jobs, "Compile in this many processes at once (otherwise one per core)");
    command.flag("--nice", arguments.nice, "Use processor and disk only while nothing else needs them");
    command.text("-o,--output", arguments.bundle, "The bundle to write or add to (otherwise the cache)", "BUNDLE");
    add_sign_with(command, arguments.sign_with);
    command.json(arguments.json);
}

}  // namespace hearth::cli
