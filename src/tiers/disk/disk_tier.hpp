#pragma once

#include "base/fork.hpp"
#include "base/slow_mutex.hpp"
#include "format/acceptance.hpp"
#include "hearth/tier.hpp"
#include "tiers/disk/cache_directory.hpp"
#include "tiers/disk/index.hpp"
#include "tiers/disk/use_log.hpp"
#include "tiers/disk/victim_choice.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace hearth::tiers {

// Entries as files in a directory that many processes share.
// Thread safety: all of it, with any number of other processes.
// Ownership: everything below DIR/v1, and DIR/quarantine; nothing else is touched.
// Cost: find() is open, fstat, read, close, checksum, decompress; it takes no lock another process holds and reads no
// index. store() holds the directory's lock for the rename and the records, not while bytes are written.
class DiskTier final : public Tier {
public:
    static Result<std::unique_ptr<Tier>> open(const DiskOptions& options, const TierContext& context,
                                              const DiskEnvironment& environment);
    DiskTier(const DiskOptions& options, const TierContext& context, const DiskEnvironment& environment);
    ~DiskTier() override;

    std::string_view name() const override { return m_options.name; }
    TierTraits traits() const override;
    std::string directory() const override { return m_options.directory; }
    Found find(const Key& key) override;
    Found peek(const Key& key) override;
    Result<StoreReport> store(const Key& key, const Entry& entry, Victims victims, std::vector<Victim>& gone) override;
    bool contains(const Key& key) override;
    bool remove(const Key& key) override;
    void clear() override;
    TierUsage usage() override;
    Limits limits() const override;
    std::vector<Victim> set_limits(const Limits& limits, Victims victims) override;
    void set_policy(const PolicyFactory& policy) override;
    std::optional<EntryRow> info(const Key& key) override;
    void for_each(const std::function<bool(const EntryRow&)>& visit) override;
    void for_each_use(const std::function<bool(const EntryUse&)>& visit) override;
    std::vector<Victim> evict_to(const EvictTo& goal, const Progress& progress) override;
    std::vector<Victim> would_evict(const EvictTo& goal) override;
    VerifyReport verify(Repair repair, const Progress& progress) override;
    void touch(const Key& key, std::uint32_t uses) override;
    void flush() override;
    std::vector<Victim> maintain(std::stop_token stop) override;
    FlightAttempt try_flight(const Key& key) override;
    Bytes read_note(std::string_view name) override;
    bool update_note(std::string_view name, const std::function<Bytes(ByteView)>& edit) override;

private:
    // The directory's lock and the index, opened together; every change of entries goes through a session.
    class Session;
    using KnownRecords = std::unordered_map<Key, IndexRecord>;

    // The order of use in this process: wall time in nanoseconds, but always later than the one before.
    std::uint64_t next_tick();
    Error cannot(const char* action, int error) const;
    // Sets `bytes` to the entry's, if there is one.
    Found read(const Key& key, Bytes& bytes) const;
    format::Acceptance acceptance() const;
    void discard(const Key& key);
    void quarantine(const Key& key, const Bytes& bytes);
    int unlink(Session& session, const Key& key);

    // Whether evicted entries are read before they go, and where they are reported.
    struct Evicting {
        Victims keep = Victims::discard;
        std::vector<Victim>& gone;
    };

    Result<StoreReport> publish(const Key& key, const Entry& entry, CacheDirectory::Temporary& temporary,
                                std::uint64_t bytes, Evicting evicting);
    // Makes room for the entry and publishes it; `record` and `replaced` are filled in on the way.
    int place(Session& session, CacheDirectory::Temporary& temporary, IndexRecord& record, Evicting evicting,
              bool& replaced);
    // Whether the policy admits a new entry, given what would have to go for it.
    int weigh(Index& index, const IndexRecord& record);
    int make_room(Session& session, const Key& spare, std::uint64_t bytes, std::uint64_t entries, EvictionCause cause,
                  Evicting evicting);
    int evict(Session& session, const IndexRecord& record, EvictionCause cause, Evicting evicting);
    // Evicts every entry for which `goes` returns true, and releases the lock now and then.
    void sweep(EvictionCause cause, const std::function<bool(const IndexRecord&)>& goes, const Progress& progress,
               const std::stop_token& stop, std::vector<Victim>& out);
    std::function<bool(const IndexRecord&)> is_expired() const;
    std::function<bool(const IndexRecord&)> is_unused(const EvictTo& goal) const;
    void evict_expired(EvictionCause cause, const std::stop_token& stop, std::vector<Victim>& out);

    // Writes a new index from the entries, and keeps the uses and recency that `known` has of them.
    int rebuild(Index& index, const KnownRecords& known, const std::stop_token& stop = {}) const;
    int reconcile(Index& index, const std::stop_token& stop = {}) const;
    int record_uses(Index& index, std::size_t most);
    IndexRecord record_from_file(const Key& key) const;
    EntryRow row_of(const Key& key, const IndexRecord* record) const;
    // What the index and this process know of its uses.
    EntryUse use_of(const Key& key, const IndexRecord& record) const;
    // Until the visitor returns false. The lock is released now and then. False: the index could not be read.
    bool for_each_record(const std::function<bool(const IndexRecord&)>& visit);
    IndexTotals count();
    bool count_entries(IndexTotals& totals) const;
    static bool count_records(const Index& index, IndexTotals& totals);

    void after_fork();

    const DiskOptions m_options;
    const Clock& m_clock;
    const LogSink m_log;
    CacheDirectory m_directory;
    const BootId m_boot;
    UseLog m_uses;
    std::atomic<std::uint32_t> m_notes{0};
    std::atomic<std::uint64_t> m_tick{0};
    mutable base::ForkSafeMutex m_mutex{base::LockLevel::tier};  // guards the next two, for as long as it takes to copy
    Limits m_limits;
    PolicyFactory m_policy;
    std::atomic<std::int64_t> m_max_age;  // of m_limits, in seconds, so that hits need no lock
    const std::uint64_t m_seed;
    // Held together with the directory's lock, over file work; guards what is below. No hit takes it.
    base::SlowMutex m_sessions;
    std::unique_ptr<VictimChoice> m_victims;
    const base::ForkGuard m_fork_guard{[this] { after_fork(); }};
};

}  // namespace hearth::tiers
