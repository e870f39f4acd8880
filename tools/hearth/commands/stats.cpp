#include "cache/open_cache.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::cli {

namespace {

struct StatsArguments {
    bool reset = false;
    bool json = false;
};

double seconds(std::uint64_t nanoseconds)
{
    return static_cast<double>(nanoseconds) / 1e9;
}

template <class Of, std::size_t k_rows>
void add_counts(Json& object, const Of& stats, const std::array<CountName<Of>, k_rows>& counts)
{
    for (const CountName<Of>& count : counts)
        if (count.unit == CountName<Of>::Unit::nanosecond)
            object.add(count.name, seconds(stats.*count.member));
        else
            object.add(count.name, stats.*count.member);
}

Json latency_as_json(const Latency& latency)
{
    return {{"p50", latency.percentile_us(0.50) / 1e6},
            {"p99", latency.percentile_us(0.99) / 1e6},
            {"mean", latency.mean_us() / 1e6}};
}

Json tier_as_json(const TierStats& tier)
{
    Json object{{"name", tier.name},
                {"note", tier.note},
                {"capacity_bytes", tier.capacity_bytes},
                {"used_bytes", tier.used_bytes},
                {"entries", tier.entries}};
    add_counts(object, tier, k_tier_counts);
    object.add("latency_seconds", latency_as_json(tier.latency));
    object.add("miss_latency_seconds", latency_as_json(tier.miss_latency));
    if (tier.remote)
        object.add("remote", {{"state", to_string(tier.remote->state)},
                              {"server", tier.remote->server},
                              {"problem", tier.remote->problem}});
    return object;
}

Json misses_as_json(const Stats& stats)
{
    Json misses = Json::object();
    for (std::size_t i = 0; i < k_miss_reasons; ++i)
        misses.add(to_string(static_cast<Miss>(i)), stats.misses[i]);
    return misses;
}

void print_as_json(const Stats& stats)
{
    Json object{{"lookups", stats.lookups()},     {"hit_rate", stats.hit_rate()},   {"misses", misses_as_json(stats)},
                {"evictions", stats.evictions()}, {"demotions", stats.demotions()}, {"corrupt", stats.corrupt()}};
    add_counts(object, stats, k_counts);
    object.add("tiers", Json::array_of(stats.tiers, tier_as_json));
    print_json(object);
}

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
    facts.add("compile time",
              fmt::format("{} spent, {} saved", show_duration(std::chrono::nanoseconds(stats.compile_ns_spent)),
                          show_duration(std::chrono::nanoseconds(stats.compile_ns_saved))));
    facts.print();

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

int run_stats(const Globals& globals, const StatsArguments& arguments)
{
    Cache cache = open_cache(globals, arguments.reset ? Use::change : Use::read, Remotes::yes);
    const Stats stats = cache.stats(Scope::directory);
    if (arguments.json)
        print_as_json(stats);
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
    command.describe("Shows hits, misses and saved time of all processes that used this cache directory.",
                     "  hearth stats\n"
                     "  hearth stats --json | jq .hit_rate\n"
                     "  hearth stats --reset --json >> history.jsonl");
    auto& arguments = command.runs(run_stats);
    command.flag("--reset", arguments.reset, "Show the statistics, then start counting again from 0");
    command.json(arguments.json);
}

}  // namespace hearth::cli
