#include "engine/stats/stats_note.hpp"
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <string>

namespace {

using namespace hearth;

// The sum a note ends with, as engine/stats_note.cpp has it.
std::uint64_t sum_of(std::string_view text)
{
    std::uint64_t hash = 1469598103934665603U;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return hash;
}

bool same(const Latency& a, const Latency& b)
{
    return a.buckets == b.buckets && a.samples == b.samples && a.total_ns == b.total_ns;
}

const TierStats* find_tier(const Stats& stats, const std::string& name)
{
    for (const TierStats& tier : stats.tiers)
        if (tier.name == name)
            return &tier;
    return nullptr;
}

// A tier of which nothing is counted is not written down, so only what is counted in `a` is looked for in `b`.
bool same_counts(const Stats& a, const Stats& b)
{
    static const TierStats k_nothing;
    for (const TierStats& tier : a.tiers) {
        const TierStats* const there = find_tier(b, tier.name);
        const TierStats& other = there ? *there : k_nothing;
        if (tier.hits != other.hits || tier.stores != other.stores || tier.evictions != other.evictions ||
            tier.demotions != other.demotions || tier.promotions != other.promotions || tier.corrupt != other.corrupt ||
            tier.outages != other.outages || !same(tier.latency, other.latency))
            return false;
    }
    return a.hits == b.hits && a.misses == b.misses && a.outages == b.outages && a.stores == b.stores &&
           a.compiles == b.compiles && a.compile_failures == b.compile_failures &&
           a.compile_ns_spent == b.compile_ns_spent && a.compile_ns_saved == b.compile_ns_saved &&
           a.waited == b.waited && a.forbidden == b.forbidden;
}

void check(std::string_view note)
{
    const Stats stats = engine::decode_stats(as_bytes(note));
    for (const TierStats& tier : stats.tiers) {
        (void)tier.latency.percentile_us(0.99);
        (void)tier.latency.mean_us();
    }
    (void)stats.hit_rate();
    const Bytes again = engine::encode_stats(stats);
    fuzz::require(same_counts(stats, engine::decode_stats(again)), "counts that were read are written and read again");

    Stats doubled = stats;
    engine::add_counts(doubled, stats);
    fuzz::require(same_counts(engine::counts_since(doubled, stats), stats), "what is added can be taken away");
}

void try_input(std::string_view input)
{
    const std::string text(input);
    check(text);
    // With the sum made right, the lines are tried.
    const std::string body = text.substr(0, std::min(text.size(), text.rfind("sum ")));
    check(body + "sum " + std::to_string(sum_of(body)) + "\n");
}

const fuzz::Added k_added({"stats_note", 15'000, try_input});

}  // namespace
