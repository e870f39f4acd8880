#pragma once

#include "hearth/api.hpp"
#include "hearth/clock.hpp"
#include "hearth/entry.hpp"
#include "hearth/log.hpp"
#include "hearth/policy.hpp"
#include "hearth/result.hpp"
#include "hearth/switch.hpp"
#include "hearth/trust.hpp"
#include "hearth/units.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

struct Limits {
    std::uint64_t max_bytes = 0;      // 0: no limit
    std::uint64_t max_entries = 0;    // 0: no limit
    std::chrono::seconds max_age{0};  // since creation; 0: no limit
    friend bool operator==(const Limits&, const Limits&) = default;
};

struct TierTraits {
    bool persistent = false;  // outlives the process
    bool writable = true;
    bool in_place = false;  // entries are used where they lie: one that moves up stays here too
    bool remote = false;    // others use it too, so it is never cleared, listed or swept; asking it takes time
    bool demands_signatures = false;
    bool signs = false;  // what this process inserts
    bool fixed = false;  // a file that never changes: what it holds is on this machine, and is not copied to a disk
};

struct TierUsage {
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;
    // Beside the entries and their budget: what was set aside because it was not trusted, and folders of older formats.
    std::uint64_t aside_bytes = 0;
};

// What a tier is to shrink to.
struct EvictTo {
    std::optional<std::uint64_t> max_bytes{};  // 0: nothing is left
    std::optional<std::uint64_t> max_entries{};
    std::optional<std::chrono::seconds> unused_for{};  // entries unused for so long go first, in any case
};

struct StoreReport {
    std::uint64_t bytes = 0;  // what it takes of the tier's budget now
    bool replaced = false;
};

// Is told how far a long operation has come, and returns false to stop it. A total of 0 is not known yet.
using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

enum class Repair : std::uint8_t { no, yes };

struct VerifyReport {
    std::uint64_t checked = 0;
    std::uint64_t intact = 0;
    std::uint64_t corrupt = 0;
    std::uint64_t other_version = 0;    // of another format version: left alone
    std::uint64_t stray = 0;            // files that are no entries: abandoned temporaries, foreign files
    std::uint64_t removed = 0;          // corrupt and untrusted entries and abandoned temporaries, with Repair::yes
    bool accounting_exact = true;       // recorded bytes and counts equalled what was found
    std::vector<std::string> problems;  // a sentence each, the first hundred
    std::uint64_t untrusted = 0;        // without a signature by a trusted key, where signatures are demanded
};

// Held while one process compiles an entry, so that the others on the machine wait for it. Dies with its holder.
class Flight {
public:
    virtual ~Flight() = default;
};

struct FlightAttempt {
    enum class Outcome : std::uint8_t { unsupported, busy, held };
    Outcome outcome = Outcome::unsupported;
    std::unique_ptr<Flight> flight;
};

// A place that holds entries within a budget. The engine knows tiers by this interface only.
// Thread safety: every function may be called from any thread at any time.
// Failure: nothing here throws. A tier that cannot do its work gives Miss::outage or an Error and goes on.
// The contract in full is tests/tiers/tier_conformance.hpp.
class Tier {
public:
    virtual ~Tier() = default;

    virtual std::string_view name() const = 0;
    virtual TierTraits traits() const = 0;
    // Shown beside its figures: what it really is, if its name does not tell.
    virtual std::string note() { return {}; }
    // Where it keeps its entries, as an absolute path; empty: in no directory.
    virtual std::string directory() const { return {}; }

    virtual Found find(const Key& key) = 0;
    // The same without counting as a use: for code that carries entries elsewhere.
    virtual Found peek(const Key& key) = 0;
    // Replaces what was there. On an error the entry that was there stays. Whatever was evicted on the way is appended
    // to `gone`, also on an error.
    virtual Result<StoreReport> store(const Key& key, const Entry& entry, Victims victims,
                                      std::vector<Victim>& gone) = 0;
    virtual bool contains(const Key& key) = 0;
    // Returns whether it was there.
    virtual bool remove(const Key& key) = 0;
    virtual void clear() = 0;

    // A tier that has no budget of ours leaves these as they are: it holds what it holds.
    virtual TierUsage usage() { return {}; }
    virtual Limits limits() const { return {}; }
    // Takes effect at once: what no longer fits is evicted now.
    virtual std::vector<Victim> set_limits(const Limits& /*limits*/, Victims /*victims*/) { return {}; }
    virtual void set_policy(const PolicyFactory& /*policy*/) {}
    // Evicts, this once, until no more than the goal is left; the tier's limits stay as they are. Returns what was
    // evicted, which is gone for good.
    virtual std::vector<Victim> evict_to(const EvictTo& /*goal*/, const Progress& /*progress*/) { return {}; }

    // What maintain() and evict_to() would evict now, in that order. Nothing is changed, and nothing counts as a use.
    virtual std::vector<Victim> would_evict(const EvictTo& /*goal*/) { return {}; }

    virtual std::optional<EntryRow> info(const Key& key) = 0;
    // Visits every entry, in no order, until the visitor returns false.
    virtual void for_each(const std::function<bool(const EntryRow&)>& visit) = 0;
    // The same for a tier that knows more quickly how often its entries were used than what they are.
    virtual void for_each_use(const std::function<bool(const EntryUse&)>& visit)
    {
        for_each([&](const EntryRow& row) { return visit({row.key, row.uses, row.last_used, row.created}); });
    }
    virtual VerifyReport verify(Repair repair, const Progress& progress) = 0;

    // Credits hits of a faster tier, so that an entry popular there does not look idle here.
    virtual void touch(const Key& /*key*/, std::uint32_t /*uses*/) {}
    virtual void flush() {}
    // Expiry, sweeping, reconciling. Returns soon after a stop is asked for.
    virtual std::vector<Victim> maintain(std::stop_token /*stop*/) { return {}; }
    virtual FlightAttempt try_flight(const Key& /*key*/) { return {}; }

    // Small named bytes that live beside a persistent tier's entries and belong to no key: statistics, for one.
    // update_note() hands the old bytes (empty when there are none) to `edit` and stores what it returns, in one step
    // that no other process can come between. False: this tier keeps no notes, or could not store this one.
    virtual Bytes read_note(std::string_view /*name*/) { return {}; }
    virtual bool update_note(std::string_view /*name*/, const std::function<Bytes(ByteView)>& /*edit*/)
    {
        return false;
    }
};

// What a tier is given to work with.
struct TierContext {
    const Clock* clock = nullptr;
    LogSink log;
    PolicyFactory policy;
    // Whether the tier that takes what this one evicts has the entry already: then a victim's bytes are of no use to
    // it. Empty: it has not. May be called once the cache is open.
    std::function<bool(const Key&)> kept_below{};
};

// A tier that is still to be opened. Build one with memory(), disk() and their like, or from a factory of your own.
struct TierSpec {
    std::string name;
    std::function<Result<std::unique_ptr<Tier>>(const TierContext&)> open;
};

struct MemoryOptions {
    std::string name = "memory";
    // What the entries really take of memory, up to a MiB: their sections, and what comes with them, some 700 bytes an
    // entry.
    std::uint64_t max_bytes = 256_MiB;
    std::uint64_t max_entries = 0;  // 0: no limit
};

enum class Access : std::uint8_t { read_write, read_only };

// Whose directory it may be.
enum class Users : std::uint8_t {
    one,   // ours alone: another user's is refused
    many,  // it is meant to be shared
};

struct DiskOptions {
    std::string name = "disk";
    std::string directory{};
    std::uint64_t max_bytes = 10_GiB;
    std::uint64_t max_entries = 0;    // 0: no limit
    std::chrono::seconds max_age{0};  // 0: no limit
    // Of one entry, unpacked. A file is a promise of memory that anybody could make.
    std::uint64_t max_entry_bytes = 1_GiB;
    int compression = 1;  // zstd level; 0 stores sections as they are
    Access access = Access::read_write;
    Users users = Users::one;
    // On: a store is reported once the entry's file and the folders that name it have been synced, so that a power cut
    // does not lose it. Off: entries may be lost by a power cut, and are never wrong.
    Switch durable = Switch::off;
    Trust trust{};
};

HEARTH_API TierSpec memory(MemoryOptions options);
HEARTH_API TierSpec memory(std::uint64_t max_bytes);
HEARTH_API TierSpec disk(DiskOptions options);
HEARTH_API TierSpec disk(std::string directory, std::uint64_t max_bytes = DiskOptions{}.max_bytes);

}  // namespace hearth
