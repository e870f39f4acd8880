#pragma once

#include "hearth/artifact.hpp"
#include "hearth/lease.hpp"
#include "hearth/policy.hpp"
#include "hearth/result.hpp"
#include "hearth/trust.hpp"

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

// Why a lookup gave nothing. `outage` and `timeout` say nothing about whether the entry exists.
// `untrusted`: a signature is demanded, and the entry has none by a key that is trusted.
enum class Miss : std::uint8_t { absent, corrupt, incompatible, expired, timeout, outage, bypassed, untrusted };
inline constexpr std::size_t k_miss_reasons = 8;

constexpr std::string_view to_string(Miss reason)
{
    switch (reason) {
    case Miss::absent:
        return "absent";
    case Miss::corrupt:
        return "corrupt";
    case Miss::incompatible:
        return "incompatible";
    case Miss::expired:
        return "expired";
    case Miss::timeout:
        return "timeout";
    case Miss::outage:
        return "outage";
    case Miss::bypassed:
        return "bypassed";
    case Miss::untrusted:
        return "untrusted";
    }
    return "unknown";
}

struct Limits {
    std::uint64_t max_bytes = 0;      // 0: no limit
    std::uint64_t max_entries = 0;    // 0: no limit
    std::chrono::seconds max_age{0};  // since creation; 0: no limit
    friend bool operator==(const Limits&, const Limits&) = default;
};

struct TierTraits {
    bool persistent = false;  // outlives the process
    bool writable = true;
    bool in_place = false;  // entries are used where they lie: one that also moves up stays here
    bool remote = false;    // others use it too, and asking it takes time: never cleared, listed or swept for them
    bool demands_signatures = false;
    bool fixed = false;  // a file that never changes: what it holds is on this machine, and is not copied to a disk
};

struct TierUsage {
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;
};

// An artifact on its way between tiers: decoded, encoded, or both. Each tier takes the form it keeps.
// Thread safety: as an int. Cost: encoding or decoding happens on first demand, once.
class Entry {
public:
    explicit Entry(std::shared_ptr<const Artifact> artifact, Bytes encoded = {})
        : m_artifact(std::move(artifact)), m_encoded(std::move(encoded))
    {
    }
    const std::shared_ptr<const Artifact>& artifact() const noexcept { return m_artifact; }
    // The bytes an earlier tier held, or empty when nobody has encoded it yet.
    const Bytes& encoded() const noexcept { return m_encoded; }

private:
    std::shared_ptr<const Artifact> m_artifact;
    Bytes m_encoded;
};

// What a tier answers: an artifact under lease, or why not.
struct Found {
    ArtifactLease artifact;
    // The entry's bytes, where the tier has them at hand and a slower tier may want them.
    std::unique_ptr<const Bytes> encoded;
    std::uint32_t uses = 0;            // how often this process has been answered from here, this time included
    std::uint64_t bytes = 0;           // what the entry takes of this tier's budget
    std::chrono::nanoseconds cost{0};  // the artifact's own, at hand without a look at it
    Miss why = Miss::absent;           // meaningful only without an artifact

    explicit operator bool() const noexcept { return static_cast<bool>(artifact); }
    // On its way to another tier.
    Entry as_entry() const { return Entry(artifact.share(), encoded ? *encoded : Bytes{}); }
    static Found miss(Miss reason)
    {
        Found found;
        found.why = reason;
        return found;
    }
};

enum class EvictionCause : std::uint8_t { capacity, age, limit_lowered };

// An entry a tier has just let go of. `entry` is filled where the tier was asked to keep it for demotion.
struct Victim {
    Key key;
    std::uint64_t bytes = 0;
    double cost = 0;
    EvictionCause cause = EvictionCause::capacity;
    std::optional<Entry> entry;
};

enum class Victims : std::uint8_t { discard, keep };

struct StoreReport {
    std::uint64_t bytes = 0;  // what it takes of the tier's budget now
    bool replaced = false;
    std::vector<Victim> victims;
};

// What is known of one entry at rest; what `hearth ls` prints.
struct EntryRow {
    Key key;
    Metadata metadata;
    std::uint64_t bytes = 0;         // of the artifact
    std::uint64_t stored_bytes = 0;  // of the tier's budget
    WallTime created{};
    WallTime last_used{};  // empty when never
    std::uint32_t uses = 0;
    std::chrono::nanoseconds cost{0};
    std::int32_t status = 0;
    std::string tier;
};

// Says how far a long operation has come; answers false to stop it. A total of 0 is not yet known.
using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

enum class Repair : std::uint8_t { no, yes };

struct VerifyReport {
    std::uint64_t checked = 0;
    std::uint64_t intact = 0;
    std::uint64_t corrupt = 0;
    std::uint64_t incompatible = 0;     // of another format version: left alone
    std::uint64_t stray = 0;            // files that are no entries: abandoned temporaries, foreign files
    std::uint64_t removed = 0;          // corrupt entries and abandoned temporaries, with Repair::yes
    bool accounting_exact = true;       // recorded bytes and counts equalled what was found
    std::vector<std::string> problems;  // a sentence each, the first hundred
};

// Held while one process makes an entry, so that the others on the machine wait for it. Dies with its holder.
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
// Failure: nothing here throws. A tier that cannot do its work answers Miss::outage or an Error and goes on.
// The contract in full is tests/tiers/tier_conformance.hpp.
class Tier {
public:
    virtual ~Tier() = default;

    virtual std::string_view name() const = 0;
    virtual TierTraits traits() const = 0;
    // Shown beside its figures: what it really is, where its name does not tell.
    virtual std::string note() { return {}; }

    virtual Found find(const Key& key) = 0;
    // The same without counting as a use: for who carries entries elsewhere.
    virtual Found peek(const Key& key) = 0;
    // Replaces what was there. On an error nothing has changed.
    virtual Result<StoreReport> store(const Key& key, const Entry& entry, Victims victims) = 0;
    virtual bool contains(const Key& key) = 0;
    // Whether it was there.
    virtual bool remove(const Key& key) = 0;
    virtual void clear() = 0;

    virtual TierUsage usage() = 0;
    virtual Limits limits() const = 0;
    // Takes effect at once: what no longer fits is evicted now.
    virtual std::vector<Victim> set_limits(const Limits& limits, Victims victims) = 0;
    virtual void set_policy(const PolicyFactory& policy) = 0;

    virtual std::optional<EntryRow> info(const Key& key) = 0;
    // Visits every entry, in no order, until the visitor answers false.
    virtual void for_each(const std::function<bool(const EntryRow&)>& visit) = 0;
    // Evicts what has not been used for `idle`. Its victims are gone: they were asked to go.
    virtual std::uint64_t remove_idle(std::chrono::seconds idle, const Progress& progress) = 0;
    virtual VerifyReport verify(Repair repair, const Progress& progress) = 0;

    // Credits uses that a faster tier answered, so that a popular entry is not idle down here.
    virtual void touch(const Key& /*key*/, std::uint32_t /*uses*/) {}
    virtual void flush() {}
    // Expiry, sweeping, reconciling. Returns soon after a stop is asked for.
    virtual std::vector<Victim> maintain(std::stop_token /*stop*/) { return {}; }
    virtual FlightAttempt try_flight(const Key& /*key*/) { return {}; }

    // Small named bytes that live beside a persistent tier's entries and belong to no key: statistics, for one.
    // update_note() hands the old bytes (empty when there are none) to `edit` and stores what it answers, as one
    // step that no other process comes between. False: this tier keeps no notes, or could not.
    virtual Bytes read_note(std::string_view /*name*/) { return {}; }
    virtual bool update_note(std::string_view /*name*/, const std::function<Bytes(ByteView)>& /*edit*/)
    {
        return false;
    }
};

// Tells the time. Tests hand in one they can set.
class Clock {
public:
    virtual ~Clock() = default;
    virtual WallTime now() const = 0;
};

enum class LogLevel : std::uint8_t { info, warning };
using LogSink = std::function<void(LogLevel, std::string_view)>;

// What a tier is given to work with.
struct TierContext {
    const Clock* clock = nullptr;
    LogSink log;
    PolicyFactory policy;
};

// A tier that is still to be opened. Build one with memory(), disk() and their like, or from a factory of your own.
struct TierSpec {
    std::string name;
    std::function<Result<std::unique_ptr<Tier>>(const TierContext&)> open;
};

struct MemoryOptions {
    std::string name = "memory";
    std::uint64_t max_bytes = 256_MiB;
    std::uint64_t max_entries = 0;  // 0: no limit
};

enum class Access : std::uint8_t { read_write, read_only };

struct DiskOptions {
    std::string name = "disk";
    std::string directory{};
    std::uint64_t max_bytes = 10_GiB;
    std::uint64_t max_entries = 0;    // 0: no limit
    std::chrono::seconds max_age{0};  // 0: no limit
    int compression = 1;              // zstd level; 0 stores sections as they are
    Access access = Access::read_write;
    // A directory that belongs to another user is refused unless it is meant to be shared.
    bool shared = false;
    Trust trust{};
};

HEARTH_API TierSpec memory(MemoryOptions options);
HEARTH_API TierSpec memory(std::uint64_t max_bytes);
HEARTH_API TierSpec disk(DiskOptions options);
HEARTH_API TierSpec disk(std::string directory, std::uint64_t max_bytes = DiskOptions{}.max_bytes);

}  // namespace hearth
