#pragma once

#include "base/fork.hpp"
#include "base/workers.hpp"
#include "engine/counters.hpp"
#include "engine/flights.hpp"
#include "hearth/bundle.hpp"
#include "hearth/cache.hpp"
#include "hearth/prewarm.hpp"
#include "hearth/vram.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace hearth::engine {

// Whether servers are asked too.
enum class Reach : std::uint8_t { this_machine, everywhere };

// What of this machine is kept as entries says so, and is not sent to servers by hand either.
inline constexpr std::string_view k_of_this_machine = "hearth";

// What is to be brought into a tier: what another tier has, or what was used most, or these keys.
struct PrewarmPlan {
    std::vector<Key> keys{};
    std::optional<TierSpec> source{};
    std::size_t hottest = 0;
    PrewarmOptions options{};
};

// Everything a Cache is made of, with nothing left to be decided.
struct EngineOptions {
    std::vector<TierSpec> tiers;  // fastest first
    PolicyFactory policy;
    Making making = Making::allowed;
    std::uint32_t max_parallel_makes = 0;
    std::chrono::milliseconds flight_wait{60000};
    std::chrono::milliseconds race_under{0};
    std::chrono::milliseconds failure_ttl{60000};
    Maintenance maintenance = Maintenance::background;
    std::chrono::milliseconds maintenance_interval{60000};
    std::function<void(const Eviction&)> on_evict;
    std::optional<Recording> recording;
    LogSink log;
    const Clock* clock = nullptr;
};

// The cache behind hearth::Cache: lookup order, single flight, promotion and demotion, statistics. It knows tiers by
// their interface only. Thread safety: all of it. No lock is held over a make, a callback, or a tier's find or store.
//   engine.cpp    opening, lookups, inserts, settings of tiers
//   vram.cpp      what device memory has of its own: leases, many reads at once
//   making.cpp    what happens on a miss: single flight here and on this machine, making, remembered failures
//   racing.cpp    quick makes, which do not wait for servers
//   moving.cpp    how entries move between tiers
//   listing.cpp   what is in the cache
//   upkeep.cpp    verifying, collecting, flushing, background maintenance
//   transfer.cpp  export, import and bundles
//   sharing.cpp   what goes to servers and comes from them by hand
//   prewarm.cpp   tiers that are filled beforehand, in the background
//   counting.cpp  statistics, here and in the directory's note
class Engine {
public:
    explicit Engine(EngineOptions options);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    static Cache as_cache(std::unique_ptr<Engine> engine);
    static Engine& of(Cache& cache);

    Lookup find(const Key& key);
    Lookup peek(const Key& key, Reach reach);
    // The lookup of a caller that has a maker at hand.
    Lookup look(const Key& key, const GetOptions& options);
    Result<InsertReport> insert(const Key& key, Artifact artifact, const InsertOptions& options);
    Result<Lookup> make_missing(const Key& key, const Bytes& request, const Maker& make, const GetOptions& options,
                                Lookup found);
    void run_later(std::function<void(const Status&)> work);
    std::future<Result<Lookup>> make_later(const Key& key, const Bytes& request, Maker make, const GetOptions& options);

    Result<Lookup> make_past(const Maker& make, const Metadata& metadata);
    bool races() const noexcept;

    Vram vram(std::string_view name);
    vram::Lease lease(std::size_t place, DeviceTier& tier, const Key& key, const vram::LeaseOptions& options);
    Result<vram::HostCopy> read_from_device(std::size_t place, DeviceTier& tier, std::span<const Key> keys);
    Result<StoreReport> store_on_device(std::size_t place, DeviceTier& tier, const Key& key, const Entry& entry,
                                        const vram::Placement& placement);
    Result<InsertReport> insert_on_device(std::size_t place, DeviceTier& tier, const Key& key, Artifact artifact,
                                          const vram::Placement& placement);
    Status copy_to_device(std::size_t place, DeviceTier& tier, const Key& key, int device);

    bool remove(const Key& key);
    std::vector<std::string> where(const Key& key);
    MoveReport promote(const Key& key);
    MoveReport demote(const Key& key);
    std::vector<TierStatus> tiers();
    Status set_limits(std::string_view tier, const Limits& limits);
    Status set_policy(std::string_view tier, const PolicyFactory& policy);

    std::optional<EntryRow> info(const Key& key);
    void list(const std::function<bool(const EntryRow&)>& visit);
    std::vector<EntryRow> hottest(std::size_t count);
    VerifyReport verify(Repair repair, const Progress& progress);
    GcReport gc(const GcOptions& options, const Progress& progress);
    Result<TransferReport> export_to(const std::string& path, const std::function<bool(const EntryRow&)>& choose,
                                     const Progress& progress);
    Result<TransferReport> import_from(const std::string& path, const Progress& progress);
    Result<bundle::WriteReport> bundle_to(const std::string& path, const std::function<bool(const EntryRow&)>& choose,
                                          const bundle::WriteOptions& options, const Progress& progress);

    Result<remote::Check> check_remote(std::string_view tier, std::uint64_t samples);
    Result<TransferReport> push(std::string_view tier, const std::function<bool(const EntryRow&)>& choose,
                                const Progress& progress);
    Result<TransferReport> pull(std::string_view tier, const std::function<bool(const EntryRow&)>& choose,
                                const Progress& progress);

    Prewarm prewarm(PrewarmPlan plan);

    void flush();
    void clear(bool persistent_too);
    void maintain(std::stop_token stop);
    Stats stats(Scope scope);
    void reset_stats();
    const Recording* recording() const noexcept { return m_options.recording ? &*m_options.recording : nullptr; }

private:
    using Deadline = std::optional<std::chrono::steady_clock::time_point>;
    static constexpr std::size_t k_none = ~std::size_t{0};

    Lookup find_from(std::size_t first, const Key& key, Miss why);
    Lookup find_among(std::size_t first, std::size_t end, const Key& key, Miss why);
    void count_miss(Miss why);
    Miss failed_find(std::size_t tier, Miss why, Miss before);
    const std::string* promote_after_hit(std::size_t tier, const Key& key, const Found& found);
    const std::string* bring_home(std::size_t tier, const Key& key, const Entry& entry);
    void count_failed_find(std::size_t tier, Miss why);

    // Which bundles entries are taken out of to a file.
    enum class Sources : std::uint8_t {
        all,
        checked,  // not those whose own signature nobody has checked
    };
    // An entry on its way out to a file, and the tier that it is taken from first.
    struct Carried {
        Key key;
        std::size_t tier = 0;
        Sources sources = Sources::all;
    };
    std::optional<std::vector<Carried>> choose_carried(const std::function<bool(const EntryRow&)>& choose,
                                                       Sources sources, const Progress& progress,
                                                       TransferReport& report);
    bool is_among(Sources sources, std::size_t tier) const;
    std::size_t carried_from(const EntryRow& row, Sources sources);
    Result<Bytes> encoded_entry(const Carried& carried, Miss& why);
    Result<bool> carry_out(std::span<const Carried> chosen, const std::function<Status(const Bytes&)>& take,
                           const Progress& progress, TransferReport& report);

    std::size_t fastest_with(const Key& key);
    std::size_t tier_named(std::string_view name) const;
    bool something_slower_is_writable(std::size_t tier) const;
    bool keeps_its_copy(std::size_t tier) const;
    std::size_t above(std::size_t tier) const;
    std::size_t bundle_with(std::size_t below, const Key& key);
    Result<RemoteTier*> remote_named(std::string_view name) const;
    bool is_on_this_machine(const Key& key);
    // Stores and deals with the victims. Every store of every kind comes through here.
    Result<StoreReport> store_in(std::size_t tier, const Key& key, const Entry& entry);
    Result<StoreReport> settle_store(std::size_t tier, Result<StoreReport> stored);
    void settle_victims(std::size_t tier, std::vector<Victim>&& victims);
    void tell_of(const Eviction& eviction);
    MoveReport move(const Key& key, std::size_t from, std::size_t to);

    Result<SharedArtifact> make_as_leader(const Key& key, const Bytes& request, const Maker& make,
                                          const GetOptions& options, bool& coalesced);
    std::unique_ptr<hearth::Flight> wait_for_machine(const Key& key, SharedArtifact& found);
    std::unique_ptr<hearth::Flight> wait_for_fleet(const Key& key, SharedArtifact& found);
    Result<SharedArtifact> run_maker(const Key* key, const Bytes& request, const Maker& make,
                                     const GetOptions& options);
    Error forbidden(const std::string& what);
    bool is_quick(const GetOptions& options) const;
    Result<Lookup> race(const Key& key, const Bytes& request, const Maker& make, const GetOptions& options,
                        Miss before);
    void remember(const Key& key, const Artifact& artifact, const GetOptions& options);
    void count(Count what, const GetOptions& options, std::uint64_t by = 1);
    Result<Lookup> fly(const Key& key, const Bytes& request, const Maker& make, const GetOptions& options,
                       const Deadline& deadline);

    class Filler;  // does a PrewarmPlan
    void end_prewarms();

    void prepare_making();
    void after_fork();
    void start_maintenance();
    void credit_uses();
    std::uint32_t not_credited(const Key& key, std::uint32_t uses);
    Tier* local_keeper(bool writable) const;
    Stats counted() const;
    void write_stats();
    void write_stats_now_and_then(std::uint64_t now_ns);
    void log_once(std::size_t tier, const std::string& message);

    EngineOptions m_options;
    const Clock& m_clock;
    std::vector<std::unique_ptr<Tier>> m_tiers;
    std::vector<std::string> m_names;                  // filled once: lookups point to them
    std::array<RemoteTier*, k_max_tiers> m_remotes{};  // by place; null: it is none
    std::size_t m_first_remote = 0;                    // behind it there are only remotes
    Tier* m_plain_top = nullptr;  // the first tier, when it is so fast that only some of its hits are timed
    Counters m_counters;
    std::array<LatencyCounter, k_max_tiers> m_latency;

    base::ForkSafeMutex m_policy_mutex{base::LockLevel::engine};
    std::vector<std::shared_ptr<const Policy>> m_promotion;  // per tier: whether its entries move up

    // By pointer: a forked child leaves these behind, with the threads that did not come along, and makes new ones.
    std::unique_ptr<Flights> m_flights;
    std::unique_ptr<MakerLimit> m_maker_limit;
    std::unique_ptr<base::Workers> m_workers;

    base::ForkSafeMutex m_stats_mutex{base::LockLevel::engine};
    Stats m_stats_written;  // what of our counts is in the note already
    Stats m_stats_base;     // our counts at the last reset
    std::atomic<std::uint64_t> m_stats_due_ns{0};

    base::ForkSafeMutex m_credit_mutex{base::LockLevel::engine};
    std::unordered_map<Key, std::uint32_t> m_credited;  // uses in memory that the disk has been told of
    WallTime m_credited_at{};

    std::array<std::atomic<bool>, k_max_tiers + 1> m_logged{};  // a tier's first trouble; the last: anything else's

    base::ForkSafeMutex m_maintenance_mutex{base::LockLevel::engine};
    std::atomic<bool> m_maintenance_started{false};
    std::jthread m_maintenance;

    base::ForkSafeMutex m_prewarm_mutex{base::LockLevel::engine};
    std::vector<std::weak_ptr<PrewarmJob>> m_prewarms;  // their handles own them

    const base::ForkGuard m_fork_guard{[this] { after_fork(); }};
};

}  // namespace hearth::engine
