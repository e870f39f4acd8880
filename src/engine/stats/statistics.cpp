#include "engine/stats/statistics.hpp"

#include "engine/stats/history.hpp"
#include "engine/stats/stats_note.hpp"

#include <mutex>

namespace hearth::engine {

namespace {

constexpr std::string_view k_stats_note = "stats";
constexpr std::uint64_t k_stats_interval_ns = 1'000'000'000;

}  // namespace

Statistics::Statistics(const Tiers& tiers, const Counters& counters, Journal& journal, const Clock& clock)
    : m_tiers(tiers), m_counters(counters), m_journal(journal), m_clock(clock)
{
    for (const Place& place : tiers)
        m_names.emplace_back(place.name);
}

// Asks no tier of the program's own: this is called in the middle of a fork, where another thread may have been in it.
Stats Statistics::counts() const
{
    Stats stats = m_counters.sums(m_names);
    for (std::size_t i = 0; i < m_tiers.size(); ++i)
        if (m_tiers[i].remote)
            stats.tiers[i].stores = m_tiers[i].remote->report().sent;
    return stats;
}

Stats Statistics::counted() const
{
    Stats stats = counts();
    for (std::size_t i = 0; i < m_tiers.size(); ++i)
        stats.tiers[i].note = m_tiers[i]->note();
    return stats;
}

Stats Statistics::since(const Stats& earlier)
{
    const Stats now = counted();
    const std::lock_guard lock(m_mutex);
    return counts_since(now, earlier);
}

Stats Statistics::read(Scope scope)
{
    Stats stats;
    if (Tier* const keeper = scope == Scope::directory ? m_tiers.keeper() : nullptr) {
        const auto held = m_note.hold();
        // In lookup order, tiers of ours first; then those that only other processes had.
        stats = since(m_written);
        add_counts(stats, decode_stats(keeper->read_note(k_stats_note)));
    } else {
        stats = since(m_base);
    }
    settle_compilers(stats);
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        const TierUsage usage = m_tiers[i]->usage();
        stats.tiers[i].capacity_bytes = m_tiers[i]->limits().max_bytes;
        stats.tiers[i].used_bytes = usage.bytes;
        stats.tiers[i].entries = usage.entries;
        if (m_tiers[i].remote)
            stats.tiers[i].remote = m_tiers[i].remote->report();
    }
    return stats;
}

void Statistics::write()
{
    Tier* const keeper = m_tiers.keeper();
    if (!keeper)
        return;
    m_journal.write(*keeper);
    const auto held = m_note.hold();
    Stats now = counted();
    const Stats fresh = counts_since(now, m_written);
    if (fresh.lookups() + fresh.stores + fresh.compiles + fresh.evictions() + fresh.corrupt() == 0)
        return;
    const std::uint64_t hour = hour_of(m_clock.now());
    std::uint64_t hour_before = 0;
    Stats before;
    const bool written = keeper->update_note(k_stats_note, [&](ByteView old) {
        before = decode_stats(old, &hour_before);
        Stats all = before;
        add_counts(all, fresh);
        return encode_stats(all, hour);
    });
    if (!written)
        return;
    if (hour != hour_before)
        keeper->update_note(k_history_note, [&](ByteView old) { return add_milestone(old, hour, before); });
    const std::lock_guard lock(m_mutex);
    m_written = std::move(now);
}

std::vector<Period> Statistics::history()
{
    Tier* const keeper = m_tiers.keeper();
    if (!keeper)
        return {};
    return periods(decode_history(keeper->read_note(k_history_note)), read(Scope::directory), m_clock.now());
}

void Statistics::write_now_and_then(std::uint64_t now_ns)
{
    std::uint64_t due = m_due_ns.load(std::memory_order_relaxed);
    if (now_ns < due || !m_due_ns.compare_exchange_strong(due, now_ns + k_stats_interval_ns))
        return;
    // The first hit of a process only starts the clock: a short-lived one writes once, when it ends.
    if (due != 0)
        write();
}

void Statistics::forget()
{
    Stats now = counts();
    const std::lock_guard lock(m_mutex);
    m_base = now;
    m_written = std::move(now);
}

void Statistics::reset()
{
    const auto held = m_note.hold();
    forget();
    if (Tier* const keeper = m_tiers.keeper())
        keeper->update_note(k_stats_note, [](ByteView) { return encode_stats({}); });
}

}  // namespace hearth::engine
