#include "engine/stack/stack.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"

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

}  // namespace

Stack::Stack(const EngineOptions& options, const Tiers& tiers, Counters& counters, Statistics& statistics,
             std::function<void()> lasting)
    : m_counters(counters), m_tiers(tiers), m_options(options), m_statistics(statistics),
      m_credits(tiers, *options.clock), m_lasting(std::move(lasting))
{
    for (std::size_t i = 0; i < tiers.size(); ++i)
        m_promotion.push_back(options.policy());
    if (tiers.size() != 0 && !tiers[0].traits.persistent) {
        m_plain_top = tiers[0].tier.get();
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

Lookup Stack::find(const Key& key)
{
    // This path serves a hit in memory that is not timed, which is nearly every hit, and nothing else.
    Counters::Mine mine = m_counters.mine();
    if (m_plain_top && !mine.time_next(0)) {
        Found found = m_plain_top->find(key);
        if (found) {
            mine.hit(0, found.cost);
            return {std::move(found.artifact), m_top_name};
        }
        return find_from(1, key, failed_find(0, found.why, Miss::absent));
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
        Found found = m_tiers[i]->find(key);
        if (!found) {
            why = failed_find(i, found.why, why);
            continue;
        }
        m_counters.mine().hit(i, found.cost);
        const std::uint64_t now = base::monotonic_ns();
        m_counters.took(i, now - start);
        m_statistics.write_now_and_then(now);
        const std::string* promoted_to = i == 0                     ? nullptr
                                         : m_tiers[i].traits.remote ? bring_home(i, key, found.as_entry())
                                                                    : promote_after_hit(i, key, found);
        return {std::move(found.artifact), &m_tiers[i].name, promoted_to};
    }
    return Lookup(why);
}

void Stack::count_miss(Miss why)
{
    // After a timeout it is not known either whether the server has the entry.
    if (why == Miss::outage || why == Miss::timeout)
        m_counters.add<&Stats::outages>();
    else
        m_counters.miss(why);
}

// Counts the failure, and returns the more telling of the two reasons.
Miss Stack::failed_find(std::size_t tier, Miss why, Miss before)
{
    if (why == Miss::absent)
        return before;
    if (why == Miss::corrupt || why == Miss::untrusted)
        m_counters.add<&TierStats::corrupt>(tier);
    if (why == Miss::outage || why == Miss::timeout) {
        m_counters.add<&TierStats::outages>(tier);
        if (m_options.log && !m_logged[tier].load(std::memory_order_relaxed))
            log_once(tier,
                     fmt::format("Tier \"{}\" cannot be read. The program goes on without it.", m_tiers[tier].name));
    }
    return more_telling(before, why);
}

Result<StoreReport> Stack::store_in(std::size_t tier, const Key& key, const Entry& entry)
{
    return settle_store(tier, m_tiers[tier]->store(key, entry, m_tiers[tier].victims));
}

Result<StoreReport> Stack::settle_store(std::size_t tier, Result<StoreReport> stored)
{
    if (!stored) {
        const Code code = stored.error().code;
        if (code != Code::too_large && code != Code::no_space && code != Code::unavailable)
            m_counters.add<&TierStats::outages>(tier);
        if (code != Code::too_large && code != Code::unavailable)
            log_once(tier, stored.error().message);
        return stored;
    }
    m_counters.add<&TierStats::stores>(tier);
    settle_victims(tier, std::move(stored->victims));
    if (m_tiers[tier].traits.persistent)
        m_lasting();
    return stored;
}

Result<InsertReport> Stack::insert(const Key& key, Artifact artifact, const InsertOptions& options)
{
    if (artifact.created == WallTime{})
        artifact.created = m_options.clock->now();
    if (options.kind == EntryKind::derived && artifact.metadata.compiler.empty())
        artifact.metadata.compiler = k_of_this_machine;
    const std::size_t only = options.tier.empty() ? k_none : m_tiers.named(options.tier);
    if (!options.tier.empty() && only == k_none)
        return error(Code::not_found, "There is no tier \"{}\". admin::tiers() lists those there are.", options.tier);

    const Entry entry(std::make_shared<const Artifact>(std::move(artifact)));
    InsertReport report;
    std::vector<bool> holds(m_tiers.size());
    std::optional<Error> first_error;
    bool in_fast = false;
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        const TierTraits& traits = m_tiers[i].traits;
        const bool wanted = only != k_none ? i == only : traits.writable && (traits.persistent || !in_fast);
        // Facts of this machine, and failures, which may be this machine's too, are no business of servers.
        if (!wanted || (traits.remote && (options.kind == EntryKind::derived || entry.artifact()->failed())))
            continue;
        if (const Result<StoreReport> stored = store_in(i, key, entry)) {
            holds[i] = true;
            in_fast |= !traits.persistent;
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
    // An older value must not be found in a tier that could not take the new one. (A remote is not waited for.)
    for (std::size_t i = 0; i < m_tiers.size(); ++i)
        if (!holds[i] && !m_tiers[i].traits.remote)
            m_tiers[i]->remove(key);
    if (options.kind == EntryKind::result)
        m_counters.add<&Stats::stores>();
    return report;
}

bool Stack::remove(const Key& key)
{
    bool removed = false;
    for (const Place& place : m_tiers)
        removed |= place->remove(key);
    return removed;
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
    settle_victims(index, m_tiers[index]->set_limits(limits, m_tiers[index].victims));
    return {};
}

Status Stack::set_policy(std::string_view tier, const PolicyFactory& policy)
{
    const std::size_t index = m_tiers.named(tier);
    if (index == k_none)
        return error(Code::not_found, "There is no tier \"{}\".", tier);
    m_tiers[index]->set_policy(policy);
    std::shared_ptr<const Policy> fresh = policy();
    const std::lock_guard lock(m_policy_mutex);
    m_promotion[index] = std::move(fresh);
    return {};
}

}  // namespace hearth::engine
