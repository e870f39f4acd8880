#include "engine/stack/stack.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "format/acceptance.hpp"
#include "policy/guarded_policy.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::engine {

namespace {

// A lookup that misses in several tiers reports the most telling of their reasons.
Miss more_telling(Miss a, Miss b)
{
    const auto weight = [](Miss why) {
        switch (why) {
        case Miss::absent:
            return 0;
        case Miss::past_the_cache:
            return 1;
        case Miss::outage:
        case Miss::timeout:
            return 2;
        case Miss::expired:
            return 3;
        case Miss::other_version:
            return 4;
        case Miss::corrupt:
            return 5;
        case Miss::untrusted:
            return 6;
        }
        return 0;
    };
    return weight(b) > weight(a) ? b : a;
}

// After a timeout it is not known either whether the server has the entry.
bool is_outage(Miss why)
{
    return why == Miss::outage || why == Miss::timeout;
}

}  // namespace

Stack::Stack(const EngineOptions& options, const Tiers& tiers, Counters& counters, Statistics& statistics,
             std::function<void()> needs_upkeep)
    : m_counters(counters), m_tiers(tiers), m_options(options), m_statistics(statistics),
      m_credits(tiers, *options.clock), m_needs_upkeep(std::move(needs_upkeep))
{
    for (const Place& tier : tiers)
        m_promotion.push_back(policy::in_tier(options.policy, tier.name)());
    if (tiers.size() != 0) {
        m_top = dynamic_cast<resident::ArtifactsAtHand*>(tiers[0].bare);
        m_top_name = &tiers[0].name;
    }
}

void Stack::log_once(std::size_t tier, const std::string& message)
{
    if (!m_options.log)
        return;
    if (!m_logged[std::min(tier, m_logged.size() - 1)].exchange(true, std::memory_order_relaxed))
        m_options.log(LogLevel::warning, message);
}

void Stack::tell_of_throw(const char* what) noexcept
try {
    log_once(m_tiers.size(), fmt::format("{} failed: {}", what, what_was_thrown()));
} catch (...) {
    return;  // there is no memory even to say so
}

// Past the GuardedTier, whose call would cost a hit in memory a tenth of its time.
[[gnu::always_inline]] inline resident::HeldArtifact Stack::find_on_top(const Key& key, Miss& why)
try {
    return m_top->find_held(key, why);
} catch (...) {
    tell_of_throw("A lookup");
    why = Miss::outage;
    return {};
}

Lookup Stack::find(const Key& key)
{
    // This path serves a hit in memory that is not timed, which is nearly every hit, and nothing else.
    Counters::Mine mine = m_counters.mine();
    if (m_top && !mine.time_next(0)) {
        Miss why = Miss::absent;
        const resident::HeldArtifact held = find_on_top(key, why);
        if (held.node) {
            mine.hit(0, held.node->cost, held.node->compiler);
            return {ArtifactLease(held.slot, held.node->artifact), m_top_name};
        }
        return find_from(1, key, failed_find(0, why, Miss::absent));
    }
    return find_from(0, key, Miss::absent);
}

Lookup Stack::peek(const Key& key, Reach reach)
{
    Miss why = Miss::absent;
    for (const Place& tier : m_tiers) {
        if (reach == Reach::this_machine && tier.traits.remote)
            continue;
        Found found = tier->peek(key);
        if (found)
            return {std::move(found.artifact), &tier.name};
        why = more_telling(why, found.why);
    }
    return Lookup(why);
}

Lookup Stack::peek_here(const Key& key, EntryKind kind)
{
    Lookup found = peek(key, Reach::this_machine);
    return found && kind == EntryKind::derived && !format::is_of_this_machine(*found) ? Lookup(Miss::untrusted)
                                                                                      : std::move(found);
}

Lookup Stack::find_from(std::size_t first, const Key& key, Miss why)
{
    Lookup found = find_among(first, m_tiers.size(), key, why);
    if (!found)
        count_miss(found.why());
    return found;
}

Lookup Stack::find_among(std::size_t first, std::size_t end, const Key& key, Miss why)
{
    for (std::size_t i = first; i < end; ++i) {
        // While a server is down, a lookup costs no more than without a server.
        if (m_tiers[i].remote && m_tiers[i].remote->resting()) {
            why = failed_find(i, Miss::outage, why);
            continue;
        }
        const std::uint64_t start = base::monotonic_ns();
        const Writes::Ticket read = m_writes.now();
        Found found = m_tiers[i]->find(key);
        if (!found) {
            if (!is_outage(found.why))
                m_counters.miss_took(i, base::monotonic_ns() - start);
            why = failed_find(i, found.why, why);
            continue;
        }
        m_counters.mine().hit(i, found.cost, found.compiler);
        const std::uint64_t now = base::monotonic_ns();
        m_counters.took(i, now - start);
        m_statistics.write_now_and_then(now);
        const std::string* promoted_to = i == 0                     ? nullptr
                                         : m_tiers[i].traits.remote ? bring_home(i, key, found.as_entry(), read)
                                                                    : promote_after_hit(i, key, found, read);
        return {std::move(found.artifact), &m_tiers[i].name, promoted_to};
    }
    return Lookup(why);
}

void Stack::count_miss(Miss why)
{
    if (is_outage(why))
        m_counters.add<&Stats::outages>();
    else
        m_counters.miss(why);
}

// Counts the failure, and returns the more telling of the two reasons.
Miss Stack::failed_find(std::size_t tier, Miss why, Miss before)
{
    if (!is_outage(why))
        m_counters.add<&TierStats::misses>(tier);
    if (why == Miss::absent)
        return before;
    if (why == Miss::corrupt || why == Miss::untrusted)
        m_counters.add<&TierStats::corrupt>(tier);
    if (is_outage(why)) {
        m_counters.add<&TierStats::outages>(tier);
        if (m_options.log && !m_logged[tier].load(std::memory_order_relaxed))
            log_once(tier,
                     fmt::format("Tier \"{}\" cannot be read. The program goes on without it.", m_tiers[tier].name));
    }
    return more_telling(before, why);
}

Stack::Stored Stack::store_in(std::size_t tier, const Key& key, const Entry& entry, const device::Placement* placement)
{
    const Place& place = m_tiers[tier];
    std::vector<Victim> gone;
    Result<StoreReport> result = placement ? place.device->store_at(key, entry, *placement, place.victims, gone)
                                           : place->store(key, entry, place.victims, gone);
    return {std::move(result), std::move(gone)};
}

Result<StoreReport> Stack::settle_store(std::size_t tier, Stored stored, Writes::Ticket read)
{
    settle_victims(tier, std::move(stored.gone), read);
    Result<StoreReport>& result = stored.result;
    if (!result) {
        const Code code = result.error().code;
        if (code != Code::too_large && code != Code::no_space && code != Code::unavailable && code != Code::denied)
            m_counters.add<&TierStats::outages>(tier);
        const TierTraits& traits = m_tiers[tier].traits;
        // That a fast tier is full of what is worth more is as it should be.
        const bool full = code == Code::no_space && !traits.persistent;
        // That a disk of signed entries takes no others was told when it was opened.
        const bool is_unsigned = code == Code::denied && traits.demands_signatures && !traits.remote;
        if (code != Code::too_large && code != Code::unavailable && !full && !is_unsigned)
            log_once(tier, result.error().message);
        return std::move(result);
    }
    if (!m_tiers[tier].traits.remote)  // those count what has arrived
        m_counters.add<&TierStats::stores>(tier);
    if (m_tiers[tier].traits.persistent)
        m_needs_upkeep();
    return std::move(result);
}

Error Stack::not_in_on_evict()
{
    return error(Code::invalid_argument, "{}",
                 "on_evict must not change the cache that calls it: what is stored there may evict something else. Do "
                 "it later, with run_later().");
}

// What was read from a store without a trusted signature, and perhaps changed, is not signed here. An insert stores it
// or removes what other tiers of this machine have under its key: where entries are signed, one that is would be gone.
Status Stack::may_be_unsigned(const Key& key, std::size_t only) const
{
    for (std::size_t i = 0; i < m_tiers.size(); ++i)
        if (const TierTraits& traits = m_tiers[i].traits;
            traits.demands_signatures && traits.writable && (only == k_none || only == i || !traits.remote))
            return error(Code::invalid_argument,
                         "Entry {} was read from a store without a trusted signature, and tier \"{}\" takes signed "
                         "entries only. Compile it, or insert an Artifact of your own.",
                         key.hex(), m_tiers[i].name);
    return {};
}

Result<InsertReport> Stack::insert(const Key& key, Artifact artifact, const InsertOptions& options,
                                   const device::Placement* placement)
{
    if (!may_change())
        return not_in_on_evict();
    if (artifact.created == WallTime{})
        artifact.created = m_options.clock->now();
    if (artifact.metadata.writer.empty())
        artifact.metadata.writer = HEARTH_VERSION;
    if (artifact.origin == Origin::unknown)
        artifact.origin = Origin::here;
    if (options.kind != EntryKind::derived && format::is_of_this_machine(artifact))
        artifact.metadata.compiler.clear();  // whoever says so
    if (options.kind == EntryKind::derived && artifact.metadata.compiler.empty())
        artifact.metadata.compiler = format::k_of_this_machine;
    const std::size_t only = options.tier.empty() ? k_none : m_tiers.named(options.tier);
    if (!options.tier.empty() && only == k_none)
        return error(Code::not_found, "There is no tier \"{}\". admin::tiers() lists those there are.", options.tier);

    if (artifact.origin == Origin::elsewhere)
        HEARTH_TRY(may_be_unsigned(key, only));
    const Entry entry(std::make_shared<const Artifact>(std::move(artifact)));
    Writes::Ticket before = 0;
    std::vector<std::optional<Stored>> stores = write(key, entry, options.kind, {only, placement}, before);

    // Victims are dealt with now that the write has ended: on_evict may take its time.
    InsertReport report;
    std::optional<Error> first_error;
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        if (!stores[i])
            continue;
        if (const Result<StoreReport> stored = settle_store(i, *std::move(stores[i]), before)) {
            report.tiers.push_back(m_tiers[i].name);
        } else {
            report.refused.push_back(stored.error().message);
            if (!first_error || first_error->code == Code::too_large)
                first_error = stored.error();
        }
    }
    if (report.tiers.empty())
        return first_error.value_or(
            error(Code::unavailable, "No tier can be written. Check `hearth doctor` for the reason."));
    if (entry.artifact()->expires != WallTime{})
        m_needs_upkeep();
    if (options.kind == EntryKind::result)
        m_counters.add<&Stats::stores>();
    return report;
}

// What each tier said that was asked to store it. `before`: a ticket from before its victims were evicted, and no older
// than need be, since a victim that was written since is not demoted.
std::vector<std::optional<Stack::Stored>> Stack::write(const Key& key, const Entry& entry, EntryKind kind,
                                                       const Where& where, Writes::Ticket& before)
{
    std::vector<std::optional<Stored>> stores(m_tiers.size());
    Writes::Write writing(m_writes, key);
    before = m_writes.now();
    bool in_fast = false;
    bool in_any = false;
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        const TierTraits& traits = m_tiers[i].traits;
        const bool wanted = where.only != k_none ? i == where.only : traits.writable && (traits.persistent || !in_fast);
        // Facts of this machine, and failures, which may be this machine's too, are no business of servers.
        if (!wanted || (traits.remote && (kind == EntryKind::derived || entry.artifact()->failed())))
            continue;
        stores[i] = store_in(i, key, entry, where.placement);
        in_fast |= stores[i]->result.ok() && !traits.persistent;
        in_any |= stores[i]->result.ok();
    }
    // An older value must not be found in a tier that could not take the new one. (A remote is not waited for.)
    for (std::size_t i = 0; i < m_tiers.size() && in_any; ++i)
        if (!m_tiers[i].traits.remote && !(stores[i] && stores[i]->result.ok()))
            m_tiers[i]->remove(key);
    if (!in_any)
        writing.changed_nothing();
    return stores;
}

void Stack::refuse(const Lookup& found, const Key& key)
{
    const std::size_t tier = m_tiers.named(found.tier());
    if (tier != k_none)
        m_counters.add<&TierStats::corrupt>(tier);
    log_once(tier, fmt::format("Entry {} of tier \"{}\" is not what this command could have written, so it is not "
                               "used. Find out who may write there, and demand signatures: docs/security.md.",
                               key.hex(), found.tier()));
}

bool Stack::touch(const Key& key)
{
    std::uint32_t in_volatile = 0;
    bool on_disk = false;
    bool found = false;
    for (const Place& place : m_tiers) {
        if (place.traits.remote || !place->contains(key))
            continue;
        place->touch(key, 1);
        in_volatile += place.traits.persistent ? 0 : 1;
        on_disk |= place.traits.persistent && !place.traits.fixed;  // a bundle counts no uses
        found = true;
    }
    m_credits.used_once(key, in_volatile, on_disk);
    return found;
}

bool Stack::remove(const Key& key, Reach reach)
{
    if (!may_change()) {
        log_once(m_tiers.size(), not_in_on_evict().message);
        return false;
    }
    const Writes::Write writing(m_writes, key);
    bool removed = false;
    for (const Place& place : m_tiers)
        if (reach == Reach::everywhere || !place.traits.remote)
            removed |= place->remove(key);
    return removed;
}

void Stack::clear(Cleared what)
{
    if (!may_change())
        return log_once(m_tiers.size(), not_in_on_evict().message);
    const Writes::WriteAll writing(m_writes);
    for (const Place& place : m_tiers)
        if (what == Cleared::memory ? !place.traits.persistent : !place.traits.remote)
            place->clear();
}

std::vector<TierStatus> Stack::status()
{
    std::vector<TierStatus> all;
    for (const Place& place : m_tiers)
        all.push_back({place.name, place.traits, place->limits(), place->usage()});
    return all;
}

Status Stack::set_limits(std::string_view tier, const Limits& limits)
{
    const std::size_t index = m_tiers.named(tier);
    if (index == k_none)
        return error(Code::not_found, "There is no tier \"{}\".", tier);
    if (!may_change())
        return not_in_on_evict();
    const Writes::Ticket read = m_writes.now();
    settle_victims(index, m_tiers[index]->set_limits(limits, m_tiers[index].victims), read);
    if (limits.max_age.count() > 0)
        m_needs_upkeep();
    return {};
}

Status Stack::set_policy(std::string_view tier, const PolicyFactory& policy)
{
    const std::size_t index = m_tiers.named(tier);
    if (index == k_none)
        return error(Code::not_found, "There is no tier \"{}\".", tier);
    // Asked once before the tier asks: what makes nothing now is an error, and later, gdsf() takes its place.
    if (!policy::makes_one(policy))
        return error(Code::invalid_argument,
                     "Tier \"{}\" keeps its policy: what was given makes none. Give a function that returns one, such "
                     "as gdsf().",
                     tier);
    const PolicyFactory guarded = policy::in_tier(policy::guarded(policy, m_options.log), std::string(tier));
    m_tiers[index]->set_policy(guarded);
    std::shared_ptr<const Policy> fresh = guarded();
    const std::lock_guard lock(m_policy_mutex);
    m_promotion[index] = std::move(fresh);
    return {};
}

}  // namespace hearth::engine
