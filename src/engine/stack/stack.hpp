#pragma once

#include "base/fork.hpp"
#include "engine/options.hpp"
#include "engine/stack/credits.hpp"
#include "engine/stack/tiers.hpp"
#include "engine/stack/writes.hpp"
#include "engine/stats/statistics.hpp"
#include "hearth/admin.hpp"
#include "resident/artifact_node.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::engine {

// The tiers as one: lookups fall through them, used entries move up, evicted ones move down.
// Thread safety: all of it. No lock is held over a callback, or a tier's find or store.
//   stack.cpp    lookups, inserts, settings of tiers
//   moving.cpp   how entries move between tiers
//   listing.cpp  what is in the cache
class Stack {
public:
    // `needs_upkeep` is called after a store into a tier that persists, of what expires, or with a limit on age.
    Stack(const EngineOptions& options, const Tiers& tiers, Counters& counters, Statistics& statistics,
          std::function<void()> needs_upkeep);

    const Tiers& tiers() const { return m_tiers; }
    Counters& counters() { return m_counters; }
    Credits& credits() { return m_credits; }
    Writes& writes() { return m_writes; }

    Lookup find(const Key& key);
    // In some tiers only; not finding it there does not count as a miss of the cache.
    Lookup find_among(std::size_t first, std::size_t end, const Key& key, Miss why);
    // From a tier on, after the tiers before it missed for the reason `why`.
    Lookup find_from(std::size_t first, const Key& key, Miss why);
    Lookup peek(const Key& key, Reach reach);
    // On this machine. A derived entry is found only where it was derived here: whatever else lies under its key, as
    // what was pulled or imported, somebody else may have written.
    Lookup peek_here(const Key& key, EntryKind kind);
    // `placement`: where in device memory, if only the tier there is to have it.
    Result<InsertReport> insert(const Key& key, Artifact artifact, const InsertOptions& options,
                                const device::Placement* placement = nullptr);
    // What was found is no result of its question: hearth/refuse.hpp.
    void refuse(const Lookup& found, const Key& key);
    bool touch(const Key& key);
    bool remove(const Key& key, Reach reach);
    // All entries of this machine, or those in memory. No copy under way brings one back.
    enum class Cleared : std::uint8_t { memory, this_machine };
    void clear(Cleared what);

    // Stores what was read after the ticket `read` was taken, unless the key was written since, and deals with the
    // victims. If a tier is named that it moves from, it is then removed there. Every copy comes through here.
    Result<StoreReport> copy_in(std::size_t tier, const Key& key, const Entry& entry, Writes::Ticket read,
                                std::size_t moves_from = k_none);
    // What a tier said to a store, and what it evicted on the way, also when it failed.
    struct Stored {
        Result<StoreReport> result;
        std::vector<Victim> gone{};
    };
    Stored store_in(std::size_t tier, const Key& key, const Entry& entry, const device::Placement* placement = nullptr);
    // Deals with the outcome of a store, or with victims only: they were read after `read` was taken.
    Result<StoreReport> settle_store(std::size_t tier, Stored stored, Writes::Ticket read);
    void settle_victims(std::size_t tier, std::vector<Victim>&& victims, Writes::Ticket read);
    // Stores a remote's entry in faster tiers. Returns the fastest tier that has it now, or none.
    const std::string* bring_home(std::size_t tier, const Key& key, const Entry& entry, Writes::Ticket read);
    MoveReport promote(const Key& key);
    MoveReport demote(const Key& key);

    // False: this thread is in this cache's on_evict. An entry that is stored there may evict another, and so on
    // without end. Whatever may store or evict asks first.
    bool may_change() const noexcept;
    static Error not_in_on_evict();

    std::vector<std::string> where(const Key& key);
    std::optional<EntryRow> info(const Key& key);
    void list(const std::function<bool(const EntryRow&)>& visit);
    std::vector<EntryRow> hottest(std::size_t count);
    std::vector<EntryRow> recent(std::size_t count);
    std::optional<WallTime> longest_unused(std::string_view tier);

    // For what must go on whatever happens in it: what it throws is logged, once.
    template <class Work>
    void attempt(const char* what, Work&& work) noexcept
    try {
        work();
    } catch (...) {
        tell_of_throw(what);
    }

    std::vector<TierStatus> status();
    Status set_limits(std::string_view tier, const Limits& limits);
    Status set_policy(std::string_view tier, const PolicyFactory& policy);

private:
    // The tiers that a write goes to: all, or only one, and where in it.
    struct Where {
        std::size_t only;
        const device::Placement* placement;
    };
    std::vector<std::optional<Stored>> write(const Key& key, const Entry& entry, EntryKind kind, const Where& where,
                                             Writes::Ticket& before);
    Status may_be_unsigned(const Key& key, std::size_t only) const;
    void count_miss(Miss why);
    Miss failed_find(std::size_t tier, Miss why, Miss before);
    void log_once(std::size_t tier, const std::string& message);
    void tell_of_throw(const char* what) noexcept;
    resident::HeldArtifact find_on_top(const Key& key, Miss& why);

    const std::string* promote_after_hit(std::size_t tier, const Key& key, const Found& found, Writes::Ticket read);
    std::size_t fastest_with(const Key& key);
    std::size_t bundle_with(std::size_t below, const Key& key);
    std::size_t demote_victim(std::size_t tier, const Victim& victim, Writes::Ticket read);
    void tell_of(const Eviction& eviction);
    MoveReport move(const Key& key, std::size_t from, std::size_t to, bool leaves);

    resident::ArtifactsAtHand* m_top = nullptr;  // the first tier, if it is so fast that only some hits are timed
    const std::string* m_top_name = nullptr;
    Counters& m_counters;
    const Tiers& m_tiers;
    const EngineOptions& m_options;
    Statistics& m_statistics;
    Credits m_credits;
    Writes m_writes;
    const std::function<void()> m_needs_upkeep;

    base::ForkSafeMutex m_policy_mutex{base::LockLevel::engine};
    std::vector<std::shared_ptr<const Policy>> m_promotion;  // per tier: whether its entries move up

    std::array<std::atomic<bool>, k_max_tiers + 1> m_logged{};  // a tier's first trouble; the last: anything else's
};

}  // namespace hearth::engine
