#include "cache/compiler_table.hpp"
#include "cache/open_cache.hpp"
#include "cache/stats_json.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "process/stop_signals.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <algorithm>
#include <fmt/format.h>

#include <poll.h>

namespace hearth::cli {

namespace {

struct StatsArguments {
    std::optional<std::chrono::milliseconds> watch;
    bool reset = false;
    bool json = false;
};

// " (absent 18, corrupt 2)", or nothing when there were none.
std::string reasons(const Stats& stats)
{
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < k_miss_reasons; ++i)
        if (stats.misses[i] != 0)
            parts.push_back(fmt::format("{} {}", to_string(static_cast<Miss>(i)), stats.misses[i]));
    return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

std::string microseconds(double us)
{
    return us == 0 ? "-" : show_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(us * 1e3)));
}

// What lookups cost that found nothing in a tier and went on.
void print_misses(const std::vector<TierStats>& tiers)
{
    Table table(
        {{"TIER"}, {"MISSES", Align::right}, {"P50", Align::right}, {"P99", Align::right}, {"MEAN", Align::right}});
    for (const TierStats& tier : tiers)
        table.add({printable(tier.name), std::to_string(tier.misses),
                   microseconds(tier.miss_latency.percentile_us(0.50)),
                   microseconds(tier.miss_latency.percentile_us(0.99)), microseconds(tier.miss_latency.mean_us())});
    print_out("\n");
    table.print();
}

std::string time_text(std::uint64_t nanoseconds)
{
    return show_duration(std::chrono::nanoseconds(nanoseconds));
}

void print_for_people(const Stats& stats)
{
    FactList facts;
    facts.add("lookups", std::to_string(stats.lookups()));
    facts.add("hits", fmt::format("{} ({:.1f} %)", stats.hits, stats.hit_rate() * 100));
    facts.add("misses", fmt::format("{}{}", stats.misses_in_all(), reasons(stats)));
    facts.add("outages", std::to_string(stats.outages));
    facts.add("stores", std::to_string(stats.stores));
    facts.add("evictions", fmt::format("{} ({} demoted)", stats.evictions(), stats.demotions()));
    facts.add("corrupt", std::to_string(stats.corrupt()));
    facts.add("compiles", fmt::format("{} ({} failed)", stats.compiles, stats.compile_failures));
    if (stats.compiles_after_ready != 0)
        facts.add("after ready", fmt::format("{} of them", stats.compiles_after_ready));
    facts.add("compile time",
              fmt::format("{} spent, {} saved", time_text(stats.compile_ns_spent), time_text(stats.compile_ns_saved)));
    facts.print();

    if (const std::optional<Table> compilers = compiler_table(stats)) {
        print_out("\n");
        compilers->print();
    }
    print_out("\n");
    Table tiers({{"TIER"},
                 {"USED", Align::right},
                 {"CAPACITY", Align::right},
                 {"ENTRIES", Align::right},
                 {"HITS", Align::right},
                 {"STORES", Align::right},
                 {"EVICTIONS", Align::right},
                 {"P50", Align::right},
                 {"P99", Align::right},
                 {"MEAN", Align::right}});
    for (const TierStats& tier : stats.tiers)
        tiers.add({printable(tier.name), format_size(tier.used_bytes),
                   tier.capacity_bytes == 0 ? "no limit" : format_size(tier.capacity_bytes),
                   std::to_string(tier.entries), std::to_string(tier.hits), std::to_string(tier.stores),
                   std::to_string(tier.evictions), microseconds(tier.latency.percentile_us(0.50)),
                   microseconds(tier.latency.percentile_us(0.99)), microseconds(tier.latency.mean_us())});
    tiers.print();
    if (std::ranges::any_of(stats.tiers, [](const TierStats& tier) { return tier.misses != 0; }))
        print_misses(stats.tiers);
    for (const TierStats& tier : stats.tiers)
        if (!tier.note.empty())
            print_out("{} is {}\n", printable(tier.name), printable(tier.note));
}

// Prints again and again, until a signal or a reader that leaves ends it.
int watch(Cache& cache, const StatsArguments& arguments)
{
    const StopSignals signals;
    const HeldStopSignals held;
    for (bool first = true; told_to_stop() == 0; first = false) {
        const Stats stats = cache.stats(Scope::directory);
        if (arguments.json) {
            print_json(stats_as_json(stats));
        } else {
            print_out("{}{}\n", first ? "" : "\n", iso_time(now()).value_or(""));
            print_for_people(stats);
        }
        finish_output();
        const auto seconds = std::chrono::floor<std::chrono::seconds>(*arguments.watch);
        const timespec pause{.tv_sec = seconds.count(),
                             .tv_nsec = std::chrono::nanoseconds(*arguments.watch - seconds).count()};
        static_cast<void>(::ppoll(nullptr, 0, &pause, &held.mask_before()));
    }
    return k_done;
}

int run_stats(const Globals& globals, const StatsArguments& arguments)
{
    Cache cache = open_cache(globals, arguments.reset ? Use::change : Use::read, Remotes::yes);
    if (arguments.watch)
        return watch(cache, arguments);
    const Stats stats = cache.stats(Scope::directory);
    if (arguments.json)
        print_json(stats_as_json(stats));
    else
        print_for_people(stats);
    if (arguments.reset) {
        finish_output();  // fails if the counts could not be written, before they are reset
        admin::reset_stats(cache);
        if (!arguments.json)
            print_out("\nCounting starts again from here.\n");
    }
    return k_done;
}

}  // namespace

void add_stats(Command& command)
{
    command.describe(
        "Shows hits, misses and saved time of all processes that used this cache directory.",
        "  hearth stats\n"
        "  hearth stats --json | jq .hit_rate\n"
        "  hearth stats --reset --json >> history.jsonl\n"
        "  hearth stats --watch 10                    again every 10 seconds; 'hearth top' fills a terminal");
    auto& arguments = command.runs(run_stats);
    const Option reset =
        command.flag("--reset", arguments.reset, "Show the statistics, then start counting again from 0");
    command
        .seconds("--watch", arguments.watch, std::chrono::seconds(2),
                 "Show them again every so many seconds (otherwise 2), until it is stopped")
        .excludes(reset);
    command.json(arguments.json);
}

}  // namespace hearth::cli
