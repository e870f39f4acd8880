// What is in the cache: one entry, all of them, the hottest.

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
    std::unordered_map<Key, std::pair<EntryRow, UsesOfTiers>> rows;
    for (const Place& tier : m_tiers) {
        if (tier.traits.remote)
            continue;
        tier->for_each([&](const EntryRow& row) {
            auto& [known, uses] = rows.try_emplace(row.key, row, UsesOfTiers{}).first->second;
            known.last_used = std::max(known.last_used, row.last_used);
            uses.add(tier.traits, row.uses);
            return true;
        });
    }
    std::vector<EntryRow> sorted;
    sorted.reserve(rows.size());
    for (auto& [key, row_and_uses] : rows) {
        auto& [row, uses] = row_and_uses;
        row.uses = uses.in_persistent + m_credits.not_told(key, uses.in_volatile);
        sorted.push_back(std::move(row));
    }
    const auto hotter = [](const EntryRow& a, const EntryRow& b) {
        return std::tie(a.uses, a.last_used, a.key) > std::tie(b.uses, b.last_used, b.key);
    };
    const std::size_t wanted = std::min(count, sorted.size());
    std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(wanted), sorted.end(), hotter);
    sorted.resize(wanted);
    return sorted;
}

}  // namespace hearth::engine
