// What is done to the cache by hand: verifying, collecting, clearing.

#include "base/problems.hpp"
#include "engine/parts.hpp"
#include "hearth/admin.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

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
        all.untrusted += part.untrusted;
        all.stray += part.stray;
        all.removed += part.removed;
        all.accounting_exact &= part.accounting_exact;
        cache.parts().counters.add<&TierStats::corrupt>(i, part.corrupt);
        for (const std::string& problem : part.problems)
            base::tell(all.problems, problem);
    }
    return all;
}

namespace {

// The goal, and the tier's own limits where those are lower.
EvictTo within_limits(EvictTo goal, const Limits& limits)
{
    const auto lower = [](std::optional<std::uint64_t>& most, std::uint64_t limit) {
        if (limit != 0)
            most = std::min(most.value_or(limit), limit);
    };
    lower(goal.max_bytes, limits.max_bytes);
    lower(goal.max_entries, limits.max_entries);
    return goal;
}

bool is_collected(const engine::Place& tier)
{
    return tier.keeps_here && tier.traits.writable;
}

}  // namespace

std::vector<GcCandidate> admin::would_gc(Cache& cache, const EvictTo& goal)
{
    cache.parts().stack.credits().tell();
    std::vector<GcCandidate> all;
    for (const engine::Place& tier : cache.parts().tiers) {
        if (!is_collected(tier))
            continue;
        std::unordered_set<Key> expired;
        for (const Victim& victim : tier->would_evict({}))
            expired.insert(victim.key);
        for (const Victim& victim : tier->would_evict(within_limits(goal, tier->limits()))) {
            std::optional<EntryRow> row = tier->info(victim.key);
            if (!row)
                continue;  // it has gone meanwhile
            using Why = GcCandidate::Why;
            all.push_back({*std::move(row), expired.contains(victim.key)         ? Why::expired
                                            : victim.cause == EvictionCause::age ? Why::unused
                                                                                 : Why::over_limit});
        }
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
        // on_evict would be told of what is evicted here, and might ask for more of it.
        if (!is_collected(tier) || !stack.may_change())
            continue;
        const TierUsage before = tier->usage();
        const engine::Writes::Ticket read = stack.writes().now();
        stack.settle_victims(i, tier->maintain({}), read);
        stack.settle_victims(i, tier->evict_to(within_limits(goal, tier->limits()), progress), read);
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
    stack.clear(engine::Stack::Cleared::memory);
}

void admin::clear(Cache& cache)
{
    engine::Stack& stack = cache.parts().stack;
    stack.credits().forget();
    stack.clear(engine::Stack::Cleared::this_machine);
}

}  // namespace hearth
