#include "cache/stats_json.hpp"

#include <array>

namespace hearth::cli {

namespace {

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

// Those that were asked for.
Json compilers_as_json(const Stats& stats)
{
    Json compilers = Json::array();
    for (std::size_t i = 0; i < k_compiler_kinds; ++i) {
        const CompilerStats& compiler = stats.compilers[i];
        if (compiler.hits + compiler.compiles == 0)
            continue;
        Json counts{{"name", k_compiler_names[i].name}};
        add_counts(counts, compiler, k_compiler_counts);
        compilers.add(counts);
    }
    return compilers;
}

}  // namespace

Json stats_as_json(const Stats& stats)
{
    Json object{{"lookups", stats.lookups()},     {"hit_rate", stats.hit_rate()},   {"misses", misses_as_json(stats)},
                {"evictions", stats.evictions()}, {"demotions", stats.demotions()}, {"corrupt", stats.corrupt()}};
    add_counts(object, stats, k_counts);
    object.add("compile_latency_seconds", latency_as_json(stats.compile_latency));
    object.add("compilers", compilers_as_json(stats));
    object.add("tiers", Json::array_of(stats.tiers, tier_as_json));
    return object;
}

}  // namespace hearth::cli
