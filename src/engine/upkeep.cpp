// Keeping the cache in order: verifying, collecting, flushing, clearing, and the thread that does it in the background.

#include "base/own_thread.hpp"
#include "engine/engine.hpp"
#include "engine/problems.hpp"

#include <algorithm>
#include <condition_variable>
#include <unordered_map>

namespace hearth::engine {

VerifyReport Engine::verify(Repair repair, const Progress& progress)
{
    VerifyReport all;
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        if (m_tiers[i]->traits().remote)
            continue;
        const VerifyReport part = m_tiers[i]->verify(repair, progress);
        all.checked += part.checked;
        all.intact += part.intact;
        all.corrupt += part.corrupt;
        all.incompatible += part.incompatible;
        all.stray += part.stray;
        all.removed += part.removed;
        all.accounting_exact &= part.accounting_exact;
        m_counters.add(i, TierCount::corrupt, part.corrupt);
        for (const std::string& problem : part.problems)
            tell(all.problems, problem);
    }
    return all;
}

GcReport Engine::gc(const GcOptions& options, const Progress& progress)
{
    credit_uses();  // or what memory answers looks idle
    GcReport report;
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        Tier& tier = *m_tiers[i];
        if (!tier.traits().persistent || !tier.traits().writable || tier.traits().remote)
            continue;
        const TierUsage before = tier.usage();
        settle_victims(i, tier.maintain({}));
        if (options.unused_for)
            tier.remove_idle(*options.unused_for, progress);
        const Limits usual = tier.limits();
        Limits now = usual;
        const auto lower = [](std::uint64_t& limit, const std::optional<std::uint64_t>& wanted) {
            // 0 means no limit to a tier; asked for here it means "keep nothing", which one byte or one entry can't
            // hold.
            if (wanted && (limit == 0 || *wanted < limit))
                limit = std::max<std::uint64_t>(*wanted, 1);
        };
        lower(now.max_bytes, options.max_bytes);
        lower(now.max_entries, options.max_entries);
        if (options.max_entries == std::uint64_t{0})
            now.max_bytes = 1;
        settle_victims(i, tier.set_limits(now, Victims::discard));
        tier.set_limits(usual, Victims::discard);
        const TierUsage after = tier.usage();
        report.removed_entries += before.entries - std::min(before.entries, after.entries);
        report.removed_bytes += before.bytes - std::min(before.bytes, after.bytes);
        report.left.entries += after.entries;
        report.left.bytes += after.bytes;
    }
    return report;
}

void Engine::credit_uses()
{
    // An entry that memory answers looks idle to the tiers below, and would be evicted there first.
    Tier* const keeper = local_keeper(true);
    if (!keeper)
        return;
    struct Used {
        std::uint32_t uses = 0;
        WallTime last{};
    };
    std::unordered_map<Key, Used> used;
    for (const std::unique_ptr<Tier>& tier : m_tiers) {
        if (tier->traits().persistent)
            continue;
        tier->for_each([&](const EntryRow& row) {
            if (row.uses != 0) {
                used[row.key].uses += row.uses;
                used[row.key].last = std::max(used[row.key].last, row.last_used);
            }
            return true;
        });
    }
    const WallTime now = m_clock.now();
    const std::lock_guard lock(m_credit_mutex);
    for (const auto& [key, use] : used) {
        std::uint32_t& credited = m_credited[key];
        // A saturated count no longer grows: that it was used since the last time is then worth one.
        const bool saturated = use.uses >= Resident::k_max_uses;
        if (use.uses > credited || (saturated && use.last > m_credited_at))
            keeper->touch(key, std::max<std::uint32_t>(use.uses - std::min(use.uses, credited), 1));
        credited = use.uses;
    }
    m_credited_at = now;
    std::erase_if(m_credited, [&](const auto& item) { return !used.contains(item.first); });
}

void Engine::flush()
{
    credit_uses();
    for (const std::unique_ptr<Tier>& tier : m_tiers)
        tier->flush();
    write_stats();
}

void Engine::clear(bool persistent_too)
{
    if (!persistent_too)
        credit_uses();  // before they are forgotten with the entries
    {
        const std::lock_guard lock(m_credit_mutex);
        m_credited.clear();
    }
    for (const std::unique_ptr<Tier>& tier : m_tiers)
        if ((persistent_too || !tier->traits().persistent) && !tier->traits().remote)
            tier->clear();
}

void Engine::maintain(std::stop_token stop)
{
    credit_uses();
    for (std::size_t i = 0; i < m_tiers.size() && !stop.stop_requested(); ++i)
        settle_victims(i, m_tiers[i]->maintain(stop));
    write_stats();
}

void Engine::start_maintenance()
{
    if (m_options.maintenance != Maintenance::background || m_maintenance_started.load(std::memory_order_acquire))
        return;
    const std::lock_guard lock(m_maintenance_mutex);
    if (m_maintenance_started.exchange(true))
        return;
    m_maintenance = base::start_thread<std::jthread>([this](std::stop_token stop) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock asleep(mutex);
        while (!stop.stop_requested()) {
            wake.wait_for(asleep, stop, m_options.maintenance_interval, [] { return false; });
            if (!stop.stop_requested())
                maintain(stop);
        }
    });
}

}  // namespace hearth::engine
