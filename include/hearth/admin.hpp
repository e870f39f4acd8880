#pragma once

#include "hearth/api.hpp"
#include "hearth/cache.hpp"
#include "hearth/remote.hpp"
#include "hearth/tier.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What operators do to a cache: look into it, bound it, put it in order, carry entries elsewhere. The command `hearth`
// is built on these. Thread safety: every function, from any thread, while programs use the same cache.

namespace hearth {

// What a promotion or demotion by hand did.
struct MoveReport {
    enum class Outcome : std::uint8_t {
        moved,           // it is in `to` now
        not_found,       // no tier holds it
        already_top,     // nothing faster to move to
        already_bottom,  // nothing slower to move to
        does_not_fit,    // larger than the capacity of `to`, which has not changed
        refused,         // `to` could not take it; `reason` says why
    };
    Outcome outcome = Outcome::not_found;
    std::string from;
    std::string to;
    std::string reason;
};
HEARTH_API std::string_view to_string(MoveReport::Outcome outcome);

struct TierStatus {
    std::string name;
    TierTraits traits;
    Limits limits;
    TierUsage usage;
};

struct GcReport {
    std::uint64_t removed_entries = 0;
    std::uint64_t removed_bytes = 0;
    TierUsage left;
};

// An entry that gc() would remove.
struct GcCandidate {
    enum class Why : std::uint8_t {
        expired,
        unused,      // for as long as EvictTo::unused_for says
        over_limit,  // it is worth least to the policy, and there is more than the goal or the tier's limits allow
    };
    EntryRow entry;
    Why why = Why::expired;
};
HEARTH_API std::string_view to_string(GcCandidate::Why why);

struct TransferReport {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
    std::uint64_t rejected = 0;  // corrupt, or of another format version
    std::uint64_t already_there = 0;
    std::vector<std::string> problems;  // a sentence each, the first hundred
};

// Returns true for the entries that are meant. Left empty: every entry.
using Choose = std::function<bool(const EntryRow&)>;

namespace admin {

// The tiers that hold the entry, in lookup order. No lookup is counted.
HEARTH_API std::vector<std::string> where(Cache& cache, const Key& key);
// One tier up or down, by hand. The policy of the tier it comes from is not asked; that of the tier it goes to may
// refuse it (Policy::admit), and then it stays where it is.
HEARTH_API MoveReport promote(Cache& cache, const Key& key);
HEARTH_API MoveReport demote(Cache& cache, const Key& key);

HEARTH_API std::vector<TierStatus> tiers(Cache& cache);
// Both take effect before they return. What equals the limits that tiers() tells is left as it is: of a tier in device
// memory 0 may stand for limits that are not known yet, or for those of a partition. To lift one, give a large number.
HEARTH_API Status set_limits(Cache& cache, std::string_view tier, const Limits& limits);
HEARTH_API Status set_policy(Cache& cache, std::string_view tier, const PolicyFactory& policy);

HEARTH_API std::optional<EntryRow> info(Cache& cache, const Key& key);
// Every entry once, with the fastest tier that holds it, until the visitor returns false.
HEARTH_API void list(Cache& cache, const std::function<bool(const EntryRow&)>& visit);
// Those of this machine that were used most, or last. What was never used counts as used when it was stored.
HEARTH_API std::vector<EntryRow> hottest(Cache& cache, std::size_t count);
HEARTH_API std::vector<EntryRow> recent(Cache& cache, std::size_t count);
// When the entry of a tier was used that was not used since for longest. None: the tier is empty or on a server.
// Cost: reads every row of the tier's index.
HEARTH_API std::optional<WallTime> longest_unused(Cache& cache, std::string_view tier);

HEARTH_API VerifyReport verify(Cache& cache, Repair repair, const Progress& progress = {});
// Evicts from the persistent tiers of this machine, to their limits and, this once, to the goal. Limits stay as they
// are.
HEARTH_API GcReport gc(Cache& cache, const EvictTo& goal, const Progress& progress = {});
// What gc() would remove now, and why. Removes nothing.
HEARTH_API std::vector<GcCandidate> would_gc(Cache& cache, const EvictTo& goal);
// Clears the tiers that do not outlive the process. Neither this nor clear() does anything inside on_evict; and what
// other threads of the process copy between tiers meanwhile does not bring a cleared entry back.
HEARTH_API void clear_memory(Cache& cache);
// Clears every tier on this machine.
HEARTH_API void clear(Cache& cache);
// Does the background thread's work now, on the calling thread.
HEARTH_API void maintain(Cache& cache);
// Counting starts again from 0, for every process that uses the directory.
HEARTH_API void reset_stats(Cache& cache);

// These write entries to a file and read them from one. Each entry is verified before it is stored.
// (Bundles: hearth/bundle.hpp.)
HEARTH_API Result<TransferReport> export_to(Cache& cache, const std::string& path, const Choose& choose = {},
                                            const Progress& progress = {});
HEARTH_API Result<TransferReport> import_from(Cache& cache, const std::string& path, const Progress& progress = {});

// Checks a tier on a server. The server is asked even while lookups leave it alone because it failed.
HEARTH_API Result<remotes::Check> check_remote(Cache& cache, std::string_view tier, std::uint64_t samples = 100);
// Sends entries of this machine to a tier on a server. What the server has is not sent again.
HEARTH_API Result<TransferReport> push(Cache& cache, std::string_view tier, const Choose& choose = {},
                                       const Progress& progress = {});
// Fetches entries of the server into the persistent tiers here. Each is verified first.
HEARTH_API Result<TransferReport> pull(Cache& cache, std::string_view tier, const Choose& choose = {},
                                       const Progress& progress = {});
// The same for entries whose keys are known, from any server: none is asked for a list. Those that are here already,
// or that the server does not have, are left out.
HEARTH_API Result<TransferReport> fetch(Cache& cache, std::string_view tier, const std::vector<Key>& keys,
                                        const Progress& progress = {});

}  // namespace admin

}  // namespace hearth
