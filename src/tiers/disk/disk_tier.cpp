#include "tiers/disk/disk_tier.hpp"

#include "base/error.hpp"
#include "format/acceptance.hpp"
#include "policy/outweighed.hpp"
#include "tiers/disk/aside.hpp"
#include "tiers/disk/seconds.hpp"
#include "tiers/disk/session.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <limits>
#include <unistd.h>

namespace hearth {

TierSpec disk(DiskOptions options)
{
    return {options.name, [options](const TierContext& context) {
                return tiers::DiskTier::open(options, context, tiers::DiskEnvironment::system());
            }};
}

TierSpec disk(std::string directory, std::uint64_t max_bytes)
{
    DiskOptions options;
    options.directory = std::move(directory);
    options.max_bytes = max_bytes;
    return disk(std::move(options));
}

namespace tiers {

namespace {

constexpr std::size_t k_uses_per_store = 256;
constexpr std::size_t k_uses_at_most = 16384;
// Among errors of the system: the policy would rather keep what is here. No file operation says this.
constexpr int k_outweighed = -ECANCELED;

DiskOptions with_absolute_directory(DiskOptions options)
{
    // The host program may change its working directory.
    if (!options.directory.empty() && options.directory.front() != '/') {
        char buffer[4096];
        if (::getcwd(buffer, sizeof buffer))
            options.directory = std::string(buffer) + "/" + options.directory;
    }
    while (options.directory.size() > 1 && options.directory.back() == '/')
        options.directory.pop_back();
    return options;
}

bool no_such_entry(int error)
{
    return error == -ENOENT || error == -ENOTDIR;
}

// Something that is not an entry is in its place: a link, a pipe, or a file that was truncated while it was read.
bool not_an_entry(int error)
{
    return error == -ELOOP || error == -EINVAL || error == -ENODATA || error == -ENXIO || error == -EISDIR;
}

}  // namespace

Result<std::unique_ptr<Tier>> DiskTier::open(const DiskOptions& options, const TierContext& context,
                                             const DiskEnvironment& environment)
{
    if (options.directory.empty())
        return error(Code::invalid_argument, "The disk tier needs a directory. Set one with HEARTH_DIR.");
    if (const Trust& trust = options.trust;
        trust.signatures == Signatures::demanded && trust.trusted.empty() && trust.sign_with.empty())
        return error(Code::invalid_argument,
                     "{} is to hold signed entries only, and no key is trusted, so that none could ever be used. Set "
                     "HEARTH_TRUSTED_KEYS.",
                     options.directory);
    auto tier = std::make_unique<DiskTier>(options, context, environment);
    HEARTH_TRY(tier->m_directory.check());
    return {std::move(tier)};
}

DiskTier::DiskTier(const DiskOptions& options, const TierContext& context, const DiskEnvironment& environment)
    : m_options(with_absolute_directory(options)), m_clock(*context.clock), m_log(context.log),
      m_directory(m_options.directory, options.users == Users::many, environment),
      m_boot(environment.boot), m_limits{.max_bytes = options.max_bytes,
                                         .max_entries = options.max_entries,
                                         .max_age = options.max_age},
      m_policy(context.policy), m_max_age(options.max_age.count()), m_seed(environment.seed),
      m_victims(std::make_unique<VictimChoice>(context.policy, environment.seed))
{
}

void DiskTier::after_fork()
{
    m_uses.clear();  // the parent writes them down
    // A thread that did not come along may have been choosing victims.
    static_cast<void>(m_victims.release());
    m_victims = std::make_unique<VictimChoice>(m_policy, m_seed);
}

DiskTier::~DiskTier()
{
    flush();
}

TierTraits DiskTier::traits() const
{
    return {.persistent = true,
            .writable = m_options.access == Access::read_write,
            .demands_signatures = format::demands_signatures(m_options.trust),
            .signs = !m_options.trust.sign_with.empty()};
}

std::uint64_t DiskTier::next_tick()
{
    const auto now = static_cast<std::uint64_t>(std::max<std::int64_t>(m_clock.now().time_since_epoch().count(), 0));
    std::uint64_t last = m_tick.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
        next = std::max(last + 1, now);
    } while (!m_tick.compare_exchange_weak(last, next, std::memory_order_relaxed));
    return next;
}

Error DiskTier::cannot(const char* action, int error) const
{
    if (error == -EWOULDBLOCK)
        return hearth::error(Code::timeout,
                             "{}: another process has held the lock of {} for too long. It goes on without.", action,
                             m_options.directory);
    const bool full = error == -ENOSPC || error == -EDQUOT;
    return {full ? Code::no_space : Code::io,
            base::describe(action, m_options.directory, error) +
                (full ? ". Free some space there, lower HEARTH_MAX_BYTES or choose another directory with HEARTH_DIR."
                      : ". Check its permissions or choose another directory with HEARTH_DIR."),
            {}};
}

format::Acceptance DiskTier::acceptance() const
{
    return {.trust = m_options.trust,
            .clock = m_clock,
            .max_age = std::chrono::seconds(m_max_age.load(std::memory_order_relaxed)),
            .max_bytes = m_options.max_entry_bytes,
            .here = true};
}

Found DiskTier::find(const Key& key)
{
    Bytes bytes;
    Found found = read(key, bytes);
    if (!found) {
        if (found.why == Miss::corrupt || found.why == Miss::untrusted || found.why == Miss::expired)
            discard(key);
        return found;
    }
    found.uses = m_uses.note(key, next_tick());
    // A process that only ever hits still writes down what it used, a few thousand hits at a time.
    if (m_notes.fetch_add(1, std::memory_order_relaxed) % k_uses_at_most == k_uses_at_most - 1)
        flush();
    return found;
}

Found DiskTier::peek(const Key& key)
{
    Bytes bytes;
    Found found = read(key, bytes);
    // An entry that is copied elsewhere keeps its bytes, and with them its signature.
    if (found)
        found.encoded = std::make_unique<const Bytes>(std::move(bytes));
    return found;
}

Found DiskTier::read(const Key& key, Bytes& bytes) const
{
    int error = 0;
    bool is_neighbours = false;
    bytes = m_directory.read_entry(key, error, m_options.max_entry_bytes, &is_neighbours);
    if (no_such_entry(error))
        return Found::miss(Miss::absent);
    if (error == -EPERM)
        return Found::miss(Miss::untrusted);
    if (error == -EOVERFLOW)
        return Found::miss(Miss::other_version);
    if (error != 0)
        return Found::miss(not_an_entry(error) ? Miss::corrupt : Miss::outage);
    Found found = format::accept_entry(bytes, key, acceptance());
    // What a neighbour says of this machine, and his failures, stay his. A compiler reads on from such facts.
    if (found && is_neighbours && !format::may_travel(*found.artifact))
        return Found::miss(Miss::absent);
    return found;
}

int DiskTier::unlink(Session& session, const Key& key)
{
    return session.change([&] { return session.index().remove(key, [&] { return m_directory.unlink_entry(key); }); });
}

Result<StoreReport> DiskTier::store(const Key& key, const Entry& entry, Victims victims, std::vector<Victim>& gone)
{
    if (!traits().writable)
        return hearth::error(Code::unavailable, "Tier \"{}\" is read-only.", m_options.name);
    HEARTH_TRY_SET(const Bytes bytes,
                   format::prepare_entry(key, entry, m_options.trust, {.compression = m_options.compression}));
    const Limits limits = this->limits();
    if (limits.max_bytes != 0 && bytes.size() > limits.max_bytes)
        return hearth::error(Code::too_large,
                             "Entry of {} bytes is larger than tier \"{}\" can hold ({}). Raise its capacity or lower "
                             "the entry's size.",
                             bytes.size(), m_options.name, limits.max_bytes);
    if (entry.artifact()->size() > m_options.max_entry_bytes)
        return hearth::error(Code::too_large,
                             "Entry of {} bytes is larger than tier \"{}\" takes ({}). Raise HEARTH_MAX_ENTRY_BYTES.",
                             entry.artifact()->size(), m_options.name, m_options.max_entry_bytes);

    int error = 0;
    const std::unique_ptr<CacheDirectory::Temporary> temporary = m_directory.write_temporary(bytes, error);
    // Before the lock is taken: others need not wait for the disk.
    const bool durable = m_options.durable == Switch::on;
    if (temporary && durable)
        error = temporary->sync();
    if (!temporary || error != 0)
        return cannot("Cannot write an entry below", error);
    Result<StoreReport> stored = publish(key, entry, *temporary, bytes.size(), {victims, gone});
    if (!stored || !durable)
        return stored;
    if (error = m_directory.sync_name(key); error != 0) {
        remove(key);  // what may not outlive a power cut was not stored
        return cannot("Cannot sync what was stored in", error);
    }
    return stored;
}

Result<StoreReport> DiskTier::publish(const Key& key, const Entry& entry, CacheDirectory::Temporary& temporary,
                                      std::uint64_t bytes, Evicting evicting)
{
    Session session(*this, Session::Directory::create);
    if (session.error() != 0)
        return cannot("Cannot store in", session.error());
    const Artifact& artifact = *entry.artifact();
    IndexRecord record{
        .key = key,
        .bytes = bytes,
        .cost = std::chrono::duration<float>(artifact.cost).count(),
        .created = to_seconds(artifact.created),
        .expires = to_seconds(artifact.expires),
    };
    if (!m_victims->admits(Resident(key, record.bytes, record.cost)))
        return hearth::error(Code::no_space, "The policy of tier \"{}\" did not admit an entry of {} bytes.",
                             m_options.name, record.bytes);
    StoreReport report{.bytes = bytes};
    const int error = session.change([&] { return place(session, temporary, record, evicting, report.replaced); });
    if (error == k_outweighed)
        return policy::outweighed(m_options.name, record.bytes);
    if (error != 0)
        return cannot("Cannot store in", error);
    // Uses noted from now on come later than this store, whatever other processes' clocks said.
    m_tick.store(std::max(m_tick.load(std::memory_order_relaxed), record.tick), std::memory_order_relaxed);
    return report;
}

int DiskTier::place(Session& session, CacheDirectory::Temporary& temporary, IndexRecord& record, Evicting evicting,
                    bool& replaced)
{
    Index& index = session.index();
    if (record_uses(index, k_uses_per_store) == -EBADMSG)
        return -EBADMSG;
    record.tick = index.advance(next_tick());
    record.aging = std::max(index.clock(), std::numeric_limits<double>::min());
    std::optional<IndexRecord> old;
    if (const int error = index.find(record.key, old); error != 0)
        return error;
    replaced = old.has_value();
    record.uses = old ? old->uses : 0;
    // The replaced entry's bytes count as room for the new one.
    const std::uint64_t growth = record.bytes - std::min(old ? old->bytes : 0, record.bytes);
    if (const int error = old ? 0 : weigh(index, record); error != 0)
        return error;
    if (const int error = make_room(session, record.key, growth, old ? 0 : 1, EvictionCause::capacity, evicting);
        error != 0)
        return error;
    return index.add(record, [&] { return temporary.publish(record.key); });
}

int DiskTier::weigh(Index& index, const IndexRecord& record)
{
    const Limits limits = this->limits();
    const std::uint64_t bytes = policy::excess(index.totals().bytes + record.bytes, limits.max_bytes);
    const std::uint64_t entries = policy::excess(index.totals().entries + 1, limits.max_entries);
    bool outweighs = true;
    if (bytes != 0 || entries != 0)
        if (const int error =
                m_victims->weigh(index, Resident(record.key, record.bytes, record.cost), bytes, entries, outweighs);
            error != 0)
            return error;
    return outweighs ? 0 : k_outweighed;
}

int DiskTier::make_room(Session& session, const Key& spare, std::uint64_t bytes, std::uint64_t entries,
                        EvictionCause cause, Evicting evicting)
{
    Index& index = session.index();
    const Limits limits = this->limits();
    const auto enough = [&] {
        return (limits.max_bytes == 0 || index.totals().bytes + bytes <= limits.max_bytes) &&
               (limits.max_entries == 0 || index.totals().entries + entries <= limits.max_entries);
    };
    return m_victims->run(index, spare, enough,
                          [&](const IndexRecord& record) { return evict(session, record, cause, evicting); });
}

// Reported once its file is gone, also if the index cannot be written then.
int DiskTier::evict(Session& session, const IndexRecord& record, EvictionCause cause, Evicting evicting)
{
    Victim victim{record.key, record.bytes, record.cost, cause, std::nullopt};
    if (evicting.keep == Victims::keep) {
        int error = 0;
        Bytes bytes = m_directory.read_entry(record.key, error, m_options.max_entry_bytes);
        format::DecodedEntry decoded = format::decode_entry(bytes, record.key);
        if (decoded.artifact)
            victim.entry.emplace(std::move(decoded.artifact), std::move(bytes));
    }
    evicting.gone.push_back(std::move(victim));
    bool is_gone = false;
    const int error = session.index().remove(record.key, [&] {
        const int unlinked = m_directory.unlink_entry(record.key);
        is_gone = unlinked == 0;
        return unlinked;
    });
    if (is_gone)
        m_uses.forget(record.key);
    else
        evicting.gone.pop_back();
    return error;
}

bool DiskTier::contains(const Key& key)
{
    return m_directory.stat_entry(key) >= 0;
}

bool DiskTier::remove(const Key& key)
{
    if (!traits().writable || !contains(key))
        return false;
    Session session(*this);
    if (session.error() != 0 || !contains(key))
        return false;
    m_uses.forget(key);
    return unlink(session, key) == 0;
}

void DiskTier::clear()
{
    if (!traits().writable)
        return;
    sweep_quarantine(m_directory, 0, m_clock.now());
    sweep_older_formats(m_directory, m_clock.now());
    Session session(*this);
    if (session.error() != 0)
        return;
    // The index goes first: if we are killed on the way, it is rebuilt from the entries that are left.
    if (const int error = session.drop_index(); error != 0 && error != -ENOENT)
        return;
    m_uses.clear();
    m_directory.for_each_entry([&](const Key& key) {
        m_directory.unlink_entry(key);
        return true;
    });
    rebuild(session.index(), {});
}

Limits DiskTier::limits() const
{
    const std::lock_guard lock(m_mutex);
    return m_limits;
}

std::vector<Victim> DiskTier::set_limits(const Limits& limits, Victims victims)
{
    std::vector<Victim> evicted;
    bool sooner = false;
    {
        const std::lock_guard lock(m_mutex);
        const std::chrono::seconds before = m_limits.max_age;
        sooner = limits.max_age.count() != 0 && (before.count() == 0 || limits.max_age < before);
        m_limits = limits;
        m_max_age = limits.max_age.count();
    }
    if (!traits().writable)
        return evicted;
    if (sooner)
        evict_expired(EvictionCause::limit_lowered, {}, evicted);
    Session session(*this);
    if (session.error() == 0)
        session.change([&] {
            return make_room(session, Key{}, 0, 0, EvictionCause::limit_lowered, {victims, evicted});
        });
    return evicted;
}

void DiskTier::set_policy(const PolicyFactory& policy)
{
    {
        const std::lock_guard lock(m_mutex);
        m_policy = policy;
    }
    const auto held = m_sessions.hold();
    m_victims->set_policy(policy);
}

void DiskTier::touch(const Key& key, std::uint32_t uses)
{
    m_uses.note(key, next_tick(), uses);
}

void DiskTier::flush()
{
    if (!traits().writable || m_uses.size() == 0)
        return;
    Session session(*this, Session::Directory::must_exist, std::chrono::milliseconds(50));
    if (session.error() == 0)
        session.change([&] { return record_uses(session.index(), k_uses_at_most); });
}

int DiskTier::record_uses(Index& index, std::size_t most)
{
    const std::vector<UseLog::Use> uses = m_uses.take(most);
    if (uses.empty())
        return 0;
    std::unordered_map<Key, const UseLog::Use*> use_of;
    std::vector<Key> keys;
    for (const UseLog::Use& use : uses) {
        use_of.emplace(use.key, &use);
        keys.push_back(use.key);
    }
    const int error = index.update(std::move(keys), [&](IndexRecord& record) {
        const UseLog::Use& use = *use_of.at(record.key);
        record.uses =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{record.uses} + use.uses, UINT32_MAX));
        record.last_used = to_seconds(from_nanoseconds(use.when_ns));
        record.tick = std::max(record.tick, use.when_ns);
        record.aging = std::max(index.clock(), std::numeric_limits<double>::min());
    });
    if (error != 0)
        m_uses.give_back(uses);
    return error;
}

FlightAttempt DiskTier::try_flight(const Key& key)
{
    return traits().writable ? m_directory.try_flight(key) : FlightAttempt{};
}

Bytes DiskTier::read_note(std::string_view name)
{
    return m_directory.read_note(name);
}

bool DiskTier::update_note(std::string_view name, const std::function<Bytes(ByteView)>& edit)
{
    return traits().writable && m_directory.update_note(name, edit);
}

}  // namespace tiers

}  // namespace hearth
