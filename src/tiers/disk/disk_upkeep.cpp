// The disk tier's slower half: listing, verifying, sweeping, and rebuilding the index from the entries.

#include "base/clock.hpp"
#include "base/problems.hpp"
#include "format/entry.hpp"
#include "format/entry_row.hpp"
#include "tiers/disk/aside.hpp"
#include "tiers/disk/disk_tier.hpp"
#include "tiers/disk/seconds.hpp"
#include "tiers/disk/session.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

namespace hearth::tiers {

namespace {

constexpr std::uint64_t k_buckets_per_lock = 16;
constexpr std::uint64_t k_quarantine_share = 16;  // of the budget for entries, and not taken from it

bool meets(const IndexTotals& totals, const EvictTo& goal)
{
    return (!goal.max_bytes || totals.bytes <= *goal.max_bytes) &&
           (!goal.max_entries || totals.entries <= *goal.max_entries);
}

}  // namespace

IndexRecord DiskTier::record_from_file(const Key& key) const
{
    IndexRecord record{.key = key};
    WallTime modified{};
    const std::int64_t size = m_directory.stat_entry(key, &modified);
    if (size <= 0)
        return record;
    record.bytes = static_cast<std::uint64_t>(size);
    record.tick = static_cast<std::uint64_t>(std::max<std::int64_t>(modified.time_since_epoch().count(), 1));
    record.created = to_seconds(modified);
    std::uint64_t whole = 0;
    int error = 0;
    // A damaged head leaves the cost at 0, so that the entry is the first to be evicted.
    const format::DecodedHead decoded = format::decode_head(m_directory.read_entry_head(key, whole, error));
    if (error == 0 && decoded.outcome == format::DecodedHead::Outcome::ok) {
        record.cost = std::chrono::duration<float>(decoded.head.cost).count();
        record.created = to_seconds(decoded.head.created);
        record.expires = to_seconds(decoded.head.expires);
    }
    return record;
}

int DiskTier::rebuild(Index& index, const KnownRecords& known, const std::stop_token& stop) const
{
    std::vector<IndexRecord> records;
    const int listed = m_directory.for_each_entry([&](const Key& key) {
        const auto found = known.find(key);
        if (found == known.end()) {
            records.push_back(record_from_file(key));
        } else if (const std::int64_t size = m_directory.stat_entry(key); size > 0) {
            records.push_back(found->second);
            records.back().bytes = static_cast<std::uint64_t>(size);
        }
        return !stop.stop_requested();
    });
    if (stop.stop_requested())
        return -ECANCELED;
    return listed != 0 ? listed : index.create(records);
}

int DiskTier::reconcile(Index& index, const std::stop_token& stop) const
{
    KnownRecords known;
    std::vector<IndexRecord> records;
    for (std::uint64_t bucket = 0; bucket < index.buckets(); ++bucket) {
        if (index.read_bucket(bucket, records) != 0)
            continue;  // damaged records are read from the entries again
        for (const IndexRecord& record : records)
            known.emplace(record.key, record);
    }
    return rebuild(index, known, stop);
}

bool DiskTier::count_entries(IndexTotals& totals) const
{
    totals = {};
    return m_directory.for_each_entry([&](const Key& key) {
        if (const std::int64_t size = m_directory.stat_entry(key); size > 0) {
            totals.bytes += static_cast<std::uint64_t>(size);
            ++totals.entries;
        }
        return true;
    }) == 0;
}

bool DiskTier::count_records(const Index& index, IndexTotals& totals)
{
    totals = {};
    std::vector<IndexRecord> records;
    for (std::uint64_t bucket = 0; bucket < index.buckets(); ++bucket) {
        if (index.read_bucket(bucket, records) != 0)
            return false;
        for (const IndexRecord& record : records)
            totals.bytes += record.bytes;
        totals.entries += records.size();
    }
    return true;
}

TierUsage DiskTier::usage()
{
    const IndexTotals totals = count();
    return {totals.bytes, totals.entries, aside_bytes(m_directory)};
}

IndexTotals DiskTier::count()
{
    const CacheDirectory& directory = m_directory;
    if (const base::FileHandle root = directory.open_folder(directory.layout().root()); root.open())
        if (const auto totals = Index::peek_totals(directory.files(), {root.fd(), Layout::k_index}))
            return *totals;
    base::FileStat stat;
    if (directory.files().stat(directory.layout().entries().c_str(), stat) != 0)
        return {};
    if (traits().writable) {
        // There is no index, or it announces a change by a process that may have been killed. Opening it repairs both.
        Session session(*this);
        if (session.error() == 0)
            return session.index().totals();
    }
    IndexTotals counted;
    count_entries(counted);
    return counted;
}

EntryRow DiskTier::row_of(const Key& key, const IndexRecord* record) const
{
    EntryRow row;
    row.key = key;
    row.tier = m_options.name;
    std::uint64_t size = 0;
    int error = 0;
    format::fill_from_head(row, m_directory.read_entry_head(key, size, error));
    row.stored_bytes = size;
    const EntryUse use = use_of(key, record ? *record : IndexRecord{});
    row.uses = use.uses;
    row.last_used = use.last_used;
    return row;
}

EntryUse DiskTier::use_of(const Key& key, const IndexRecord& record) const
{
    const UseLog::Use pending = m_uses.pending(key);
    EntryUse use{key, record.uses + pending.uses, from_seconds(record.last_used), from_seconds(record.created)};
    if (pending.uses != 0)
        use.last_used = std::max(use.last_used, from_nanoseconds(pending.when_ns));
    return use;
}

std::optional<EntryRow> DiskTier::info(const Key& key)
{
    if (!contains(key))
        return std::nullopt;
    std::optional<IndexRecord> record;
    if (traits().writable) {
        Session session(*this);
        if (session.error() == 0)
            session.index().find(key, record);
    }
    return row_of(key, record ? &*record : nullptr);
}

bool DiskTier::for_each_record(const std::function<bool(const IndexRecord&)>& visit)
{
    std::vector<IndexRecord> records;
    std::vector<IndexRecord> part;
    for (std::uint64_t bucket = 0, buckets = 1; bucket < buckets;) {
        records.clear();
        {
            Session session(*this);
            if (session.error() != 0)
                return false;
            buckets = session.index().buckets();
            for (std::uint64_t i = 0; i < k_buckets_per_lock && bucket < buckets; ++i, ++bucket)
                if (session.index().read_bucket(bucket, part) == 0)
                    records.insert(records.end(), part.begin(), part.end());
        }
        for (const IndexRecord& record : records)
            if (!visit(record))
                return true;
    }
    return true;
}

void DiskTier::for_each(const std::function<bool(const EntryRow&)>& visit)
{
    base::FileStat stat;
    if (m_directory.files().stat(m_directory.layout().root().c_str(), stat) != 0)
        return;
    const bool listed = traits().writable && for_each_record([&](const IndexRecord& record) {
                            return m_directory.stat_entry(record.key) < 0 || visit(row_of(record.key, &record));
                        });
    // The index is locked for long, or cannot be written by us. The files are enough for a listing.
    if (!listed)
        m_directory.for_each_entry([&](const Key& key) { return visit(row_of(key, nullptr)); });
}

void DiskTier::for_each_use(const std::function<bool(const EntryUse&)>& visit)
{
    base::FileStat stat;
    if (m_directory.files().stat(m_directory.layout().root().c_str(), stat) != 0)
        return;
    if (!traits().writable ||
        !for_each_record([&](const IndexRecord& record) { return visit(use_of(record.key, record)); }))
        m_directory.for_each_entry([&](const Key& key) { return visit(use_of(key, {})); });
}

void DiskTier::sweep(EvictionCause cause, const std::function<bool(const IndexRecord&)>& goes, const Progress& progress,
                     const std::stop_token& stop, std::vector<Victim>& out)
{
    std::vector<IndexRecord> records;
    for (std::uint64_t bucket = 0, buckets = 1; bucket < buckets && !stop.stop_requested();) {
        Session session(*this);
        if (session.error() != 0)
            return;
        buckets = session.index().buckets();
        for (std::uint64_t i = 0; i < k_buckets_per_lock && bucket < buckets; ++i, ++bucket) {
            if (session.change([&] { return session.index().read_bucket(bucket, records); }) != 0)
                continue;
            for (const IndexRecord& record : records)
                if (goes(record))
                    evict(session, record, cause, {Victims::discard, out});
        }
        if (progress && !progress(bucket, buckets))
            return;
    }
}

std::function<bool(const IndexRecord&)> DiskTier::is_expired() const
{
    return [now = acceptance()](const IndexRecord& record) {
        return format::is_too_old(from_seconds(record.created), from_seconds(record.expires), now);
    };
}

// Never, without a goal for it.
std::function<bool(const IndexRecord&)> DiskTier::is_unused(const EvictTo& goal) const
{
    const std::uint32_t since =
        goal.unused_for ? to_seconds(base::time_before(m_clock.now(), *goal.unused_for)) : std::uint32_t{0};
    return [since](const IndexRecord& record) { return std::max(record.created, record.last_used) < since; };
}

std::vector<Victim> DiskTier::evict_to(const EvictTo& goal, const Progress& progress)
{
    std::vector<Victim> gone;
    if (!traits().writable)
        return gone;
    flush();
    bool stopped = false;
    const Progress tell = [&](std::uint64_t done, std::uint64_t total) {
        stopped = progress && !progress(done, total);
        return !stopped;
    };
    if (goal.unused_for)
        sweep(EvictionCause::age, is_unused(goal), tell, {}, gone);
    if (stopped || (!goal.max_bytes && !goal.max_entries))
        return gone;
    Session session(*this);
    const auto enough = [&] { return stopped || meets(session.index().totals(), goal); };
    const auto take = [&](const IndexRecord& record) {
        const int error = evict(session, record, EvictionCause::limit_lowered, {Victims::discard, gone});
        tell(gone.size(), 0);
        return error;
    };
    if (session.error() == 0)
        session.change([&] { return m_victims->run_exactly(session.index(), enough, take); });
    return gone;
}

std::vector<Victim> DiskTier::would_evict(const EvictTo& goal)
{
    std::vector<Victim> going;
    if (!traits().writable)
        return going;
    flush();  // or what this process used would look idle
    Session session(*this);
    std::vector<IndexRecord> records;
    if (session.error() != 0 || session.change([&] { return session.index().read_all(records); }) != 0)
        return going;
    IndexTotals left = session.index().totals();
    const auto take = [&](const IndexRecord& record, EvictionCause cause) {
        going.push_back({record.key, record.bytes, record.cost, cause, std::nullopt});
        left.bytes -= record.bytes;
        --left.entries;
    };
    for (const auto& goes : {is_expired(), is_unused(goal)})
        std::erase_if(records, [&](const IndexRecord& record) {
            const bool is_going = goes(record);
            if (is_going)
                take(record, EvictionCause::age);
            return is_going;
        });
    if (meets(left, goal))
        return going;
    const std::size_t all = records.size();
    for (const VictimChoice::Candidate& worst : m_victims->ranked(std::move(records), session.index().clock(), all)) {
        take(worst.record, EvictionCause::limit_lowered);
        if (meets(left, goal))
            break;
    }
    return going;
}

std::vector<Victim> DiskTier::maintain(std::stop_token stop)
{
    std::vector<Victim> gone;
    base::FileStat stat;
    if (!traits().writable || m_directory.files().stat(m_directory.layout().root().c_str(), stat) != 0)
        return gone;
    flush();
    {
        Session session(*this);
        if (session.error() == 0 && session.index().wants_reconcile())
            reconcile(session.index(), stop);
    }
    const WallTime now = m_clock.now();
    m_directory.sweep_temporaries(now);
    m_directory.sweep_flights(now);
    const std::uint64_t budget = limits().max_bytes;
    sweep_quarantine(m_directory, budget == 0 ? UINT64_MAX : budget / k_quarantine_share, now);
    sweep_older_formats(m_directory, now);
    evict_expired(EvictionCause::age, stop, gone);
    return gone;
}

void DiskTier::evict_expired(EvictionCause cause, const std::stop_token& stop, std::vector<Victim>& out)
{
    sweep(cause, is_expired(), {}, stop, out);
}

VerifyReport DiskTier::verify(Repair repair, const Progress& progress)
{
    VerifyReport report;
    const std::uint64_t total = count().entries;
    std::vector<Key> unusable;
    m_directory.for_each_entry(
        [&](const Key& key) {
            int error = 0;
            const Bytes bytes = m_directory.read_entry(key, error);
            if (error == -ENOENT)
                return true;  // evicted while we looked
            if (error == -EISDIR) {
                ++report.stray;
                base::tell(report.problems,
                           fmt::format("A directory stands where entry {} should; left alone.", key.hex()));
                return true;
            }
            const format::DecodedEntry decoded =
                error == 0 ? format::decode_trusted(bytes, key, m_options.trust) : format::DecodedEntry{};
            ++report.checked;
            if (decoded.artifact) {
                ++report.intact;
            } else if (decoded.why == Miss::other_version) {
                ++report.other_version;
                base::tell(report.problems,
                           fmt::format("Entry {} is of another format version; left alone.", key.hex()));
            } else if (decoded.why == Miss::untrusted) {
                ++report.untrusted;
                unusable.push_back(key);
                base::tell(report.problems,
                           fmt::format("Entry {} is not signed by a trusted key, and signatures are demanded here.",
                                       key.hex()));
            } else {
                ++report.corrupt;
                unusable.push_back(key);
                base::tell(report.problems,
                           fmt::format("Entry {} is damaged{}.", key.hex(),
                                       error != 0 ? base::describe(": cannot", "read it", error) : ""));
            }
            return !progress || progress(report.checked, std::max(total, report.checked));
        },
        &report.stray);

    const bool may_repair = repair == Repair::yes && traits().writable;
    if (may_repair) {
        for (const Key& key : unusable) {
            discard(key);
            report.removed += contains(key) ? 0 : 1;
        }
        report.removed += m_directory.sweep_temporaries(m_clock.now());
    }
    if (!traits().writable)
        return report;
    Session session(*this);
    IndexTotals counted;
    if (session.error() != 0 || !count_entries(counted))
        return report;
    const IndexTotals& recorded = session.index().totals();
    IndexTotals listed;
    const bool readable = count_records(session.index(), listed);
    report.accounting_exact = readable && counted == recorded && counted == listed;
    if (!report.accounting_exact) {
        base::tell(report.problems,
                   readable ? fmt::format("The index counts {} bytes in {} entries and lists {} in {}; the directory "
                                          "holds {} in {}.",
                                          recorded.bytes, recorded.entries, listed.bytes, listed.entries, counted.bytes,
                                          counted.entries)
                            : "The index is damaged.");
        if (may_repair)
            reconcile(session.index());
    }
    return report;
}

}  // namespace hearth::tiers
