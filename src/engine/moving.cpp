// How entries move between tiers: up when used, down when evicted, and either way by hand.

#include "engine/engine.hpp"

#include <exception>
#include <fmt/format.h>

namespace hearth::engine {

const std::string* Engine::promote_after_hit(std::size_t tier, const Key& key, const Found& found)
{
    Resident resident(key, found.bytes, std::chrono::duration<double>(found.cost).count());
    resident.set_uses(found.uses);
    std::shared_ptr<const Policy> policy;
    {
        const std::lock_guard lock(m_policy_mutex);
        policy = m_promotion[tier];
    }
    const std::size_t to = above(tier);
    if (to == k_none || !policy->promote(resident))
        return nullptr;
    if (!store_in(to, key, found.as_entry()))
        return nullptr;  // it does not fit up there: it stays where it is
    m_counters.add(to, TierCount::promotions);
    if (!keeps_its_copy(tier))
        m_tiers[tier]->remove(key);
    return &m_names[to];
}

// Where what a tier answers moves up to, or none: past tiers that take nothing in. A bundle lies on this machine as the
// disk does: what it holds goes past what persists.
std::size_t Engine::above(std::size_t tier) const
{
    const bool past_disks = m_tiers[tier]->traits().fixed;
    for (std::size_t to = tier; to-- > 0;)
        if (const TierTraits traits = m_tiers[to]->traits(); traits.writable && !(past_disks && traits.persistent))
            return to;
    return k_none;
}

// The first bundle below a tier that has this, or none.
std::size_t Engine::bundle_with(std::size_t below, const Key& key)
{
    for (std::size_t i = below + 1; i < m_tiers.size(); ++i)
        if (m_tiers[i]->traits().fixed && m_tiers[i]->contains(key))
            return i;
    return k_none;
}

// What a remote has answered is answered here from now on: as a new entry it goes into the fastest tier that takes it,
// and into all that persist, remotes on the way included. The fastest that has it now, or none.
const std::string* Engine::bring_home(std::size_t tier, const Key& key, const Entry& entry)
{
    const std::string* fastest = nullptr;
    bool in_fast = false;
    for (std::size_t i = 0; i < tier; ++i) {
        const TierTraits traits = m_tiers[i]->traits();
        if (!traits.writable || (!traits.persistent && in_fast) || !store_in(i, key, entry))
            continue;
        m_counters.add(i, TierCount::promotions);
        in_fast |= !traits.persistent;
        fastest = fastest ? fastest : &m_names[i];
    }
    return fastest;
}

// Of an entry that moves up: what persists does, and what is used where it lies; any other hands the entry over.
bool Engine::keeps_its_copy(std::size_t tier) const
{
    const TierTraits traits = m_tiers[tier]->traits();
    return traits.persistent || traits.in_place;
}

bool Engine::something_slower_is_writable(std::size_t tier) const
{
    // A remote has got everything when it was made; what a tier lets go of is not news to it.
    for (std::size_t i = tier + 1; i < m_tiers.size(); ++i)
        if (m_tiers[i]->traits().writable && !m_tiers[i]->traits().remote)
            return true;
    return false;
}

void Engine::settle_victims(std::size_t tier, std::vector<Victim>&& victims)
{
    for (Victim& victim : victims) {
        m_counters.add(tier, TierCount::evictions);
        std::size_t lower = k_none;
        for (std::size_t i = tier + 1; i < m_tiers.size() && victim.cause != EvictionCause::age; ++i) {
            if (!m_tiers[i]->traits().writable || m_tiers[i]->traits().remote)
                continue;
            if (m_tiers[i]->contains(victim.key)) {
                lower = i;
                break;
            }
            // A disk has no need of what a bundle holds.
            if (m_tiers[i]->traits().persistent && (lower = bundle_with(i, victim.key)) != k_none)
                break;
            if (victim.entry && store_in(i, victim.key, *victim.entry)) {
                m_counters.add(tier, TierCount::demotions);
                lower = i;
                break;
            }
        }
        if (lower == k_none)
            lower = bundle_with(tier, victim.key);
        if (m_options.on_evict)
            tell_of({victim.key, victim.bytes, victim.cause, m_names[tier],
                     lower == k_none ? std::string{} : m_names[lower]});
    }
}

// What the owner's callback throws must not end a store half way, nor leave those who wait for a make waiting.
void Engine::tell_of(const Eviction& eviction)
try {
    m_options.on_evict(eviction);
} catch (const std::exception& thrown) {
    log_once(m_tiers.size(), fmt::format("The on_evict callback threw: {}", thrown.what()));
} catch (...) {
    log_once(m_tiers.size(), "The on_evict callback threw something that is no std::exception.");
}

MoveReport Engine::promote(const Key& key)
{
    const std::size_t from = fastest_with(key);
    if (from == k_none)
        return {};
    const std::size_t to = above(from);
    if (to == k_none)
        return {MoveReport::Outcome::already_top, m_names[from], {}, {}};
    MoveReport report = move(key, from, to);
    if (report.outcome == MoveReport::Outcome::moved) {
        m_counters.add(to, TierCount::promotions);
        if (!keeps_its_copy(from))
            m_tiers[from]->remove(key);
    }
    return report;
}

MoveReport Engine::demote(const Key& key)
{
    const std::size_t from = fastest_with(key);
    if (from == k_none)
        return {};
    std::size_t to = from + 1;
    while (to < m_tiers.size() && (!m_tiers[to]->traits().writable || m_tiers[to]->traits().remote))
        ++to;
    if (to >= m_tiers.size())
        return {MoveReport::Outcome::already_bottom, m_names[from], {}, {}};
    MoveReport report = m_tiers[to]->contains(key)
                            ? MoveReport{MoveReport::Outcome::moved, m_names[from], m_names[to], {}}
                            : move(key, from, to);
    if (report.outcome == MoveReport::Outcome::moved)
        m_tiers[from]->remove(key);
    return report;
}

MoveReport Engine::move(const Key& key, std::size_t from, std::size_t to)
{
    MoveReport report{MoveReport::Outcome::not_found, m_names[from], m_names[to], {}};
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
