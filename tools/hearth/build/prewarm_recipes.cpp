// Brings what was recorded to this machine's disk: fetches what a server or a bundle has, and compiles the rest.

#include "build/prewarm_recipes.hpp"

#include "build/build_jobs.hpp"
#include "hearth/units.hpp"
#include "process/stop_signals.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace hearth::cli {

namespace {

using recipes::Outcome;
using recipes::Recipe;

// The earliest used first: that is the order in which a program will ask.
std::vector<std::size_t> by_first_use(const recipes::Recipes& all)
{
    std::vector<std::size_t> order(all.list().size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return all.list()[a].first_use < all.list()[b].first_use; });
    return order;
}

PrewarmReport fetch(const Globals& globals, const recipes::Recipes& all, const PrewarmArguments& arguments)
{
    std::vector<Key> keys;
    for (const std::size_t i : by_first_use(all))
        if (all.list()[i].why_past_the_cache.empty())
            keys.push_back(all.list()[i].key);
    Cache cache = open_to_fill(globals, std::nullopt);
    return wait_for(prewarm(cache, std::move(keys), arguments.options(disk_of(cache).name)), "Fetching", arguments);
}

// A job for each recipe that the cache does not have, for its recorded target.
std::vector<BuildJob> jobs_for_missing(Cache& cache, const recipes::Recipes& all)
{
    std::vector<BuildJob> jobs;
    for (const std::size_t i : by_first_use(all)) {
        const Recipe& recipe = all.list()[i];
        if (!recipe.why_past_the_cache.empty())
            continue;
        // A remembered failure is not a kernel.
        if (const Lookup there = cache.peek(recipe.key); !there || there->failed())
            jobs.push_back({i, recipe.target});
    }
    return jobs;
}

// A job whose outcome is known without compiling.
BuildJob settled(const recipes::Recipes& all, std::size_t recipe, Outcome outcome, std::string reason)
{
    BuildJob job{recipe, all.list()[recipe].target};
    job.result.outcome = outcome;
    job.result.reason = std::move(reason);
    return job;
}

// Compiling stops before an entry would be evicted, as nearly as that can be told. The size of the next result is not
// known, so it is taken to be like the others.
bool is_full(const TierStatus& disk, std::uint64_t before, std::uint64_t most)
{
    const TierUsage& usage = disk.usage;
    const std::uint64_t usual = usage.entries == 0 ? 0 : usage.bytes / usage.entries;
    return (most != 0 && usage.bytes - std::min(before, usage.bytes) + usual > most) ||
           (disk.limits.max_bytes != 0 && usage.bytes + usual > disk.limits.max_bytes) ||
           (disk.limits.max_entries != 0 && usage.entries >= disk.limits.max_entries);
}

// One run of 'hearth prewarm --recipes', from the fetch to the exit code.
class RecipesPrewarm {
public:
    RecipesPrewarm(const Globals& globals, const PrewarmArguments& arguments, recipes::Recipes all)
        : m_globals(globals), m_arguments(arguments), m_all(std::move(all))
    {
    }

    void run()
    {
        m_fetch = fetch(m_globals, m_all, m_arguments);
        // If something found no room, nothing that is compiled would find any.
        const bool compiling = !m_arguments.no_compile && m_fetch.no_room == 0;
        std::optional<ScratchFolder> scratch;
        if (compiling)
            m_all = gather_recipes({m_arguments.recipes}, scratch.emplace());
        Cache cache = or_fail(open_to_build(m_globals, Into::cache, ""));
        m_disk = disk_of(cache);
        std::vector<BuildJob> missing = jobs_for_missing(cache, m_all);
        take_stock(missing.size());
        if (!compiling)
            leave_out(missing);
        else if (!missing.empty())
            compile(cache, std::move(missing), *scratch);
        m_took = std::chrono::steady_clock::now() - m_started;
    }

    int tell() const
    {
        const OutcomeCounts counts = count_outcomes(m_jobs);
        if (m_arguments.json)
            print_as_json(counts);
        else
            print_for_people(counts);
        warn_of(m_fetch);
        if (counts.at(Outcome::compile_error) != 0)
            return k_compile_error;
        return missing(counts) == 0 ? k_done : k_nothing;
    }

private:
    std::uint64_t missing(const OutcomeCounts& counts) const { return count_problems(counts) + m_absent + m_no_room; }
    std::uint64_t already_there(const OutcomeCounts& counts) const
    {
        return m_there - m_fetched + counts.at(Outcome::already_there);
    }
    void take_stock(std::uint64_t missing);
    void leave_out(const std::vector<BuildJob>& jobs);
    void compile(Cache& cache, std::vector<BuildJob> jobs, const ScratchFolder& scratch);
    void print_for_people(const OutcomeCounts& counts) const;
    void print_as_json(const OutcomeCounts& counts) const;

    const Globals& m_globals;
    const PrewarmArguments& m_arguments;
    const std::chrono::steady_clock::time_point m_started = std::chrono::steady_clock::now();
    recipes::Recipes m_all;
    PrewarmReport m_fetch;
    TierStatus m_disk;
    // Each kernel that can be cached counts once: in m_there, in m_absent, in m_no_room or in m_jobs.
    std::uint64_t m_total = 0;
    std::uint64_t m_there = 0;
    std::uint64_t m_fetched = 0;  // of those that are there
    std::uint64_t m_absent = 0;
    std::uint64_t m_no_room = 0;
    std::uint64_t m_other_compiler = 0;
    std::vector<BuildJob> m_jobs;  // compiled, or settled without compiling
    std::chrono::nanoseconds m_took{0};
};

void RecipesPrewarm::take_stock(std::uint64_t missing)
{
    for (std::size_t i = 0; i < m_all.list().size(); ++i)
        if (const std::string& why_past_the_cache = m_all.list()[i].why_past_the_cache; why_past_the_cache.empty())
            ++m_total;
        else
            m_jobs.push_back(settled(m_all, i, Outcome::past_the_cache,
                                     fmt::format("It goes past the cache: {}.", why_past_the_cache)));
    m_there = m_total - missing;
    m_fetched = std::min(m_fetch.filled, m_there);
}

// For a run that compiles nothing.
void RecipesPrewarm::leave_out(const std::vector<BuildJob>& jobs)
{
    for (const BuildJob& job : jobs)
        if (m_all.list()[job.recipe].status != 0)
            m_jobs.push_back(
                settled(m_all, job.recipe, Outcome::failed_as_recorded, "It failed when it was recorded."));
        else
            ++m_absent;
    m_no_room = std::min(m_fetch.no_room, m_absent);
    m_absent -= m_no_room;
}

void RecipesPrewarm::compile(Cache& cache, std::vector<BuildJob> jobs, const ScratchFolder& scratch)
{
    if (needs_nvrtc(m_all)) {
        const Result<std::string> build = recipes::compiler_build(cache);
        if (!build)
            fail(fmt::format("{} on no server and in no bundle, and cannot be compiled here: {}",
                             count_of(jobs.size(), "kernel is", "kernels are"), build.error().message));
        m_other_compiler = tell_of_compiler(m_all, *build);
    }
    // What was fetched counts too. A limit that is reached must not become 0, which means no limit.
    const std::uint64_t limit = m_arguments.max_size.value_or(0);
    const std::uint64_t most = limit == 0 ? 0 : std::max<std::uint64_t>(limit - std::min(limit, m_fetch.bytes), 1);
    m_no_room = run_build_jobs(
        jobs, scratch,
        {.globals = m_globals, .jobs = m_arguments.jobs, .nice = true, .progress = m_arguments.progress()},
        [&] { return is_full(disk_of(cache), m_disk.usage.bytes, most); });
    m_jobs.insert(m_jobs.end(), jobs.begin(), jobs.end());
}

void RecipesPrewarm::print_for_people(const OutcomeCounts& counts) const
{
    print_out("{}: {} fetched, {} already there, {} compiled, {} missing; {}.\n",
              count_of(m_total, "kernel", "kernels"), m_fetched, already_there(counts), counts.at(Outcome::built),
              missing(counts), show_duration(m_took));
    print_failed_as_recorded(counts);
    tell_of_problems(m_jobs, m_all);
    if (m_absent != 0)
        complain(fmt::format("{} on no server and in no bundle{}", count_of(m_absent, "kernel is", "kernels are"),
                             m_arguments.no_compile ? ". Leave --no-compile out to compile here." : "."));
    if (m_no_room != 0)
        complain(fmt::format("{} left out: there is no more room {}", count_of(m_no_room, "kernel was", "kernels were"),
                             how_to_make_room(m_disk, m_arguments)));
}

void RecipesPrewarm::print_as_json(const OutcomeCounts& counts) const
{
    Json object{{"source", "recipes"},
                {"total", m_total},
                {"filled", m_fetched},
                {"already_there", already_there(counts)},
                {"compiled", counts.at(Outcome::built)},
                {"absent", m_absent},
                {"no_room", m_no_room},
                {"refused", m_fetch.refused}};
    add_failures(object, counts);
    object.add("recorded_with_another_compiler", m_other_compiler);
    object.add("bytes", m_fetch.bytes);
    object.add("read_bytes", m_fetch.bytes_read);
    object.add("seconds", std::chrono::duration<double>(m_took).count());
    object.add("problems", m_fetch.problems);
    object.add("not_built", problems_as_json(m_jobs, m_all));
    print_json(object);
}

}  // namespace

PrewarmOptions PrewarmArguments::options(std::string tier) const
{
    return {.tier = std::move(tier), .max_bytes = max_size.value_or(0), .bytes_per_second = rate.value_or(0)};
}

PrewarmReport wait_for(Prewarm prewarm, const std::string& what, const PrewarmArguments& arguments)
{
    static constexpr std::chrono::milliseconds k_now_and_then{100};
    {
        ProgressBar bar(what, arguments.progress());
        const Progress progress = bar.report();
        while (!prewarm.wait_for(k_now_and_then)) {
            const PrewarmReport report = prewarm.report();
            if (!progress(report.done, report.total))
                stop_if_told();
        }
    }
    stop_if_told();
    PrewarmReport report = prewarm.report();
    if (!report.finished)
        fail(report.problems.empty() ? "Prewarming was stopped." : report.problems.back());
    return report;
}

void warn_of(const PrewarmReport& report)
{
    for (const std::string& problem : report.problems)
        warn(problem);
}

std::string how_to_make_room(const TierStatus& disk, const PrewarmArguments& arguments)
{
    if (arguments.max_size)
        return fmt::format("(--max-size {}, tier {}). Raise --max-size, or HEARTH_MAX_BYTES if the cache is full.",
                           format_size(*arguments.max_size), format_size(disk.limits.max_bytes));
    return fmt::format("({}). Raise HEARTH_MAX_BYTES, or make room with 'hearth gc'.",
                       format_size(disk.limits.max_bytes));
}

int prewarm_from_recipes(const Globals& globals, const PrewarmArguments& arguments)
{
    recipes::Recipes all = or_fail(recipes::read(arguments.recipes));
    tell_of_damage(all.damage());
    if (all.list().empty()) {
        complain(
            fmt::format("There is nothing to prewarm: no recipe was recorded in {}.", in_quotes(arguments.recipes)));
        return k_nothing;
    }
    RecipesPrewarm prewarm(globals, arguments, all);
    prewarm.run();
    return prewarm.tell();
}

}  // namespace hearth::cli
