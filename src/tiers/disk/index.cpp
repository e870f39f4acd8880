#include "tiers/disk/index.hpp"

#include "base/open_file.hpp"
#include "base/wire.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <random>

namespace hearth::tiers {

namespace {

constexpr int k_damaged = -EBADMSG;
// Beyond so many buckets, some are looked at before a header is believed.
constexpr std::uint64_t k_believed_buckets = 1024;
constexpr int k_probed_buckets = 4;

std::uint64_t bucket_offset(std::uint64_t bucket)
{
    return Index::k_header_bytes + bucket * Index::k_bucket_bytes;
}

ByteView slot_bytes(const std::string& raw, std::size_t slot)
{
    return as_bytes(raw).subspan(slot * Index::k_record_bytes, Index::k_record_bytes);
}

bool slot_is_free(ByteView slot)
{
    static constexpr std::size_t k_bytes_at = 48;
    return base::WireReader(slot.subspan(k_bytes_at)).number<std::uint64_t>() == 0;
}

Key slot_key(ByteView slot)
{
    Key key;
    std::memcpy(key.digest.data(), slot.data(), key.digest.size());
    return key;
}

}  // namespace

Index::Index(base::Files& files, std::string path, const BootId& boot, const Home& home)
    : m_files(files), m_home(home), m_path(std::move(path)), m_boot(boot)
{
    m_header.boot = boot;
}

std::uint64_t Index::address(const Key& key, std::uint64_t buckets)
{
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < sizeof hash; ++i)
        hash = (hash << 8U) | key.digest[16 + i];
    const std::uint64_t wide = std::bit_ceil(buckets);
    const std::uint64_t bucket = hash & (wide - 1);
    return bucket < buckets ? bucket : bucket - wide / 2;
}

int Index::open(const std::function<std::int64_t(const Key&)>& stat_entry)
{
    base::FileStat stat;
    m_file = base::FileHandle(m_files, base::open_file(m_files, {m_home.folder, m_path}, O_RDWR, stat));
    if (!m_file.open()) {
        // Nothing, or a link, a pipe or a socket, in whose place a new index is put. A directory is not ours to remove.
        const int error = m_file.error();
        return error == ENOENT || error == ELOOP || error == EINVAL || error == ENXIO ? k_damaged : -error;
    }
    std::string raw(k_index_header_bytes, '\0');
    if (const int read = base::read_exactly(m_files, m_file.fd(), raw.data(), raw.size(), 0); read != 0)
        return read == -ENODATA ? k_damaged : read;
    if (!decode_header(as_bytes(raw), m_header))
        return k_damaged;
    if (m_header.buckets > stat.size / k_bucket_bytes || bucket_offset(m_header.buckets) > stat.size)
        return k_damaged;  // cut short
    if (is_mostly_holes())
        return k_damaged;
    if (m_header.announced == IndexChange::none)
        return 0;

    // A process was killed in the middle of a change. What the entry's file says is what happened.
    IndexRecord record = m_header.announced_record;
    Place place;
    if (const int located = locate(record.key, place); located != 0)
        return located;
    place.old_bytes = m_header.announced_old_bytes;
    const std::int64_t size = stat_entry(record.key);
    if (size < 0 && size != -ENOENT)
        return static_cast<int>(size);
    record.bytes = size < 0 ? 0 : static_cast<std::uint64_t>(size);
    return settle(place, record);
}

// Whoever can write to the directory can claim any number of buckets in a file that takes no room, and reading them all
// would hold the directory's lock for hours. Buckets grow with the entries, so that any four hold some. In a cache that
// has shrunk to a twentieth they may not; its index is made anew with fewer buckets.
bool Index::is_mostly_holes() const
{
    if (m_header.buckets <= k_believed_buckets)
        return false;
    std::random_device random;  // nobody can know which ones to fill
    std::uniform_int_distribution<std::uint64_t> any(0, m_header.buckets - 1);
    std::vector<IndexRecord> records;
    for (int probed = 0; probed < k_probed_buckets; ++probed)
        if (read_bucket(any(random), records) == 0 && records.empty())
            return true;
    return false;
}

int Index::create(const std::vector<IndexRecord>& records)
{
    m_header.boot = m_boot;
    m_header.buckets = std::max<std::uint64_t>(1, records.size() / k_load);
    m_header.totals = {};
    m_header.announced = IndexChange::none;
    std::vector<std::vector<const IndexRecord*>> sorted(m_header.buckets);
    for (const IndexRecord& record : records) {
        std::vector<const IndexRecord*>& bucket = sorted[address(record.key, m_header.buckets)];
        if (bucket.size() == k_bucket_records || record.bytes == 0)
            continue;  // SHA-256 keys fill a bucket only if they are forged; the rest is not counted
        bucket.push_back(&record);
        m_header.totals.bytes += record.bytes;
        ++m_header.totals.entries;
        m_header.tick = std::max(m_header.tick, record.tick);
    }

    // Written whole beside the old one and renamed, so that a reader sees one or the other.
    const std::string fresh = m_path + ".new";
    m_files.unlink({m_home.folder, fresh});
    base::FileHandle file(m_files, base::create_file(m_files, {m_home.folder, fresh}, O_RDWR, m_home.mode));
    if (!file.open())
        return file.fd();
    int error = base::write_all(m_files, file.fd(), as_bytes(encode_header(m_header)), 0);
    if (error == 0)
        error = m_files.truncate(file.fd(), bucket_offset(m_header.buckets));
    for (std::uint64_t bucket = 0; error == 0 && bucket < m_header.buckets; ++bucket) {
        std::string raw;
        for (const IndexRecord* record : sorted[bucket])
            raw += encode_record(*record);
        error = base::write_all(m_files, file.fd(), as_bytes(raw), bucket_offset(bucket));
    }
    if (error == 0)
        error = m_files.rename({m_home.folder, fresh}, {m_home.folder, m_path});
    if (error != 0) {
        m_files.unlink({m_home.folder, fresh});
        return error;
    }
    m_file = std::move(file);
    return 0;
}

std::uint64_t Index::advance(std::uint64_t now_ns)
{
    m_header.tick = std::max(m_header.tick + 1, now_ns);
    return m_header.tick;
}

int Index::load(std::uint64_t bucket, std::string& raw) const
{
    raw.resize(k_bucket_bytes);
    const int read = base::read_exactly(m_files, m_file.fd(), raw.data(), raw.size(), bucket_offset(bucket));
    return read == -ENODATA ? k_damaged : read;
}

int Index::read_bucket(std::uint64_t bucket, std::vector<IndexRecord>& records) const
{
    records.clear();
    std::string raw;
    if (const int loaded = load(bucket, raw); loaded != 0)
        return loaded;
    for (std::size_t slot = 0; slot < k_bucket_records; ++slot) {
        const ByteView bytes = slot_bytes(raw, slot);
        if (slot_is_free(bytes))
            continue;
        const std::optional<IndexRecord> record = decode_record(bytes);
        if (!record)
            return k_damaged;
        // If a process was killed while it split the bucket, moved records are still here; they do not count.
        if (bucket_of(record->key) == bucket)
            records.push_back(*record);
    }
    return 0;
}

int Index::read_all(std::vector<IndexRecord>& records) const
{
    records.clear();
    std::vector<IndexRecord> part;
    for (std::uint64_t bucket = 0; bucket < m_header.buckets; ++bucket) {
        if (const int error = read_bucket(bucket, part); error != 0)
            return error;
        records.insert(records.end(), part.begin(), part.end());
    }
    return 0;
}

int Index::find(const Key& key, std::optional<IndexRecord>& found) const
{
    std::vector<IndexRecord> records;
    const int read = read_bucket(bucket_of(key), records);
    found.reset();
    // If a damaged index holds two, the first counts: that is the one locate() changes.
    for (const IndexRecord& record : records) {
        if (record.key == key) {
            found = record;
            break;
        }
    }
    return read;
}

int Index::locate(const Key& key, Place& place) const
{
    place.bucket = bucket_of(key);
    place.slot = k_bucket_records;
    place.old_bytes = 0;
    std::string raw;
    if (const int loaded = load(place.bucket, raw); loaded != 0)
        return loaded;
    for (std::size_t slot = 0; slot < k_bucket_records; ++slot) {
        const ByteView bytes = slot_bytes(raw, slot);
        const bool free = slot_is_free(bytes);
        const Key there = slot_key(bytes);
        if (!free && there == key) {
            const std::optional<IndexRecord> record = decode_record(bytes);
            if (!record)
                return k_damaged;
            place.slot = slot;
            place.old_bytes = record->bytes;
            return 0;
        }
        if (place.slot == k_bucket_records && (free || bucket_of(there) != place.bucket))
            place.slot = slot;
    }
    // There is no record, unless a damaged one was it.
    for (std::size_t slot = 0; slot < k_bucket_records; ++slot)
        if (const ByteView bytes = slot_bytes(raw, slot); !slot_is_free(bytes) && !decode_record(bytes))
            return k_damaged;
    return place.slot == k_bucket_records ? -ENOSPC : 0;
}

int Index::write_header()
{
    return base::write_all(m_files, m_file.fd(), as_bytes(encode_header(m_header)), 0);
}

int Index::write_record(const Place& place, const IndexRecord& record)
{
    return base::write_all(m_files, m_file.fd(), as_bytes(encode_record(record)),
                           bucket_offset(place.bucket) + place.slot * k_record_bytes);
}

// Writes the record (bytes 0: removes it), then the new totals with nothing announced.
int Index::settle(const Place& place, const IndexRecord& record)
{
    if (const int written = write_record(place, record); written != 0)
        return written;
    if (place.old_bytes != 0) {
        m_header.totals.bytes -= place.old_bytes;
        --m_header.totals.entries;
    }
    if (record.bytes != 0) {
        m_header.totals.bytes += record.bytes;
        ++m_header.totals.entries;
    }
    m_header.announced = IndexChange::none;
    return write_header();
}

int Index::add(const IndexRecord& record, const std::function<int()>& perform)
{
    if (m_header.totals.entries + 1 > m_header.buckets * k_load)
        if (const int grown = split(); grown != 0)
            return grown;
    Place place;
    if (const int located = locate(record.key, place); located != 0)
        return located;
    m_header.announced = IndexChange::add;
    m_header.announced_record = record;
    m_header.announced_old_bytes = place.old_bytes;
    if (const int written = write_header(); written != 0)
        return written;
    if (const int performed = perform(); performed != 0) {
        m_header.announced = IndexChange::none;
        write_header();  // if this fails too, the next opener settles the announced change
        return performed;
    }
    return settle(place, record);
}

int Index::remove(const Key& key, const std::function<int()>& perform)
{
    Place place;
    if (const int located = locate(key, place); located != 0)
        return located == -ENOSPC ? perform() : located;
    if (place.old_bytes == 0)
        return perform();  // never recorded: nothing to account for
    m_header.announced = IndexChange::remove;
    m_header.announced_record = IndexRecord{.key = key};
    m_header.announced_old_bytes = place.old_bytes;
    if (const int written = write_header(); written != 0)
        return written;
    if (const int performed = perform(); performed != 0) {
        m_header.announced = IndexChange::none;
        write_header();
        return performed;
    }
    return settle(place, IndexRecord{});
}

int Index::update(std::vector<Key> keys, const std::function<void(IndexRecord&)>& edit)
{
    std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) { return bucket_of(a) < bucket_of(b); });
    std::string raw;
    for (std::size_t i = 0; i < keys.size();) {
        const std::uint64_t bucket = bucket_of(keys[i]);
        if (const int loaded = load(bucket, raw); loaded != 0)
            return loaded;
        for (; i < keys.size() && bucket_of(keys[i]) == bucket; ++i) {
            for (std::size_t slot = 0; slot < k_bucket_records; ++slot) {
                const ByteView bytes = slot_bytes(raw, slot);
                if (slot_is_free(bytes) || slot_key(bytes) != keys[i])
                    continue;
                std::optional<IndexRecord> record = decode_record(bytes);
                if (!record)
                    return k_damaged;
                edit(*record);
                if (const int written = write_record({bucket, slot, 0}, *record); written != 0)
                    return written;
                break;
            }
        }
    }
    return write_header();
}

int Index::split()
{
    // The new bucket is written first, then the header that makes it count, then the old bucket without the moved
    // records. If we are killed in between, records are at worst in both, and read_bucket() knows which one counts.
    const std::uint64_t fresh = m_header.buckets;
    const std::uint64_t old = fresh - std::bit_floor(fresh);
    std::vector<IndexRecord> records;
    if (const int read = read_bucket(old, records); read != 0)
        return read;
    std::string stay;
    std::string move;
    for (const IndexRecord& record : records)
        (address(record.key, fresh + 1) == fresh ? move : stay) += encode_record(record);
    stay.resize(k_bucket_bytes, '\0');
    move.resize(k_bucket_bytes, '\0');
    if (const int written = base::write_all(m_files, m_file.fd(), as_bytes(move), bucket_offset(fresh)); written != 0)
        return written;
    m_header.buckets = fresh + 1;
    if (const int written = write_header(); written != 0) {
        m_header.buckets = fresh;
        return written;
    }
    return base::write_all(m_files, m_file.fd(), as_bytes(stay), bucket_offset(old));
}

std::optional<IndexTotals> Index::peek_totals(base::Files& files, base::At at)
{
    base::FileStat stat;
    const base::FileHandle file(files, base::open_file(files, at, O_RDONLY, stat));
    // A header may be read while it is written, or while a change is under way; a few tries often find it settled.
    for (int attempt = 0; file.open() && attempt < 8; ++attempt) {
        std::string raw(k_index_header_bytes, '\0');
        IndexHeader header;
        if (base::read_exactly(files, file.fd(), raw.data(), raw.size(), 0) != 0)
            return std::nullopt;
        if (decode_header(as_bytes(raw), header) && header.announced == IndexChange::none)
            return header.totals;
    }
    return std::nullopt;
}

}  // namespace hearth::tiers
