#include "remote/store_tier.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "format/acceptance.hpp"
#include "format/signature.hpp"
#include "remote/remote_options.hpp"
#include "remote/store_library.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth {

namespace remotes {

namespace {

constexpr int k_most_attempts = 5;
// An entry that was found altered or unsigned is not fetched again for this long.
constexpr std::uint64_t k_quarantine_ns = 600'000'000'000;
constexpr std::size_t k_most_quarantined = 4096;

std::string state_file(const RemoteOptions& options, const Url& url)
{
    if (options.state_directory.empty())
        return {};
    return fmt::format("{}/{}", options.state_directory,
                       Key::of("hearth remote", url.shown(), url.user).hex().substr(0, 32));
}

}  // namespace

StoreTier::StoreTier(RemoteOptions options, Url url, const TierContext& context, Opener open)
    : m_options(std::move(options)), m_url(std::move(url)), m_clock(*context.clock), m_log(context.log),
      m_open(std::move(open)), m_breaker(state_file(m_options, m_url), Breaker::wall_ns, m_options.state_users),
      m_writes(
          {m_options.queue_bytes, m_options.queue_entries}, [this](std::span<Outgoing> batch) { return send(batch); },
          [this] { return renew_leases(); })
{
}

StoreTier::~StoreTier()
{
    m_hedge.stop();
    // If a wait for outgoing entries has already failed, there is no second one.
    m_dropped += m_writes.stop(m_gave_up ? std::chrono::milliseconds(0) : m_options.exit_wait);
}

TierTraits StoreTier::traits() const
{
    return {.persistent = true,
            .writable = m_options.access == Access::read_write,
            .remote = true,
            .demands_signatures = format::demands_signatures(m_options.trust),
            .signs = !m_options.trust.sign_with.empty()};
}

void StoreTier::say_once(const std::string& message)
{
    {
        const std::lock_guard lock(m_mutex);
        if (m_said)
            return;
        m_said = true;
    }
    if (m_log)
        m_log(LogLevel::warning, message);
}

Result<RemoteStore*> StoreTier::opened()
{
    // acquire: pairs with the release below, so that the store is seen complete.
    if (RemoteStore* store = m_store.load(std::memory_order_acquire))
        return store;
    {
        const std::lock_guard lock(m_mutex);
        if (m_cannot_open)
            return *m_cannot_open;
    }
    // Not under the lock: it loads a library. Two threads may come here at once; the second one's store is dropped.
    Result<std::unique_ptr<RemoteStore>> made =
        m_open({.url = m_url,
                .connect_timeout = m_options.connect_timeout,
                .max_object_bytes = m_options.max_entry_bytes,
                .max_connections = StoreOptions{}.max_connections,
                .state_file = state_file(m_options, m_url),
                .state_users = m_options.state_users,
                .tell = [this](const std::string& problem) { remember(problem); }});
    const std::lock_guard lock(m_mutex);
    if (m_owned)
        return m_owned.get();
    if (!made) {
        m_cannot_open = made.error();
        m_problem = made.error().message;
        return made.error();
    }
    m_owned = *std::move(made);
    m_store.store(m_owned.get(), std::memory_order_release);
    return m_owned.get();
}

Result<RemoteStore*> StoreTier::reached()
{
    m_used.store(true, std::memory_order_relaxed);
    if (!m_breaker.allows()) {
        const std::lock_guard lock(m_mutex);
        return error(Code::unavailable, "{} is left alone for now: {}", m_url.shown(),
                     m_problem.empty() ? std::string(k_found_by_another) : m_problem);
    }
    return opened_or_down();
}

Result<RemoteStore*> StoreTier::opened_or_down()
{
    Result<RemoteStore*> store = opened();
    if (!store) {
        m_breaker.failed(Breaker::Failure::refusal);
        say_once(store.error().message);
    }
    return store;
}

void StoreTier::settle(const Error* error)
{
    const std::optional<Breaker::Failure> failure = failure_of(error);
    if (!failure)
        return m_breaker.succeeded();
    // acquire: as in opened().
    RemoteStore* const store = m_store.load(std::memory_order_acquire);
    if (store != nullptr && store->is_partly_down())
        m_breaker.succeeded();  // the rest of it answers
    else
        m_breaker.failed(*failure);
    remember(error->message);
}

void StoreTier::remember(const std::string& problem)
{
    {
        const std::lock_guard lock(m_mutex);
        m_problem = problem;
    }
    say_once(problem);
}

// Verifies what came from the server before anything of it is used.
Found StoreTier::accept(const Key& key, const Result<std::optional<Bytes>>& got)
{
    if (!got) {
        if (got.error().code == Code::too_large)
            return Found::miss(Miss::other_version);
        return Found::miss(got.error().code == Code::timeout ? Miss::timeout : Miss::outage);
    }
    if (!got->has_value())
        return Found::miss(Miss::absent);
    const Bytes& bytes = **got;
    m_fetched_bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    Found found = format::accept_entry(bytes, key, {m_options.trust, m_clock, {}, m_options.max_entry_bytes});
    if (found) {
        found.uses = 1;
        found.encoded = std::make_unique<const Bytes>(bytes);
        return found;
    }
    if (found.why == Miss::untrusted || found.why == Miss::corrupt) {
        (found.why == Miss::corrupt ? m_corrupt : m_untrusted).fetch_add(1, std::memory_order_relaxed);
        quarantine(key);
    }
    return found;
}

bool StoreTier::is_quarantined(const Key& key)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_quarantine.find(key);
    if (found == m_quarantine.end())
        return false;
    if (base::monotonic_ns() < found->second)
        return true;
    m_quarantine.erase(found);
    return false;
}

void StoreTier::quarantine(const Key& key)
{
    say_once(
        fmt::format("{} holds an entry that is not what it should be, or not signed as it must be. It is not used.",
                    m_url.shown()));
    const std::lock_guard lock(m_mutex);
    if (m_quarantine.size() >= k_most_quarantined)
        m_quarantine.clear();
    m_quarantine[key] = base::monotonic_ns() + k_quarantine_ns;
}

Found StoreTier::find(const Key& key)
{
    return peek(key);
}

Found StoreTier::peek(const Key& key)
{
    // The path of every lookup while the server is down: no lock, no text.
    m_used.store(true, std::memory_order_relaxed);
    if (!m_breaker.allows())
        return Found::miss(Miss::outage);
    const Result<RemoteStore*> store = opened_or_down();
    if (!store)
        return Found::miss(Miss::outage);
    if (is_quarantined(key))
        return Found::miss(format::demands_signatures(m_options.trust) ? Miss::untrusted : Miss::corrupt);
    return accept(key, settled(get(**store, key)));
}

Result<std::optional<Bytes>> StoreTier::get(RemoteStore& store, const Key& key)
{
    const SteadyTime deadline = read_deadline();
    if (m_options.hedge_after.count() <= 0)
        return store.get(key.hex(), deadline);
    return m_hedge.first_of_two([&store, name = key.hex(), deadline] { return store.get(name, deadline); },
                                m_options.hedge_after);
}

Result<Bytes> StoreTier::to_send(const Key& key, const Entry& entry) const
{
    HEARTH_TRY_SET(Bytes bytes, format::prepare_entry(key, entry, m_options.trust));
    if (const std::uint64_t most = std::max<std::uint64_t>(bytes.size(), entry.artifact()->size());
        most > m_options.max_entry_bytes)
        return error(Code::too_large, "Entry of {} bytes is larger than tier \"{}\" sends ({}). Raise max_entry_bytes.",
                     most, m_options.name, m_options.max_entry_bytes);
    return bytes;
}

Result<StoreReport> StoreTier::store(const Key& key, const Entry& entry, Victims /*victims*/,
                                     std::vector<Victim>& /*gone*/)
{
    if (m_options.access == Access::read_only)
        return error(Code::unavailable, "Tier \"{}\" is read-only.", m_options.name);
    HEARTH_TRY_SET(Bytes bytes, to_send(key, entry));
    const std::uint64_t size = bytes.size();
    {
        const std::lock_guard lock(m_mutex);
        m_quarantine.erase(key);  // the bad entry will be replaced
    }
    m_used.store(true, std::memory_order_relaxed);
    if (!m_writes.add({Outgoing::Kind::object, key.hex(), std::move(bytes)})) {
        m_dropped.fetch_add(1, std::memory_order_relaxed);
        return error(
            Code::unavailable,
            "Tier \"{}\" has too much on its way out already, or no thread to send it; this entry is not sent.",
            m_options.name);
    }
    return StoreReport{size, false};
}

// Called on the thread that writes. Returns for each whether it is done.
std::vector<bool> StoreTier::send(std::span<Outgoing> batch)
{
    std::vector<bool> done(batch.size(), false);
    const Result<RemoteStore*> store = reached();
    if (!store)
        return done;
    // In order: a lease ends after the entry that was compiled under it has been sent.
    std::size_t at = 0;
    while (at < batch.size()) {
        if (batch[at].kind == Outgoing::Kind::end_of_lease) {
            // A lease that cannot be removed expires by itself.
            static_cast<void>(settled((*store)->remove_if(batch[at].name, batch[at].bytes, write_deadline())));
            done[at] = true;
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < batch.size() && batch[end].kind == Outgoing::Kind::object)
            ++end;
        const std::vector<bool> sent = send_objects(**store, batch.subspan(at, end - at));
        std::copy(sent.begin(), sent.end(), done.begin() + static_cast<std::ptrdiff_t>(at));
        for (std::size_t i = at; i < end; ++i)
            if (!done[i] && !batch[i].rests)
                return done;
        at = end;
    }
    return done;
}

// A server of a cluster that is down is not asked, so nothing that waits for it uses up its attempts. It waits behind
// what can be sent, as long as it takes no more than half of the room there is for all.
std::vector<bool> StoreTier::send_objects(RemoteStore& store, std::span<Outgoing> batch)
{
    std::vector<bool> done(batch.size(), true);
    std::vector<Object> objects;
    std::vector<std::size_t> asked;  // which of the batch they are
    objects.reserve(batch.size());
    asked.reserve(batch.size());
    WriteBehind::Waiting waiting = m_writes.waiting();
    for (std::size_t i = 0; i < batch.size(); ++i) {
        batch[i].rests = store.rests(batch[i].name);
        if (!batch[i].rests) {
            objects.push_back({batch[i].name, batch[i].bytes});
            asked.push_back(i);
        } else if (waiting.entries > m_options.queue_entries / 2 || waiting.bytes > m_options.queue_bytes / 2) {
            --waiting.entries;
            waiting.bytes -= batch[i].bytes.size();
            m_dropped.fetch_add(1, std::memory_order_relaxed);
        } else
            done[i] = false;
    }
    if (objects.empty())
        return done;
    const std::vector<Status> answers = store.put_many(objects, write_deadline());
    for (std::size_t at = 0; at < asked.size(); ++at) {
        Outgoing& outgoing = batch[asked[at]];
        const Status& answer = answers[at];
        settle(answer.ok() ? nullptr : &answer.error());
        if (answer.ok()) {
            m_sent.fetch_add(1, std::memory_order_relaxed);
            m_sent_bytes.fetch_add(outgoing.bytes.size(), std::memory_order_relaxed);
            continue;
        }
        const Code code = answer.error().code;
        const bool may_work_later = code == Code::unavailable || code == Code::timeout || code == Code::no_space;
        if (may_work_later && ++outgoing.attempts < k_most_attempts)
            done[asked[at]] = false;
        else
            m_dropped.fetch_add(1, std::memory_order_relaxed);
    }
    return done;
}

bool StoreTier::contains(const Key& key)
{
    const std::vector<Result<bool>> has = has_many({&key, 1});
    return has.front().ok() && *has.front();
}

bool StoreTier::remove(const Key& key)
{
    if (m_options.access == Access::read_only)
        return false;
    // Or it would arrive after this and undo it, be it days later, when the server is back.
    const bool was_on_its_way = m_writes.drop(key.hex(), m_options.exit_wait);
    const Result<RemoteStore*> store = reached();
    if (!store)
        return was_on_its_way;
    const Result<bool> removed = settled((*store)->remove(key.hex(), read_deadline()));
    return was_on_its_way || (removed.ok() && *removed);
}

void StoreTier::flush()
{
    m_gave_up = !m_writes.flush(m_breaker.is_down() ? std::chrono::milliseconds(0) : m_options.exit_wait);
}

void StoreTier::forget_parent() noexcept
{
    m_leases.clear();
    m_hedge.after_fork();
    if (m_owned)
        m_owned->after_fork();
}

}  // namespace remotes

TierSpec remote(RemoteOptions options)
{
    const Result<remotes::Resolved> resolved = remotes::resolve_options(options);
    // The tier has a name even if the rest cannot be used; opening it then says why.
    const std::string name = resolved ? resolved->options.name : options.name.empty() ? "remote" : options.name;
    return {name, [resolved](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                HEARTH_TRY(resolved);
                const Trust& trust = resolved->options.trust;
                if (trust.signatures == Signatures::demanded && trust.trusted.empty() && trust.sign_with.empty())
                    return error(Code::invalid_argument,
                                 "{} is to hold signed entries only, and no key is trusted, so that none could "
                                 "ever be used. Set HEARTH_TRUSTED_KEYS.",
                                 resolved->url.shown());
                return {std::make_unique<remotes::StoreTier>(resolved->options, resolved->url, context,
                                                             remotes::open_store)};
            }};
}

TierSpec remote(std::string url)
{
    return remote(RemoteOptions{.url = std::move(url)});
}

}  // namespace hearth
