#include "engine/engine.hpp"

#include "base/clock.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::engine {

namespace {

// A lookup that passes several tiers tells the most telling reason of theirs.
Miss more_telling(Miss a, Miss b)
{
    const auto weight = [](Miss why) {
        switch (why) {
        case Miss::absent:
            return 0;
        case Miss::bypassed:
            return 1;
        case Miss::outage:
        case Miss::timeout:
            return 2;
        case Miss::expired:
            return 3;
        case Miss::incompatible:
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

Engine::Engine(EngineOptions options) : m_options(std::move(options)), m_clock(*m_options.clock)
{
    const TierContext context{&m_clock, m_options.log, m_options.policy};
    for (const TierSpec& spec : m_options.tiers) {
        if (m_tiers.size() == k_max_tiers) {
            log_once(0, fmt::format("Tier \"{}\" is left out: a cache has at most {} tiers.", spec.name, k_max_tiers));
            break;
        }
        Result<std::unique_ptr<Tier>> opened = spec.open(context);
        if (opened) {
            m_tiers.push_back(*std::move(opened));
        } else if (m_options.log) {
            // The program goes on with the tiers that are there, as if this one had not been asked for.
            m_options.log(LogLevel::warning, opened.error().message);
        }
    }
    for (const std::unique_ptr<Tier>& tier : m_tiers) {
        m_remotes[m_names.size()] = dynamic_cast<RemoteTier*>(tier.get());
        m_names.emplace_back(tier->name());
        m_promotion.push_back(m_options.policy());
    }
    if (!m_tiers.empty() && !m_tiers[0]->traits().persistent)
        m_plain_top = m_tiers[0].get();
    m_first_remote = m_tiers.size();
    while (m_first_remote != 0 && m_tiers[m_first_remote - 1]->traits().remote)
        --m_first_remote;
    prepare_making();
}

void Engine::prepare_making()
{
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    m_flights = std::make_unique<Flights>();
    m_maker_limit = std::make_unique<MakerLimit>(m_options.max_parallel_makes);
    m_workers = std::make_unique<base::Workers>(m_options.max_parallel_makes != 0 ? m_options.max_parallel_makes
                                                                                  : std::max<std::size_t>(cores, 4));
}

void Engine::after_fork()
{
    // What waits for, or belongs to, threads that this process does not have is left behind, not destroyed: destroying
    // it would wait for them.
    static_cast<void>(m_flights.release());
    static_cast<void>(m_maker_limit.release());
    static_cast<void>(m_workers.release());
    prepare_making();
    if (m_maintenance.joinable())
        m_maintenance.detach();
    m_maintenance_started = false;
    // What was counted so far is the parent's to write down.
    m_stats_base = counted();
    m_stats_written = m_stats_base;
}

Engine::~Engine()
{
    end_prewarms();
    m_workers->stop();
    {
        const std::lock_guard lock(m_maintenance_mutex);
        m_maintenance_started = true;
        m_maintenance.request_stop();
    }
    if (m_maintenance.joinable())
        m_maintenance.join();
    flush();
}

void Engine::log_once(std::size_t tier, const std::string& message)
{
    if (!m_options.log)
        return;
    if (!m_logged[std::min(tier, m_logged.size() - 1)].exchange(true, std::memory_order_relaxed))
        m_options.log(LogLevel::warning, message);
}

Lookup Engine::find(const Key& key)
{
    // A hit in memory that is not to be timed, which is nearly every hit, and nothing else.
    Counters::Mine mine = m_counters.mine();
    if (m_plain_top && !mine.time_next(0)) {
        Found found = m_plain_top->find(key);
        if (found) {
            mine.hit(0, found.cost);
            return {std::move(found.artifact), &m_names[0]};
        }
        return find_from(1, key, failed_find(0, found.why, Miss::absent));
    }
    return find_from(0, key, Miss::absent);
}

Lookup Engine::peek(const Key& key, Reach reach)
{
    Miss why = Miss::absent;
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        if (reach == Reach::this_machine && m_tiers[i]->traits().remote)
            continue;
        Found found = m_tiers[i]->peek(key);
        if (found)
            return {std::move(found.artifact), &m_names[i]};
        why = more_telling(why, found.why);
    }
    return Lookup(why);
}

Lookup Engine::find_from(std::size_t first, const Key& key, Miss why)
{
    Lookup found = find_among(first, m_tiers.size(), key, why);
    if (!found)
        count_miss(found.why());
    return found;
}

Lookup Engine::find_among(std::size_t first, std::size_t end, const Key& key, Miss why)
{
    for (std::size_t i = first; i < end; ++i) {
        // While a server is down a lookup costs what it costs without one.
        if (m_remotes[i] && m_remotes[i]->resting()) {
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
        m_latency[i].add(now - start);
        write_stats_now_and_then(now);
        const std::string* promoted_to = i == 0                        ? nullptr
                                         : m_tiers[i]->traits().remote ? bring_home(i, key, found.as_entry())
                                                                       : promote_after_hit(i, key, found);
        return {std::move(found.artifact), &m_names[i], promoted_to};
    }
    return Lookup(why);
}

void Engine::count_miss(Miss why)
{
    // Of a server that did not answer in time nothing is known either.
    if (why == Miss::outage || why == Miss::timeout)
        m_counters.add(Count::outages);
    else
        m_counters.miss(why);
}

// Counts it, and gives the more telling of two reasons.
Miss Engine::failed_find(std::size_t tier, Miss why, Miss before)
{
    if (why == Miss::absent)
        return before;
    count_failed_find(tier, why);
    return more_telling(before, why);
}

void Engine::count_failed_find(std::size_t tier, Miss why)
{
    if (why == Miss::corrupt || why == Miss::untrusted)
        m_counters.add(tier, TierCount::corrupt);
    if (why == Miss::outage || why == Miss::timeout) {
        m_counters.add(tier, TierCount::outages);
        if (m_options.log && !m_logged[tier].load(std::memory_order_relaxed))
            log_once(tier, fmt::format("Tier \"{}\" cannot be read. The program goes on without it.", m_names[tier]));
    }
}

// The tier it moved up into, or none.
Result<StoreReport> Engine::store_in(std::size_t tier, const Key& key, const Entry& entry)
{
    const Victims keep = something_slower_is_writable(tier) ? Victims::keep : Victims::discard;
    return settle_store(tier, m_tiers[tier]->store(key, entry, keep));
}

Result<StoreReport> Engine::settle_store(std::size_t tier, Result<StoreReport> stored)
{
    if (!stored) {
        const Code code = stored.error().code;
        if (code != Code::too_large && code != Code::no_space && code != Code::unavailable)
            m_counters.add(tier, TierCount::outages);
        if (code != Code::too_large && code != Code::unavailable)
            log_once(tier, stored.error().message);
        return stored;
    }
    m_counters.add(tier, TierCount::stores);
    settle_victims(tier, std::move(stored->victims));
    if (m_tiers[tier]->traits().persistent)
        start_maintenance();
    return stored;
}

Result<InsertReport> Engine::insert(const Key& key, Artifact artifact, const InsertOptions& options)
{
    if (artifact.created == WallTime{})
        artifact.created = m_clock.now();
    if (!options.counted && artifact.metadata.compiler.empty())
        artifact.metadata.compiler = k_of_this_machine;
    const std::size_t only = options.tier.empty() ? k_none : tier_named(options.tier);
    if (!options.tier.empty() && only == k_none)
        return Error{Code::not_found,
                     fmt::format("There is no tier \"{}\". Cache::tiers() lists those there are.", options.tier),
                     {}};

    const Entry entry(std::make_shared<const Artifact>(std::move(artifact)));
    InsertReport report;
    std::vector<bool> holds(m_tiers.size());
    std::optional<Error> first_error;
    bool in_fast = false;
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        const TierTraits traits = m_tiers[i]->traits();
        const bool wanted = only != k_none ? i == only : traits.writable && (traits.persistent || !in_fast);
        if (!wanted || (traits.remote && !options.counted))
            continue;
        if (const Result<StoreReport> stored = store_in(i, key, entry)) {
            holds[i] = true;
            in_fast |= !traits.persistent;
            report.tiers.push_back(m_names[i]);
        } else {
            report.refused.push_back(stored.error().message);
            if (!first_error || first_error->code == Code::too_large)
                first_error = stored.error();
        }
    }
    if (report.tiers.empty())
        return first_error.value_or(
            Error{Code::unavailable, "No tier can be written. Check `hearth doctor` for the reason.", {}});
    // An older value must not answer from a tier that could not take the new one. (A remote is not waited for.)
    for (std::size_t i = 0; i < m_tiers.size(); ++i)
        if (!holds[i] && !m_tiers[i]->traits().remote)
            m_tiers[i]->remove(key);
    if (options.counted)
        m_counters.add(Count::stores);
    return report;
}

bool Engine::remove(const Key& key)
{
    bool removed = false;
    for (const std::unique_ptr<Tier>& tier : m_tiers)
        removed |= tier->remove(key);
    return removed;
}

std::vector<std::string> Engine::where(const Key& key)
{
    std::vector<std::string> names;
    for (std::size_t i = 0; i < m_tiers.size(); ++i)
        if (m_tiers[i]->contains(key))
            names.push_back(m_names[i]);
    return names;
}

std::size_t Engine::fastest_with(const Key& key)
{
    for (std::size_t i = 0; i < m_tiers.size(); ++i)
        if (m_tiers[i]->contains(key))
            return i;
    return k_none;
}

std::size_t Engine::tier_named(std::string_view name) const
{
    const auto found = std::find(m_names.begin(), m_names.end(), name);
    return found == m_names.end() ? k_none : static_cast<std::size_t>(found - m_names.begin());
}

std::vector<TierStatus> Engine::tiers()
{
    std::vector<TierStatus> all;
    for (std::size_t i = 0; i < m_tiers.size(); ++i)
        all.push_back({m_names[i], m_tiers[i]->traits(), m_tiers[i]->limits(), m_tiers[i]->usage()});
    return all;
}

Status Engine::set_limits(std::string_view tier, const Limits& limits)
{
    const std::size_t index = tier_named(tier);
    if (index == k_none)
        return Error{Code::not_found, fmt::format("There is no tier \"{}\".", tier), {}};
    settle_victims(index, m_tiers[index]->set_limits(limits, something_slower_is_writable(index) ? Victims::keep
                                                                                                 : Victims::discard));
    return {};
}

Status Engine::set_policy(std::string_view tier, const PolicyFactory& policy)
{
    const std::size_t index = tier_named(tier);
    if (index == k_none)
        return Error{Code::not_found, fmt::format("There is no tier \"{}\".", tier), {}};
    m_tiers[index]->set_policy(policy);
    std::shared_ptr<const Policy> fresh = policy();
    const std::lock_guard lock(m_policy_mutex);
    m_promotion[index] = std::move(fresh);
    return {};
}

}  // namespace hearth::engine
