// What is in the cache: one entry, all of them, those used most or last.

#include "engine/stack/stack.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace hearth::engine {

namespace {

// Uses that Credits has told the disk of are known to both kinds of tiers, and must not be counted twice.
struct UsesOfTiers {
    std::uint32_t in_volatile = 0;
    std::uint32_t in_persistent = 0;

    void add(const TierTraits& traits, std::uint32_t uses)
    {
        (traits.persistent ? in_persistent : in_volatile) += uses;
    }
};

}  // namespace

std::vector<std::string> Stack::where(const Key& key)
{
    std::vector<std::string> names;
    for (const Place& tier : m_tiers)
        if (tier->contains(key))
            names.push_back(tier.name);
    return names;
}

std::optional<EntryRow> Stack::info(const Key& key)
{
    std::optional<EntryRow> row;
    UsesOfTiers uses;
    for (const Place& tier : m_tiers) {
        if (row && tier.traits.remote)
            continue;  // a server is not asked for what is known already
        std::optional<EntryRow> here = tier->info(key);
        if (!here)
            continue;
        uses.add(tier.traits, here->uses);
        if (!row)
            row = std::move(here);
        else
            row->last_used = std::max(row->last_used, here->last_used);
    }
    if (row)
        row->uses = uses.in_persistent + m_credits.not_told(key, uses.in_volatile);
    return row;
}

void Stack::list(const std::function<bool(const EntryRow&)>& visit)
{
    std::unordered_set<Key> seen;
    bool go_on = true;
    for (std::size_t i = 0; i < m_tiers.size() && go_on; ++i) {
        if (m_tiers[i].traits.remote)
            continue;
        const bool last = i + 1 == m_tiers.size();
        m_tiers[i]->for_each([&](const EntryRow& row) {
            const bool fresh = last ? !seen.contains(row.key) : seen.insert(row.key).second;
            go_on = !fresh || visit(row);
            return go_on;
        });
    }
}

std::vector<EntryRow> Stack::hottest(std::size_t count)
{
    struct Used {
        UsesOfTiers uses;
        WallTime last_used{};
    };
    std::unordered_map<Key, Used> used;
    for (const Place& tier : m_tiers) {
        if (tier.traits.remote)
            continue;
        tier->for_each_use([&](const EntryUse& use) {
            Used& known = used[use.key];
            known.last_used = std::max(known.last_used, use.last_used);
            known.uses.add(tier.traits, use.uses);
            return true;
        });
    }
    std::vector<EntryUse> sorted;
    sorted.reserve(used.size());
    for (const auto& [key, known] : used)
        sorted.push_back(
            {key, known.uses.in_persistent + m_credits.not_told(key, known.uses.in_volatile), known.last_used});
    const auto hotter = [](const EntryUse& a, const EntryUse& b) {
        return std::tie(a.uses, a.last_used, a.key) > std::tie(b.uses, b.last_used, b.key);
    };
    std::sort(sorted.begin(), sorted.end(), hotter);
    // Only those that are shown are looked at. One that has gone meanwhile makes room for the next.
    std::vector<EntryRow> rows;
    for (std::size_t i = 0; i < sorted.size() && rows.size() < count; ++i)
        if (std::optional<EntryRow> row = info(sorted[i].key))
            rows.push_back(*std::move(row));
    return rows;
}

std::optional<WallTime> Stack::longest_unused(std::string_view tier)
{
    const std::size_t place = m_tiers.named(tier);
    std::optional<WallTime> earliest;
    if (place == k_none || m_tiers[place].remote)
        return earliest;
    m_tiers[place]->for_each_use([&](const EntryUse& use) {
        const WallTime last = std::max(use.last_used, use.created);
        if (last != WallTime{} && (!earliest || last < *earliest))
            earliest = last;
        return true;
    });
    return earliest;
}

std::vector<EntryRow> Stack::recent(std::size_t count)
{
    // A copy in another tier may have been used later than the first.
    std::unordered_map<Key, WallTime> when;
    for (const Place& tier : m_tiers)
        if (!tier.traits.remote)
            tier->for_each([&](const EntryRow& row) {
                WallTime& known = when[row.key];
                known = std::max({known, row.last_used, row.created});
                return true;
            });
    std::vector<std::pair<WallTime, Key>> sorted;
    sorted.reserve(when.size());
    for (const auto& [key, time] : when)
        sorted.emplace_back(time, key);
    std::sort(sorted.begin(), sorted.end(), std::greater<>{});
    std::vector<EntryRow> rows;
    for (std::size_t i = 0; i < sorted.size() && rows.size() < count; ++i)
        if (std::optional<EntryRow> row = info(sorted[i].second))
            rows.push_back(*std::move(row));
    return rows;
}

}  // namespace hearth::engine
