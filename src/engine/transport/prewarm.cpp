// Fills tiers beforehand, in the background.

#include "base/clock.hpp"
#include "base/priority.hpp"
#include "engine/parts.hpp"
#include "engine/transport/pace.hpp"
#include "engine/transport/prewarm_job.hpp"
#include "format/signature.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth::engine {

namespace {

// A server that failed this often in a row is not asked again: each failure may take its whole deadline.
constexpr int k_most_outages = 3;
// What the head adds to an entry's sections at most, for an entry that nobody has encoded yet.
constexpr std::uint64_t k_head_at_most = 4096;

bool says_nothing(Miss why)
{
    return why == Miss::outage || why == Miss::timeout;
}

// A tier has the entry, but it must not be used.
bool is_unusable(Miss why)
{
    return why == Miss::corrupt || why == Miss::untrusted || why == Miss::other_version;
}

// Brings entries into one tier, one after the other, on the thread of its job.
class Filler {
public:
    Filler(const EngineOptions& options, Stack& stack, PrewarmJob& job, PrewarmPlan plan)
        : m_options(options), m_stack(stack), m_tiers(stack.tiers()), m_job(job), m_plan(std::move(plan)),
          m_pace(m_plan.options.bytes_per_second)
    {
    }

    // Returns whether everything was done.
    bool run()
    {
        if (m_plan.options.priority == Priority::idle)
            base::step_back();
        if (!choose_target() || !choose_keys())
            return false;
        m_job.count([&](PrewarmReport& report) { report.total = m_plan.keys.size(); });
        for (const Key& key : m_plan.keys) {
            if (!m_job.rest_until(m_pace.next()))
                return false;
            const Pace::Time began = std::chrono::steady_clock::now();
            m_read = 0;
            const Counter outcome = fill(key);
            m_pace.add(m_read, began);
            m_job.count([&](PrewarmReport& report) {
                ++report.done;
                ++(report.*outcome);
                report.bytes = m_stored;
                report.bytes_read += m_read;
            });
        }
        return true;
    }

private:
    using Counter = std::uint64_t PrewarmReport::*;

    bool choose_target();
    bool choose_keys();
    bool list_source();
    Counter fill(const Key& key);
    Counter leave_lacking(const Key& key, Miss why);
    Counter store(const Key& key, const Found& found, Writes::Ticket read);
    Found fetch(const Key& key, Miss& why);
    Found ask(std::size_t tier, const Key& key);
    std::string names() const;
    bool has_room(std::uint64_t bytes);
    std::uint64_t size_there(const Found& found) const;
    Tier& target() { return *m_tiers[m_target].tier; }
    const std::string& target_name() const { return m_tiers[m_target].name; }

    const EngineOptions& m_options;
    Stack& m_stack;
    const Tiers& m_tiers;
    PrewarmJob& m_job;
    PrewarmPlan m_plan;
    Pace m_pace;
    std::size_t m_target = k_none;
    TierTraits m_traits;  // of the tier that is filled
    std::unique_ptr<Tier> m_source;
    std::array<int, k_max_tiers> m_outages{};  // in a row
    std::uint64_t m_read = 0;                  // of the entry that is being brought
    std::uint64_t m_stored = 0;
    bool m_spent = false;  // an entry would have gone beyond max_bytes
};

bool Filler::choose_target()
{
    const std::string& name = m_plan.options.tier;
    for (std::size_t i = 0; i < m_tiers.size() && m_target == k_none; ++i)
        if (name.empty() ? m_tiers[i].takes_victims : m_tiers[i].name == name)
            m_target = i;
    if (m_target == k_none && name.empty())
        m_job.tell("No tier of this cache can be filled: none can be written. `hearth doctor` says why.");
    else if (m_target == k_none)
        m_job.tell(fmt::format("There is no tier \"{}\" to fill. There is: {}.", name, names()));
    else if (m_tiers[m_target].remote)
        m_job.tell(fmt::format("Tier \"{}\" is on a server, and is not filled from here. Send it entries with "
                               "admin::push() or `hearth push`.",
                               name));
    if (m_target == k_none || m_tiers[m_target].remote)
        return false;
    m_traits = m_tiers[m_target].traits;
    return true;
}

std::string Filler::names() const
{
    std::vector<std::string_view> names;
    for (const Place& place : m_tiers)
        names.emplace_back(place.name);
    return names.empty() ? "none" : fmt::to_string(fmt::join(names, ", "));
}

bool Filler::choose_keys()
{
    if (m_plan.source)
        return list_source();
    if (m_plan.hottest != 0)
        for (const EntryRow& row : m_stack.hottest(m_plan.hottest))
            m_plan.keys.push_back(row.key);
    return true;
}

bool Filler::list_source()
{
    Result<std::unique_ptr<Tier>> opened = m_plan.source->open({m_options.clock, m_options.log, m_options.policy});
    if (!opened) {
        m_job.tell(opened.error().message);
        return false;
    }
    m_source = *std::move(opened);
    // First only the keys are listed: a tier may hold a lock while it is listed, and filling takes long.
    const auto take = [&](const Key& key) {
        m_plan.keys.push_back(key);
        return !m_job.told_to_stop();
    };
    if (auto* const remote = dynamic_cast<RemoteTier*>(m_source.get())) {
        const Status listed = remote->for_each_key(take, [&] { return !m_job.told_to_stop(); });
        if (!listed.ok())
            m_job.tell(listed.error().message);
        return listed.ok() && !m_job.told_to_stop();
    }
    m_source->for_each([&](const EntryRow& row) { return take(row.key); });
    const TierUsage usage = m_source->usage();
    if (usage.entries > m_plan.keys.size() && !m_job.told_to_stop())
        m_job.tell(fmt::format("{} of the {} entries in \"{}\" cannot be found: a part of it is damaged.",
                               usage.entries - m_plan.keys.size(), usage.entries, m_plan.source->name));
    return !m_job.told_to_stop();
}

Filler::Counter Filler::fill(const Key& key)
{
    const Writes::Ticket read = m_stack.writes().now();
    // The entry is read, not only looked for: a damaged one would be a miss later.
    const Found there = target().peek(key);
    if (there) {
        m_read = m_traits.persistent ? there.bytes : 0;
        return &PrewarmReport::already_there;
    }
    if (!m_traits.writable)
        return leave_lacking(key, there.why);
    if (m_spent || !has_room(1))
        return &PrewarmReport::no_room;
    Miss why = there.why;
    const Found found = fetch(key, why);
    if (found)
        return store(key, found, read);
    if (!is_unusable(why))
        return &PrewarmReport::absent;
    m_job.tell(fmt::format("Entry {} is {}; it was not taken.", key.hex(), to_string(why)));
    return &PrewarmReport::refused;
}

// For a tier that cannot be written: what it has is read and checked, and that is all.
Filler::Counter Filler::leave_lacking(const Key& key, Miss why)
{
    if (is_unusable(why))
        m_job.tell(fmt::format("Entry {} in tier \"{}\" is {}.", key.hex(), target_name(), to_string(why)));
    else
        m_job.tell(fmt::format("Tier \"{}\" is read-only: what it lacks cannot be brought there.", target_name()));
    return &PrewarmReport::refused;
}

// From the source, or from the first tier that has it. If it is to be kept as bytes, a tier of this machine that has
// its bytes is preferred, because they may be signed.
Found Filler::fetch(const Key& key, Miss& why)
{
    Found best;
    for (std::size_t i = 0; i < (m_source ? 1 : m_tiers.size()); ++i) {
        if (!m_source && (i == m_target || (best && m_tiers[i].remote)))
            continue;
        Found found = ask(i, key);
        if (!found) {
            why = is_unusable(found.why) ? found.why : why;
            continue;
        }
        m_read += found.bytes;
        if (!m_traits.persistent || found.encoded || m_source)
            return found;
        if (!best)
            best = std::move(found);
    }
    return best;
}

Found Filler::ask(std::size_t tier, const Key& key)
{
    auto* const remote = m_source ? dynamic_cast<RemoteTier*>(m_source.get()) : m_tiers[tier].remote;
    if (!remote)
        return m_source ? m_source->peek(key) : m_tiers[tier]->peek(key);
    if (m_outages[tier] >= k_most_outages)
        return Found::miss(Miss::outage);
    // With the deadline of transfers, because no lookup waits for this.
    std::vector<Found> found = remote->fetch_many({&key, 1});
    m_outages[tier] = !found.front() && says_nothing(found.front().why) ? m_outages[tier] + 1 : 0;
    if (m_outages[tier] == k_most_outages)
        m_job.tell(fmt::format("\"{}\" does not answer ({}); what only it has is left out.", remote->name(),
                               remote->report().problem));
    return std::move(found.front());
}

Filler::Counter Filler::store(const Key& key, const Found& found, Writes::Ticket read)
{
    const std::chrono::seconds max_age = target().limits().max_age;
    if (max_age.count() > 0 && found.artifact->created <= base::time_before(m_options.clock->now(), max_age)) {
        m_job.tell(fmt::format("Entry {} is older than tier \"{}\" keeps entries ({} s).", key.hex(), target_name(),
                               max_age.count()));
        return &PrewarmReport::refused;
    }
    const std::uint64_t bytes = size_there(found);
    const std::uint64_t most = m_plan.options.max_bytes;
    m_spent = most != 0 && m_stored + bytes > most;
    if (m_spent || !has_room(bytes))
        return &PrewarmReport::no_room;
    const Result<StoreReport> stored = m_stack.copy_in(m_target, key, found.as_entry(), read);
    if (!stored) {
        m_job.tell(stored.error().message);
        const bool full = stored.error().code == Code::too_large || stored.error().code == Code::no_space;
        return full ? &PrewarmReport::no_room : &PrewarmReport::refused;
    }
    m_stored += stored->bytes;
    return &PrewarmReport::filled;
}

bool Filler::has_room(std::uint64_t bytes)
{
    const Limits limits = target().limits();
    const TierUsage usage = target().usage();
    return (limits.max_entries == 0 || usage.entries < limits.max_entries) &&
           (limits.max_bytes == 0 || usage.bytes + bytes <= limits.max_bytes);
}

// The size it has there at most: a tier that signs adds a signature.
std::uint64_t Filler::size_there(const Found& found) const
{
    if (!m_traits.persistent)
        return found.artifact->size();
    return format::k_trailer_size + (found.encoded ? found.encoded->size() : found.artifact->size() + k_head_at_most);
}

}  // namespace

Prewarms::~Prewarms()
{
    std::vector<std::weak_ptr<PrewarmJob>> all;
    {
        const std::lock_guard lock(m_mutex);
        all.swap(m_jobs);
    }
    for (const std::weak_ptr<PrewarmJob>& one : all)
        if (const std::shared_ptr<PrewarmJob> job = one.lock())
            job->end();
}

Prewarm Prewarms::start(PrewarmPlan plan)
{
    auto job = std::make_shared<PrewarmJob>();
    {
        const std::lock_guard lock(m_mutex);
        std::erase_if(m_jobs, [](const std::weak_ptr<PrewarmJob>& one) { return one.expired(); });
        m_jobs.push_back(job);
    }
    // The job outlives its thread, and so does the cache: it ends its jobs before it closes.
    job->start([this, &at = *job, plan = std::move(plan)]() mutable {
        Filler filler(m_options, m_stack, at, std::move(plan));
        return filler.run();
    });
    return Prewarm(std::move(job));
}

}  // namespace hearth::engine

namespace hearth {

Prewarm prewarm(Cache& cache, std::vector<Key> keys, PrewarmOptions options)
{
    return cache.parts().prewarms.start({.keys = std::move(keys), .options = std::move(options)});
}

Prewarm prewarm(Cache& cache, const TierSpec& source, PrewarmOptions options)
{
    return cache.parts().prewarms.start({.source = source, .options = std::move(options)});
}

Prewarm prewarm_hottest(Cache& cache, std::size_t count, PrewarmOptions options)
{
    return cache.parts().prewarms.start({.hottest = count, .options = std::move(options)});
}

}  // namespace hearth
