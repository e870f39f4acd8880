// How entries move between tiers: up when used, down when evicted, and either way by hand.

#include "base/error.hpp"
#include "base/telling.hpp"
#include "engine/stack/stack.hpp"

#include <algorithm>

namespace hearth::engine {

bool Stack::may_change() const noexcept
{
    return !base::Telling::of(this);
}

Result<StoreReport> Stack::copy_in(std::size_t tier, const Key& key, const Entry& entry, Writes::Ticket read,
                                   std::size_t moves_from)
{
    if (!may_change())
        return not_in_on_evict();
    const Writes::Ticket before = m_writes.now();
    const auto store = [&]() -> Stored {
        const Writes::Copy copy(m_writes, key, read);
        if (!copy)
            return {error(Code::unavailable, "Entry {} was written while it was copied into tier \"{}\".", key.hex(),
                          m_tiers[tier].name)};
        Stored stored = store_in(tier, key, entry);
        if (stored.result && moves_from != k_none)
            m_tiers[moves_from]->remove(key);
        return stored;
    };
    return settle_store(tier, store(), before);
}

const std::string* Stack::promote_after_hit(std::size_t tier, const Key& key, const Found& found, Writes::Ticket read)
{
    Resident resident(key, found.bytes, std::chrono::duration<double>(found.cost).count());
    resident.set_uses(found.uses);
    std::shared_ptr<const Policy> policy;
    {
        const std::lock_guard lock(m_policy_mutex);
        policy = m_promotion[tier];
    }
    const std::size_t to = m_tiers[tier].above;
    if (to == k_none || !may_change() || !policy->promote(resident))
        return nullptr;
    if (!copy_in(to, key, found.as_entry(), read, m_tiers[tier].keeps_its_copy ? k_none : tier))
        return nullptr;  // it does not fit up there: it stays where it is
    m_counters.add<&TierStats::promotions>(to);
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
const std::string* Stack::bring_home(std::size_t tier, const Key& key, const Entry& entry, Writes::Ticket read)
{
    const std::string* fastest = nullptr;
    bool in_fast = false;
    for (std::size_t i = 0; i < tier; ++i) {
        const TierTraits& traits = m_tiers[i].traits;
        if (!traits.writable || (!traits.persistent && in_fast) || !copy_in(i, key, entry, read))
            continue;
        m_counters.add<&TierStats::promotions>(i);
        in_fast |= !traits.persistent;
        fastest = fastest ? fastest : &m_tiers[i].name;
    }
    return fastest;
}

void Stack::settle_victims(std::size_t tier, std::vector<Victim>&& victims, Writes::Ticket read)
{
    for (const Victim& victim : victims) {
        m_counters.add<&TierStats::evictions>(tier);
        std::size_t lower = demote_victim(tier, victim, read);
        if (lower == k_none)
            lower = bundle_with(tier, victim.key);
        if (m_options.on_evict)
            tell_of({victim.key, victim.bytes, victim.cause, m_tiers[tier].name,
                     lower == k_none ? std::string{} : m_tiers[lower].name});
    }
}

// The slower tier that has it now, or none.
std::size_t Stack::demote_victim(std::size_t tier, const Victim& victim, Writes::Ticket read)
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
        if (victim.entry && copy_in(i, victim.key, *victim.entry, read)) {
            m_counters.add<&TierStats::demotions>(tier);
            return i;
        }
    }
    return k_none;
}

// If the owner's callback throws, the store must still complete, and those who wait for a compile must not be left
// waiting.
void Stack::tell_of(const Eviction& eviction)
{
    const base::Telling telling(this);
    attempt("The on_evict callback", [&] { m_options.on_evict(eviction); });
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
    MoveReport report = move(key, from, to, !m_tiers[from].keeps_its_copy);
    if (report.outcome == MoveReport::Outcome::moved)
        m_counters.add<&TierStats::promotions>(to);
    return report;
}

MoveReport Stack::demote(const Key& key)
{
    const Writes::Ticket read = m_writes.now();
    const std::size_t from = fastest_with(key);
    if (from == k_none)
        return {};
    std::size_t to = from + 1;
    while (to < m_tiers.size() && !m_tiers[to].takes_victims)
        ++to;
    if (to >= m_tiers.size())
        return {MoveReport::Outcome::already_bottom, m_tiers[from].name, {}, {}};
    if (!m_tiers[to]->contains(key))
        return move(key, from, to, true);
    if (!may_change())
        return {MoveReport::Outcome::refused, m_tiers[from].name, m_tiers[to].name, not_in_on_evict().message};
    if (const Writes::Copy copy(m_writes, key, read); copy)
        m_tiers[from]->remove(key);
    return {MoveReport::Outcome::moved, m_tiers[from].name, m_tiers[to].name, {}};
}

MoveReport Stack::move(const Key& key, std::size_t from, std::size_t to, bool leaves)
{
    const Writes::Ticket read = m_writes.now();
    MoveReport report{MoveReport::Outcome::not_found, m_tiers[from].name, m_tiers[to].name, {}};
    const Found found = m_tiers[from]->peek(key);
    if (!found)
        return report;
    const Result<StoreReport> stored = copy_in(to, key, found.as_entry(), read, leaves ? from : k_none);
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
