// What is done to the cache by hand: verifying, collecting, clearing.

#include "base/problems.hpp"
#include "engine/parts.hpp"

#include <algorithm>

namespace hearth {

VerifyReport Cache::verify(Repair repair, const Progress& progress)
{
    VerifyReport all;
    const engine::Tiers& tiers = m_parts->tiers;
    for (std::size_t i = 0; i < tiers.size(); ++i) {
        if (tiers[i].traits.remote)
            continue;
        const VerifyReport part = tiers[i]->verify(repair, progress);
        all.checked += part.checked;
        all.intact += part.intact;
        all.corrupt += part.corrupt;
        all.incompatible += part.incompatible;
        all.stray += part.stray;
        all.removed += part.removed;
        all.accounting_exact &= part.accounting_exact;
        m_parts->counters.add<&TierStats::corrupt>(i, part.corrupt);
        for (const std::string& problem : part.problems)
            base::tell(all.problems, problem);
    }
    return all;
}

GcReport Cache::gc(const GcOptions& options, const Progress& progress)
{
    engine::Stack& stack = m_parts->stack;
    stack.credits().tell();  // or what memory has looks idle
    GcReport report;
    for (std::size_t i = 0; i < m_parts->tiers.size(); ++i) {
        const engine::Place& place = m_parts->tiers[i];
        if (!place.keeps_here || !place.traits.writable)
            continue;
        Tier& tier = *place.tier;
        const TierUsage before = tier.usage();
        stack.settle_victims(i, tier.maintain({}));
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
        stack.settle_victims(i, tier.set_limits(now, Victims::discard));
        tier.set_limits(usual, Victims::discard);
        const TierUsage after = tier.usage();
        report.removed_entries += before.entries - std::min(before.entries, after.entries);
        report.removed_bytes += before.bytes - std::min(before.bytes, after.bytes);
        report.left.entries += after.entries;
        report.left.bytes += after.bytes;
    }
    return report;
}

void Cache::clear_memory()
{
    engine::Stack& stack = m_parts->stack;
    stack.credits().tell();  // before they are forgotten with the entries
    stack.credits().forget();
    for (const engine::Place& tier : m_parts->tiers)
        if (!tier.traits.persistent)
            tier->clear();
}

void Cache::clear()
{
    m_parts->stack.credits().forget();
    for (const engine::Place& tier : m_parts->tiers)
        if (!tier.traits.remote)
            tier->clear();
}

}  // namespace hearth
