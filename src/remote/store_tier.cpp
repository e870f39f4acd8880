#include "remote/store_tier.hpp"

#include "base/clock.hpp"
#include "base/hex.hpp"
#include "format/entry.hpp"
#include "format/signature.hpp"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>

namespace hearth {

namespace remote {

namespace {

constexpr int k_most_attempts = 5;
constexpr std::size_t k_keys_at_once = 256;
// What was found altered or unsigned is not fetched again for a while.
constexpr std::uint64_t k_quarantine_ns = 600'000'000'000;
constexpr std::size_t k_most_quarantined = 4096;

std::uint64_t wall_ns()
{
    // To a few milliseconds, which is all a breaker needs: lookups ask for it while a server is down.
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return static_cast<std::uint64_t>(std::max<std::int64_t>(now.tv_sec, 0)) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

std::string state_file(const Options& options, const Url& url)
{
    if (options.state_directory.empty())
        return {};
    return fmt::format("{}/{}", options.state_directory,
                       Key::of("hearth remote", url.shown(), url.user).hex().substr(0, 32));
}

Breaker::Failure kind_of(const Error& error)
{
    switch (error.code) {
    case Code::timeout:
    case Code::unavailable:
        return Breaker::Failure::server;
    case Code::denied:
        return Breaker::Failure::refusal;
    default:
        return Breaker::Failure::request;
    }
}

}  // namespace

std::string_view to_string(State state)
{
    switch (state) {
    case State::unused:
        return "unused";
    case State::working:
        return "working";
    case State::down:
        return "down";
    }
    return "unused";
}

StoreTier::StoreTier(Options options, Url url, const TierContext& context, Opener open)
    : m_options(std::move(options)), m_url(std::move(url)), m_clock(*context.clock), m_log(context.log),
      m_open(std::move(open)), m_breaker(state_file(m_options, m_url), wall_ns),
      m_writes(
          {m_options.queue_bytes, m_options.queue_entries}, [this](std::span<Outgoing> batch) { return send(batch); },
          [this] { return renew_leases(); })
{
}

StoreTier::~StoreTier()
{
    // Who has waited in vain for what is on its way out does not wait again.
    m_dropped += m_writes.stop(m_gave_up ? std::chrono::milliseconds(0) : m_options.exit_wait);
}

TierTraits StoreTier::traits() const
{
    return {.persistent = true,
            .writable = m_options.access == Access::read_write,
            .remote = true,
            .demands_signatures = m_options.trust.signatures == Signatures::demanded};
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
    // acquire: pairs with the release below, so that the store is seen made.
    if (RemoteStore* store = m_store.load(std::memory_order_acquire))
        return store;
    {
        const std::lock_guard lock(m_mutex);
        if (m_cannot_open)
            return *m_cannot_open;
    }
    // Not under the lock: it loads a library. Two threads may come here at once; what the second has made goes again.
    Result<std::unique_ptr<RemoteStore>> made = m_open({.url = m_url,
                                                        .connect_timeout = m_options.connect_timeout,
                                                        .max_object_bytes = m_options.max_entry_bytes,
                                                        .max_connections = StoreOptions{}.max_connections});
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
        return Error{Code::unavailable,
                     fmt::format("{} is left alone for now: {}", m_url.shown(),
                                 m_problem.empty() ? std::string("another process found it down.") : m_problem),
                     {}};
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
    if (error == nullptr || error->code == Code::too_large || error->code == Code::incompatible) {
        m_breaker.succeeded();  // it answered
        return;
    }
    m_breaker.failed(kind_of(*error));
    {
        const std::lock_guard lock(m_mutex);
        m_problem = error->message;
    }
    say_once(error->message);
}

// What came from the server, looked at before anything of it is used.
Found StoreTier::accept(const Key& key, const Result<std::optional<Bytes>>& got)
{
    if (!got) {
        if (got.error().code == Code::too_large)
            return Found::miss(Miss::incompatible);
        return Found::miss(got.error().code == Code::timeout ? Miss::timeout : Miss::outage);
    }
    if (!got->has_value())
        return Found::miss(Miss::absent);
    const Bytes& bytes = **got;
    m_fetched_bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    if (m_options.trust.signatures == Signatures::demanded &&
        !format::is_signed_by(m_options.trust.trusted, key, bytes)) {
        m_untrusted.fetch_add(1, std::memory_order_relaxed);
        quarantine(key);
        return Found::miss(Miss::untrusted);
    }
    format::DecodedEntry decoded = format::decode_entry(bytes, key);
    if (!decoded.artifact) {
        if (decoded.why == Miss::corrupt) {
            m_corrupt.fetch_add(1, std::memory_order_relaxed);
            quarantine(key);
        }
        return Found::miss(decoded.why);
    }
    if (decoded.artifact->expires != WallTime{} && m_clock.now() >= decoded.artifact->expires)
        return Found::miss(Miss::expired);
    Found found;
    found.uses = 1;
    found.bytes = bytes.size();
    found.cost = decoded.artifact->cost;
    found.artifact = ArtifactLease(std::shared_ptr<const Artifact>(std::move(decoded.artifact)));
    found.encoded = std::make_unique<const Bytes>(bytes);
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
        return Found::miss(m_options.trust.signatures == Signatures::demanded ? Miss::untrusted : Miss::corrupt);
    return accept(key, settled((*store)->get(key.hex(), read_deadline())));
}

Result<Bytes> StoreTier::to_send(const Key& key, const Entry& entry) const
{
    Bytes bytes = entry.encoded();
    if (bytes.empty()) {
        Result<Bytes> encoded = format::encode_entry(key, *entry.artifact());
        if (!encoded)
            return encoded;
        bytes = *std::move(encoded);
    }
    // One that is trusted here keeps its signature: it says who compiled it.
    const bool signed_already = format::is_signed_by(m_options.trust.trusted, key, bytes);
    if (!m_options.trust.sign_with.empty() && !signed_already) {
        Result<Bytes> with_signature = format::sign_entry(key, bytes, m_options.trust.sign_with.front());
        if (!with_signature)
            return with_signature;
        bytes = *std::move(with_signature);
    }
    if (bytes.size() > m_options.max_entry_bytes)
        return Error{Code::too_large,
                     fmt::format("Entry of {} bytes is larger than tier \"{}\" sends ({}). Raise max_entry_bytes.",
                                 bytes.size(), m_options.name, m_options.max_entry_bytes),
                     {}};
    return bytes;
}

Result<StoreReport> StoreTier::store(const Key& key, const Entry& entry, Victims /*victims*/)
{
    if (m_options.access == Access::read_only)
        return Error{Code::unavailable, fmt::format("Tier \"{}\" is read-only.", m_options.name), {}};
    Result<Bytes> bytes = to_send(key, entry);
    if (!bytes)
        return bytes.error();
    const std::uint64_t size = bytes->size();
    {
        const std::lock_guard lock(m_mutex);
        m_quarantine.erase(key);  // what is there now will be replaced
    }
    m_used.store(true, std::memory_order_relaxed);
    if (!m_writes.add({Outgoing::Kind::object, key.hex(), *std::move(bytes)})) {
        m_dropped.fetch_add(1, std::memory_order_relaxed);
        return Error{
            Code::unavailable,
            fmt::format("Tier \"{}\" has too much on its way out already; this entry is not sent.", m_options.name),
            {}};
    }
    return StoreReport{size, false, {}};
}

// On the thread that writes. Of each: whether it is done with.
std::vector<bool> StoreTier::send(std::span<Outgoing> batch)
{
    std::vector<bool> done(batch.size(), false);
    const Result<RemoteStore*> store = reached();
    if (!store)
        return done;
    // In their order: a lease ends after what was compiled under it has been sent.
    std::size_t at = 0;
    while (at < batch.size()) {
        if (batch[at].kind == Outgoing::Kind::end_of_lease) {
            // One that cannot be ended ends by itself.
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
        if (std::find(sent.begin(), sent.end(), false) != sent.end())
            return done;
        at = end;
    }
    return done;
}

std::vector<bool> StoreTier::send_objects(RemoteStore& store, std::span<Outgoing> batch)
{
    std::vector<Object> objects;
    objects.reserve(batch.size());
    for (const Outgoing& outgoing : batch)
        objects.push_back({outgoing.name, outgoing.bytes});
    const std::vector<Status> answers = store.put_many(objects, write_deadline());
    std::vector<bool> done(batch.size(), true);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        settle(answers[i].ok() ? nullptr : &answers[i].error());
        if (answers[i].ok()) {
            m_sent.fetch_add(1, std::memory_order_relaxed);
            m_sent_bytes.fetch_add(batch[i].bytes.size(), std::memory_order_relaxed);
            continue;
        }
        const Code code = answers[i].error().code;
        const bool may_work_later = code == Code::unavailable || code == Code::timeout || code == Code::no_space;
        if (may_work_later && ++batch[i].attempts < k_most_attempts)
            done[i] = false;
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
    const Result<RemoteStore*> store = reached();
    if (!store)
        return false;
    const Result<bool> removed = settled((*store)->remove(key.hex(), read_deadline()));
    return removed.ok() && *removed;
}

void StoreTier::clear()
{
    if (m_options.access == Access::read_only)
        return;
    std::vector<Key> keys;
    static_cast<void>(for_each_key([&](const Key& key) {
        keys.push_back(key);
        return true;
    }));
    for (const Key& key : keys)
        remove(key);
}

void StoreTier::flush()
{
    m_gave_up = !m_writes.flush(m_breaker.is_down() ? std::chrono::milliseconds(0) : m_options.exit_wait);
}

std::optional<EntryRow> StoreTier::info(const Key& key)
{
    const Found found = peek(key);
    if (!found)
        return std::nullopt;
    EntryRow row;
    row.key = key;
    row.metadata = found.artifact->metadata;
    row.bytes = found.artifact->size();
    row.stored_bytes = found.bytes;
    row.created = found.artifact->created;
    row.cost = found.cost;
    row.status = found.artifact->status;
    row.tier = m_options.name;
    return row;
}

void StoreTier::for_each(const std::function<bool(const EntryRow&)>& visit)
{
    std::vector<Key> keys;
    static_cast<void>(for_each_key([&](const Key& key) {
        keys.push_back(key);
        return true;
    }));
    for (const Key& key : keys)
        if (const std::optional<EntryRow> row = info(key); row && !visit(*row))
            return;
}

VerifyReport StoreTier::verify(Repair repair, const Progress& progress)
{
    VerifyReport report;
    std::vector<Key> keys;
    if (const Status listed = for_each_key([&](const Key& key) {
            keys.push_back(key);
            return true;
        });
        !listed.ok())
        report.problems.push_back(listed.error().message);
    for (std::size_t at = 0; at < keys.size(); at += k_keys_at_once) {
        const std::span<const Key> some = std::span(keys).subspan(at, std::min(k_keys_at_once, keys.size() - at));
        const std::vector<Found> found = fetch_many(some);
        for (std::size_t i = 0; i < some.size(); ++i) {
            ++report.checked;
            if (found[i]) {
                ++report.intact;
            } else if (found[i].why == Miss::incompatible) {
                ++report.incompatible;
            } else if (found[i].why == Miss::corrupt || found[i].why == Miss::untrusted) {
                ++report.corrupt;
                report.problems.push_back(fmt::format("Entry {} at {} is {}.", some[i].hex(), m_url.shown(),
                                                      hearth::to_string(found[i].why)));
                report.removed += repair == Repair::yes && remove(some[i]) ? 1 : 0;
            }
        }
        if (progress && !progress(report.checked, keys.size()))
            break;
    }
    return report;
}

std::vector<Result<bool>> StoreTier::has_many(std::span<const Key> keys)
{
    const Result<RemoteStore*> store = reached();
    if (!store)
        return std::vector<Result<bool>>(keys.size(), store.error());
    std::vector<std::string> names;
    names.reserve(keys.size());
    for (const Key& key : keys)
        names.push_back(key.hex());
    std::vector<Result<bool>> answers = (*store)->has_many(names, write_deadline());
    for (const Result<bool>& answer : answers)
        settle(answer.ok() ? nullptr : &answer.error());
    return answers;
}

std::vector<Found> StoreTier::fetch_many(std::span<const Key> keys)
{
    std::vector<Found> found;
    found.reserve(keys.size());
    const Result<RemoteStore*> store = reached();
    if (!store) {
        for (std::size_t i = 0; i < keys.size(); ++i)
            found.push_back(Found::miss(Miss::outage));
        return found;
    }
    std::vector<std::string> names;
    names.reserve(keys.size());
    for (const Key& key : keys)
        names.push_back(key.hex());
    const std::vector<Result<std::optional<Bytes>>> answers = (*store)->get_many(names, write_deadline());
    for (std::size_t i = 0; i < keys.size(); ++i)
        found.push_back(accept(keys[i], settled(answers[i])));
    return found;
}

std::vector<Status> StoreTier::send_many(std::span<const KeyedEntry> entries)
{
    std::vector<Status> answers(entries.size());
    if (m_options.access == Access::read_only) {
        for (Status& answer : answers)
            answer = Error{Code::unavailable, fmt::format("Tier \"{}\" is read-only.", m_options.name), {}};
        return answers;
    }
    const Result<RemoteStore*> store = reached();
    std::vector<Bytes> bytes;
    std::vector<Object> objects;
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        Result<Bytes> one = store ? to_send(entries[i].key, entries[i].entry) : Result<Bytes>(store.error());
        if (!one) {
            answers[i] = one.error();
            continue;
        }
        bytes.push_back(*std::move(one));
        objects.push_back({entries[i].key.hex(), bytes.back()});
        numbers.push_back(i);
    }
    if (objects.empty())
        return answers;
    const std::vector<Status> sent = (*store)->put_many(objects, write_deadline());
    for (std::size_t i = 0; i < sent.size(); ++i) {
        settle(sent[i].ok() ? nullptr : &sent[i].error());
        answers[numbers[i]] = sent[i];
        m_sent.fetch_add(sent[i].ok() ? 1 : 0, std::memory_order_relaxed);
        m_sent_bytes.fetch_add(sent[i].ok() ? bytes[i].size() : 0, std::memory_order_relaxed);
    }
    return answers;
}

Status StoreTier::for_each_key(const std::function<bool(const Key&)>& visit)
{
    const Result<RemoteStore*> store = reached();
    if (!store)
        return store.error();
    Status listed = (*store)->list(
        [&](std::string_view name, std::uint64_t) {
            const std::optional<Key> key = Key::parse(name);
            return !key || visit(*key);  // leases, and what others keep there, are not ours to list
        },
        std::chrono::steady_clock::now() + std::chrono::minutes(10));
    settle(listed.ok() ? nullptr : &listed.error());
    return listed;
}

Report StoreTier::report()
{
    Report report;
    const WriteBehind::Waiting waiting = m_writes.waiting();
    m_breaker.look();
    report.state = m_breaker.is_down()                      ? State::down
                   : m_used.load(std::memory_order_relaxed) ? State::working
                                                            : State::unused;
    report.server = m_url.shown();
    report.fetched_bytes = m_fetched_bytes.load(std::memory_order_relaxed);
    report.sent = m_sent.load(std::memory_order_relaxed);
    report.sent_bytes = m_sent_bytes.load(std::memory_order_relaxed);
    report.queued = waiting.entries;
    report.queued_bytes = waiting.bytes;
    report.dropped = m_dropped.load(std::memory_order_relaxed);
    report.untrusted = m_untrusted.load(std::memory_order_relaxed);
    report.corrupt = m_corrupt.load(std::memory_order_relaxed);
    report.leases = m_leases_taken.load(std::memory_order_relaxed);
    report.lease_waits = m_lease_waits.load(std::memory_order_relaxed);
    const std::lock_guard lock(m_mutex);
    report.problem = m_problem;
    report.lease_problem = m_lease_problem;
    return report;
}

std::string StoreTier::note()
{
    const Report now = report();
    std::string note = now.server;
    if (now.state == State::down)
        note += fmt::format(", down: {}", now.problem);
    if (now.queued != 0)
        note += fmt::format(", {} on their way out", now.queued);
    if (now.dropped != 0)
        note += fmt::format(", {} dropped", now.dropped);
    if (now.untrusted != 0)
        note += fmt::format(", {} not trusted", now.untrusted);
    return note;
}

// Past the breaker: whoever asks wants to know how it is now.
Check StoreTier::check(std::uint64_t samples)
{
    Check check;
    const Result<RemoteStore*> store = opened();
    check.server = m_url.shown();
    if (!store) {
        check.reachable = store.error();
        check.writable = store.error();
        return check;
    }
    const std::string probe = fmt::format("probe-{}", Key::of("probe", wall_ns()).hex().substr(0, 16));
    const Bytes bytes = Bytes::copy_of(std::string(1024, 'p'));
    const Result<std::optional<Bytes>> first = settled((*store)->get(probe, read_deadline()));
    check.reachable = first.ok() ? Status{} : Status{first.error()};
    check.server = (*store)->description();
    if (!first)
        check.writable = first.error();
    else if (m_options.access == Access::read_only)
        check.writable = Error{Code::unavailable, "it is configured to be read only", {}};
    else
        check.writable = (*store)->put(probe, bytes, write_deadline());
    std::vector<std::uint64_t> times;
    for (std::uint64_t i = 0; i < samples && check.reachable.ok(); ++i) {
        const std::uint64_t start = base::monotonic_ns();
        const Result<std::optional<Bytes>> got = (*store)->get(probe, read_deadline());
        times.push_back(base::monotonic_ns() - start);
        if (!got)
            check.reachable = got.error();
    }
    std::sort(times.begin(), times.end());
    check.samples = times.size();
    if (!times.empty()) {
        check.p50_us = static_cast<double>(times[times.size() / 2]) * 1e-3;
        check.p99_us = static_cast<double>(times[times.size() * 99 / 100]) * 1e-3;
    }
    if (check.writable.ok()) {
        static_cast<void>((*store)->remove(probe, write_deadline()));
        const std::string lease = probe + ".lease";
        const Result<bool> taken =
            (*store)->put_if_absent(lease, bytes, std::chrono::milliseconds(1000), write_deadline());
        check.leases = taken.ok() && *taken;
        if (check.leases)
            static_cast<void>((*store)->remove_if(lease, bytes, write_deadline()));
    }
    return check;
}

void StoreTier::forget_parent() noexcept
{
    m_leases.clear();
    if (m_owned)
        m_owned->after_fork();
}

}  // namespace remote

}  // namespace hearth
