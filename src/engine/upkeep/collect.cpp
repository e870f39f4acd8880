// What is done to the cache by hand: verifying, collecting, clearing.

#include "base/problems.hpp"
#include "engine/parts.hpp"
#include "hearth/admin.hpp"

#include <algorithm>

namespace hearth {

VerifyReport admin::verify(Cache& cache, Repair repair, const Progress& progress)
{
    VerifyReport all;
    const engine::Tiers& tiers = cache.parts().tiers;
    for (std::size_t i = 0; i < tiers.size(); ++i) {
        if (tiers[i].traits.remote)
            continue;
        const VerifyReport part = tiers[i]->verify(repair, progress);
        all.checked += part.checked;
        all.intact += part.intact;
        all.corrupt += part.corrupt;
        all.other_version += part.other_version;
        all.stray += part.stray;
        all.removed += part.removed;
        all.accounting_exact &= part.accounting_exact;
        cache.parts().counters.add<&TierStats::corrupt>(i, part.corrupt);
        for (const std::string& problem : part.problems)
            base::tell(all.problems, problem);
    }
    return all;
}

GcReport admin::gc(Cache& cache, const EvictTo& goal, const Progress& progress)
{
    engine::Stack& stack = cache.parts().stack;
    stack.credits().tell();  // or entries that are used in memory would look idle
    GcReport report;
    for (std::size_t i = 0; i < cache.parts().tiers.size(); ++i) {
        const engine::Place& tier = cache.parts().tiers[i];
        if (!tier.keeps_here || !tier.traits.writable)
            continue;
        const TierUsage before = tier->usage();
        const engine::Writes::Ticket read = stack.writes().now();
        stack.settle_victims(i, tier->maintain({}), read);
        stack.settle_victims(i, tier->evict_to(goal, progress), read);
        const TierUsage after = tier->usage();
        report.removed_entries += before.entries - std::min(before.entries, after.entries);
        report.removed_bytes += before.bytes - std::min(before.bytes, after.bytes);
        report.left.entries += after.entries;
        report.left.bytes += after.bytes;
        report.left.aside_bytes += after.aside_bytes;
    }
    return report;
}

void admin::clear_memory(Cache& cache)
{
    engine::Stack& stack = cache.parts().stack;
    stack.credits().tell();  // before they are forgotten with the entries
    stack.credits().forget();
    for (const engine::Place& tier : cache.parts().tiers)
        if (!tier.traits.persistent)
            tier->clear();
}

void admin::clear(Cache& cache)
{
    cache.parts().stack.credits().forget();
    for (const engine::Place& tier : cache.parts().tiers)
        if (!tier.traits.remote)
            tier->clear();
}

}  // namespace hearth
