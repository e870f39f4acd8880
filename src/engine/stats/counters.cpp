#include "engine/stats/counters.hpp"

#include <algorithm>

namespace hearth::engine {

Counters::~Counters()
{
    for (std::atomic<Stripe*>& stripe : m_stripes)
        delete stripe.load(std::memory_order_relaxed);
}

Counters::Stripe& Counters::make_stripe(std::size_t index)
{
    const std::lock_guard lock(m_mutex);
    if (Stripe* there = m_stripes[index].load(std::memory_order_relaxed))
        return *there;
    auto* fresh = new Stripe;
    fresh->shared = index == k_stripes - 1;
    m_stripes[index].store(fresh, std::memory_order_release);
    return *fresh;
}

void Counters::compiled(CompilerKind compiler, std::uint64_t spent, Timed timed)
{
    add<&Stats::compiles>();
    stripe().add(place<&CompilerStats::compiles>(compiler), 1);
    m_compile_latency.add(spent);
    if (timed == Timed::within_another)
        return;
    add<&Stats::compile_ns_spent>(spent);
    stripe().add(place<&CompilerStats::compile_ns_spent>(compiler), spent);
}

std::uint64_t Counters::sum_at(std::size_t at) const
{
    std::uint64_t total = 0;
    for (const std::atomic<Stripe*>& stripe : m_stripes)
        if (const Stripe* there = stripe.load(std::memory_order_acquire))
            total += there->values[at].load(std::memory_order_relaxed);
    return total;
}

Stats Counters::sums(std::span<const std::string_view> tiers) const
{
    Stats stats;
    std::size_t at = 0;
    for (std::uint64_t& misses : stats.misses)
        misses = sum_at(at++);
    for (const CountName<Stats>& count : k_counts)
        stats.*count.member = sum_at(at++);
    for (std::size_t i = 0; i < tiers.size(); ++i) {
        TierStats& tier = stats.tiers.emplace_back();
        tier.name = tiers[i];
        for (const CountName<TierStats>& count : k_tier_counts)
            tier.*count.member = sum_at(at++);
        m_latency[i].read_into(tier.latency);
        m_miss_latency[i].read_into(tier.miss_latency);
        stats.hits += tier.hits;
    }
    if (!tiers.empty())
        for (const std::atomic<Stripe*>& stripe : m_stripes)
            // acquire: pairs with the release in make_stripe().
            if (const Stripe* there = stripe.load(std::memory_order_acquire))
                there->first_tier.read_into(stats.tiers.front().latency);
    at = k_first_compiler;
    for (CompilerStats& compiler : stats.compilers) {
        for (const CountName<CompilerStats>& count : k_compiler_counts)
            compiler.*count.member = sum_at(at++);
        stats.compile_ns_saved += compiler.compile_ns_saved;
    }
    m_compile_latency.read_into(stats.compile_latency);
    return stats;
}

void LatencyCounter::read_into(Latency& latency) const
{
    for (std::size_t i = 0; i < latency.buckets.size(); ++i) {
        const std::uint64_t count = m_buckets[i].load(std::memory_order_relaxed);
        latency.buckets[i] += count;
        latency.samples += count;
    }
    latency.total_ns += m_total_ns.load(std::memory_order_relaxed);
}

}  // namespace hearth::engine
