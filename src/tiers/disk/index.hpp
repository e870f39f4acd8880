#pragma once

#include "base/files.hpp"
#include "hearth/key.hpp"
#include "tiers/disk/index_format.hpp"

#include <cstdint>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// What eviction needs to know about every entry, in one file of fixed records. It can be rebuilt from the entries, and
// no hit ever reads it.
//
// index_format.hpp has the bytes. Buckets are addressed by linear hashing. The file grows by one bucket at a time, so
// that a bucket holds about a hundred records whether the cache has a thousand entries or a million, and finding,
// adding or sampling costs the same. (Logs per shard would grow with the cache, or need a scan of many files to find a
// victim.)
//
// A change is made in this order: header with the change announced; the entry's file renamed or unlinked; the record;
// header with new totals and nothing announced. If a process is killed on the way, the next one to open the index finds
// the announced change, looks at the file and finishes it. So the totals equal the sum of the entries after a kill at
// any point. After a power cut the disk may hold any mixture. The header has the boot it was written in, and an index
// of another boot has to be reconciled with the entries.

namespace hearth::tiers {

// One opening of the index file. Thread safety: none; every call but peek_totals() is made under the directory's lock.
// Errors are -errno; 0 is success. -EBADMSG: the file is not a usable index and must be rebuilt.
class Index {
public:
    static constexpr std::size_t k_header_bytes = 4096;
    static constexpr std::size_t k_bucket_bytes = 16384;
    static constexpr std::size_t k_record_bytes = k_index_record_bytes;
    static constexpr std::size_t k_bucket_records = k_bucket_bytes / k_record_bytes;
    // Records per bucket, on average, at which the file grows by a bucket. Buckets that are not yet split hold up to
    // twice as many: 128, plus or minus 11. That is so far below a bucket's capacity that real keys never fill one.
    static constexpr std::uint64_t k_load = 64;

    // Where it is: the open folder that its path starts from, and the mode of one that is made there.
    struct Home {
        int folder = AT_FDCWD;
        unsigned mode = 0600;
    };
    Index(base::Files& files, std::string path, const BootId& boot) : Index(files, std::move(path), boot, Home{}) {}
    Index(base::Files& files, std::string path, const BootId& boot, const Home& home);

    // Reads the header; `stat_entry` gives an entry's size or -errno, to finish what a killed process left announced.
    int open(const std::function<std::int64_t(const Key&)>& stat_entry);
    // Writes a new index with these records in place of whatever is there.
    int create(const std::vector<IndexRecord>& records);

    void close() { m_file.close(); }

    const IndexTotals& totals() const { return m_header.totals; }
    bool wants_reconcile() const { return m_header.boot != m_boot; }
    std::uint64_t tick() const { return m_header.tick; }
    double clock() const { return m_header.clock; }
    void set_clock(double clock) { m_header.clock = clock; }  // written with the next change
    int keep_clock(double clock)                              // written now
    {
        set_clock(clock);
        return write_header();
    }
    // The next tick in the order of use: later than all before it, and not before `now_ns`.
    std::uint64_t advance(std::uint64_t now_ns);

    std::uint64_t buckets() const { return m_header.buckets; }
    std::uint64_t bucket_of(const Key& key) const { return address(key, m_header.buckets); }
    int read_bucket(std::uint64_t bucket, std::vector<IndexRecord>& records) const;
    int read_all(std::vector<IndexRecord>& records) const;
    int find(const Key& key, std::optional<IndexRecord>& found) const;

    // Announces, performs, records. If `perform` fails (-errno), nothing is recorded and its error is returned.
    int add(const IndexRecord& record, const std::function<int()>& perform);
    int remove(const Key& key, const std::function<int()>& perform);
    // Lets `edit` change the records of these keys (uses, recency; not their size); keys without one are skipped.
    // Each bucket is read once.
    int update(std::vector<Key> keys, const std::function<void(IndexRecord&)>& edit);

    // The present totals, without a lock. None if there is no readable index, or if a change is announced in it: only
    // open() can tell how that ended.
    static std::optional<IndexTotals> peek_totals(base::Files& files, base::At at);

private:
    struct Place {
        std::uint64_t bucket = 0;
        std::size_t slot = 0;
        std::uint64_t old_bytes = 0;  // 0: the slot is free
    };

    static std::uint64_t address(const Key& key, std::uint64_t buckets);

    int locate(const Key& key, Place& place) const;
    bool is_mostly_holes() const;
    int load(std::uint64_t bucket, std::string& raw) const;
    int write_header();
    int write_record(const Place& place, const IndexRecord& record);
    int settle(const Place& place, const IndexRecord& record);
    int split();

    base::Files& m_files;
    Home m_home;
    std::string m_path;
    BootId m_boot;
    base::FileHandle m_file;
    IndexHeader m_header;
};

}  // namespace hearth::tiers
