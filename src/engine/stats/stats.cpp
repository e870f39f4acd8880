#include "hearth/stats.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace hearth {

std::size_t Latency::bucket_of(std::uint64_t ns)
{
    if (ns < 4)
        return ns;
    // Two bits below the leading one choose the quarter.
    const auto power = static_cast<std::size_t>(std::bit_width(ns)) - 1;
    const std::size_t quarter = (ns >> (power - 2)) & 3U;
    return std::min(4 + (power - 2) * 4 + quarter, k_buckets - 1);
}

std::uint64_t Latency::end_of(std::size_t bucket)
{
    if (bucket < 4)
        return bucket + 1;
    return (5 + (bucket - 4) % 4) << ((bucket - 4) / 4);
}

void Latency::add(std::uint64_t ns, std::uint64_t count)
{
    buckets[bucket_of(ns)] += count;
    samples += count;
    total_ns += ns * count;
}

double Latency::percentile_us(double share) const
{
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(samples)));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
        seen += buckets[bucket];
        if (seen < wanted || seen == 0)
            continue;
        if (bucket < 4)
            return static_cast<double>(bucket) / 1000;
        const double low = std::ldexp(4.0 + static_cast<double>((bucket - 4) % 4), static_cast<int>((bucket - 4) / 4));
        const double width = std::ldexp(1.0, static_cast<int>((bucket - 4) / 4));
        return (low + width / 2) / 1000;
    }
    return 0;
}

double Latency::mean_us() const
{
    return samples == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(samples) / 1000;
}

std::uint64_t Stats::misses_in_all() const
{
    return std::accumulate(misses.begin(), misses.end(), std::uint64_t{0});
}

namespace {

std::uint64_t over_tiers(const std::vector<TierStats>& tiers, std::uint64_t TierStats::*count)
{
    std::uint64_t total = 0;
    for (const TierStats& tier : tiers)
        total += tier.*count;
    return total;
}

}  // namespace

std::uint64_t Stats::evictions() const
{
    return over_tiers(tiers, &TierStats::evictions);
}

std::uint64_t Stats::demotions() const
{
    return over_tiers(tiers, &TierStats::demotions);
}

std::uint64_t Stats::corrupt() const
{
    return over_tiers(tiers, &TierStats::corrupt);
}

double Stats::hit_rate() const
{
    return lookups() == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(lookups());
}

}  // namespace hearth
