// What was counted here, and how it adds up with what other processes counted in the note of the directory.

#include "engine/engine.hpp"
#include "engine/stats_note.hpp"

namespace hearth::engine {

namespace {

constexpr std::string_view k_stats_note = "stats";
constexpr std::uint64_t k_stats_interval_ns = 1'000'000'000;

}  // namespace

// The first tier of this machine that persists: where notes are, uses are credited, and flights are held.
Tier* Engine::local_keeper(bool writable) const
{
    for (const std::unique_ptr<Tier>& tier : m_tiers)
        if (const TierTraits traits = tier->traits();
            traits.persistent && !traits.remote && (traits.writable || !writable))
            return tier.get();
    return nullptr;
}

Stats Engine::counted() const
{
    Stats stats;
    stats.outages = m_counters.sum(Count::outages);
    stats.stores = m_counters.sum(Count::stores);
    stats.makes = m_counters.sum(Count::makes);
    stats.make_failures = m_counters.sum(Count::make_failures);
    stats.failures_replayed = m_counters.sum(Count::failures_replayed);
    stats.coalesced = m_counters.sum(Count::coalesced);
    stats.forbidden = m_counters.sum(Count::forbidden);
    stats.dropped_stores = m_counters.sum(Count::dropped_stores);
    stats.make_ns_spent = m_counters.sum(Count::make_ns_spent);
    for (std::size_t why = 0; why < k_miss_reasons; ++why)
        stats.misses[why] = m_counters.misses(static_cast<Miss>(why));
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        TierStats tier;
        tier.name = m_names[i];
        tier.note = m_tiers[i]->note();
        tier.hits = m_counters.sum(i, TierCount::hits);
        tier.stores = m_counters.sum(i, TierCount::stores);
        tier.evictions = m_counters.sum(i, TierCount::evictions);
        tier.demotions = m_counters.sum(i, TierCount::demotions);
        tier.promotions = m_counters.sum(i, TierCount::promotions);
        tier.corrupt = m_counters.sum(i, TierCount::corrupt);
        tier.outages = m_counters.sum(i, TierCount::outages);
        tier.latency = m_latency[i].read();
        stats.hits += tier.hits;
        stats.make_ns_saved += m_counters.sum(i, TierCount::saved_ns);
        stats.tiers.push_back(std::move(tier));
    }
    return stats;
}

Stats Engine::stats(Scope scope)
{
    Stats stats;
    {
        const std::lock_guard lock(m_stats_mutex);
        const Stats now = counted();
        Tier* keeper = scope == Scope::directory ? local_keeper(false) : nullptr;
        if (keeper) {
            // In lookup order, tiers of ours first; then those that only other processes had.
            stats = counts_since(now, m_stats_written);
            add_counts(stats, decode_stats(keeper->read_note(k_stats_note)));
        } else {
            stats = counts_since(now, m_stats_base);
        }
    }
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        const TierUsage usage = m_tiers[i]->usage();
        stats.tiers[i].capacity_bytes = m_tiers[i]->limits().max_bytes;
        stats.tiers[i].used_bytes = usage.bytes;
        stats.tiers[i].entries = usage.entries;
        if (m_remotes[i])
            stats.tiers[i].remote = m_remotes[i]->report();
    }
    return stats;
}

void Engine::write_stats()
{
    Tier* keeper = local_keeper(false);
    if (!keeper)
        return;
    const std::lock_guard lock(m_stats_mutex);
    const Stats now = counted();
    const Stats fresh = counts_since(now, m_stats_written);
    if (fresh.lookups() + fresh.stores + fresh.makes + fresh.evictions() + fresh.corrupt() == 0)
        return;
    const bool written = keeper->update_note(k_stats_note, [&](ByteView old) {
        Stats all = decode_stats(old);
        add_counts(all, fresh);
        return encode_stats(all);
    });
    if (written)
        m_stats_written = now;
}

void Engine::write_stats_now_and_then(std::uint64_t now_ns)
{
    std::uint64_t due = m_stats_due_ns.load(std::memory_order_relaxed);
    if (now_ns < due || !m_stats_due_ns.compare_exchange_strong(due, now_ns + k_stats_interval_ns))
        return;
    // The first hit of a process only starts the clock: a short-lived one writes once, when it ends.
    if (due != 0)
        write_stats();
}

void Engine::reset_stats()
{
    const std::lock_guard lock(m_stats_mutex);
    m_stats_base = counted();
    m_stats_written = m_stats_base;
    if (Tier* keeper = local_keeper(false))
        keeper->update_note(k_stats_note, [](ByteView) { return encode_stats({}); });
}

}  // namespace hearth::engine
