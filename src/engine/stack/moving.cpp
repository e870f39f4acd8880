// How entries move between tiers: up when used, down when evicted, and either way by hand.

#include "engine/stack/stack.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>

namespace hearth::engine {

const std::string* Stack::promote_after_hit(std::size_t tier, const Key& key, const Found& found)
{
    Resident resident(key, found.bytes, std::chrono::duration<double>(found.cost).count());
    resident.set_uses(found.uses);
    std::shared_ptr<const Policy> policy;
    {
        const std::lock_guard lock(m_policy_mutex);
        policy = m_promotion[tier];
    }
    const std::size_t to = m_tiers[tier].above;
    if (to == k_none || !policy->promote(resident))
        return nullptr;
    if (!store_in(to, key, found.as_entry()))
        return nullptr;  // it does not fit up there: it stays where it is
    m_counters.add<&TierStats::promotions>(to);
    if (!m_tiers[tier].keeps_its_copy)
        m_tiers[tier]->remove(key);
    return &m_tiers[to].name;
}

// The first bundle below a tier that has this, or none.
std::size_t Stack::bundle_with(std::size_t below, const Key& key)
{
    for (std::size_t i = below + 1; i < m_tiers.size(); ++i)
        if (m_tiers[i].traits.fixed && m_tiers[i]->contains(key))
            return i;
    return k_none;
}

// After a hit in a remote, later lookups hit here: like a new entry, it goes into the fastest tier that takes it, and
// into all persistent ones before that remote, other remotes included. Returns the fastest that has it now, or none.
const std::string* Stack::bring_home(std::size_t tier, const Key& key, const Entry& entry)
{
    const std::string* fastest = nullptr;
    bool in_fast = false;
    for (std::size_t i = 0; i < tier; ++i) {
        const TierTraits& traits = m_tiers[i].traits;
        if (!traits.writable || (!traits.persistent && in_fast) || !store_in(i, key, entry))
            continue;
        m_counters.add<&TierStats::promotions>(i);
        in_fast |= !traits.persistent;
        fastest = fastest ? fastest : &m_tiers[i].name;
    }
    return fastest;
}

void Stack::settle_victims(std::size_t tier, std::vector<Victim>&& victims)
{
    for (const Victim& victim : victims) {
        m_counters.add<&TierStats::evictions>(tier);
        std::size_t lower = demote_victim(tier, victim);
        if (lower == k_none)
            lower = bundle_with(tier, victim.key);
        if (m_options.on_evict)
            tell_of({victim.key, victim.bytes, victim.cause, m_tiers[tier].name,
                     lower == k_none ? std::string{} : m_tiers[lower].name});
    }
}

// The slower tier that has it now, or none.
std::size_t Stack::demote_victim(std::size_t tier, const Victim& victim)
{
    for (std::size_t i = tier + 1; i < m_tiers.size() && victim.cause != EvictionCause::age; ++i) {
        if (!m_tiers[i].takes_victims)
            continue;
        if (m_tiers[i]->contains(victim.key))
            return i;
        // A disk has no need of what a bundle holds.
        if (const std::size_t bundle = m_tiers[i].traits.persistent ? bundle_with(i, victim.key) : k_none;
            bundle != k_none)
            return bundle;
        if (victim.entry && store_in(i, victim.key, *victim.entry)) {
            m_counters.add<&TierStats::demotions>(tier);
            return i;
        }
    }
    return k_none;
}

// If the owner's callback throws, the store must still complete, and those who wait for a compile must not be left
// waiting.
void Stack::tell_of(const Eviction& eviction)
try {
    m_options.on_evict(eviction);
} catch (const std::exception& thrown) {
    log_once(m_tiers.size(), fmt::format("The on_evict callback threw: {}", thrown.what()));
} catch (...) {
    log_once(m_tiers.size(), "The on_evict callback threw something that is no std::exception.");
}

std::size_t Stack::fastest_with(const Key& key)
{
    const auto found =
        std::find_if(m_tiers.begin(), m_tiers.end(), [&](const Place& tier) { return tier->contains(key); });
    return found == m_tiers.end() ? k_none : static_cast<std::size_t>(found - m_tiers.begin());
}

MoveReport Stack::promote(const Key& key)
{
    const std::size_t from = fastest_with(key);
    if (from == k_none)
        return {};
    const std::size_t to = m_tiers[from].above;
    if (to == k_none)
        return {MoveReport::Outcome::already_top, m_tiers[from].name, {}, {}};
    MoveReport report = move(key, from, to);
    if (report.outcome == MoveReport::Outcome::moved) {
        m_counters.add<&TierStats::promotions>(to);
        if (!m_tiers[from].keeps_its_copy)
            m_tiers[from]->remove(key);
    }
    return report;
}

MoveReport Stack::demote(const Key& key)
{
    const std::size_t from = fastest_with(key);
    if (from == k_none)
        return {};
    std::size_t to = from + 1;
    while (to < m_tiers.size() && !m_tiers[to].takes_victims)
        ++to;
    if (to >= m_tiers.size())
        return {MoveReport::Outcome::already_bottom, m_tiers[from].name, {}, {}};
    MoveReport report = m_tiers[to]->contains(key)
                            ? MoveReport{MoveReport::Outcome::moved, m_tiers[from].name, m_tiers[to].name, {}}
                            : move(key, from, to);
    if (report.outcome == MoveReport::Outcome::moved)
        m_tiers[from]->remove(key);
    return report;
}

MoveReport Stack::move(const Key& key, std::size_t from, std::size_t to)
{
    MoveReport report{MoveReport::Outcome::not_found, m_tiers[from].name, m_tiers[to].name, {}};
    const Found found = m_tiers[from]->peek(key);
    if (!found)
        return report;
    const Result<StoreReport> stored = store_in(to, key, found.as_entry());
    if (stored) {
        report.outcome = MoveReport::Outcome::moved;
    } else {
        report.outcome =
            stored.error().code == Code::too_large ? MoveReport::Outcome::does_not_fit : MoveReport::Outcome::refused;
        report.reason = stored.error().message;
    }
    return report;
}

}  // namespace hearth::engine
