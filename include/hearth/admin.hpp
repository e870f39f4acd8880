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

// What operators do to a cache: look into it, bound it, put it in order, carry entries elsewhere. `hearth` on the
// command line is made of these. Thread safety: every function, from any thread, while programs use the same cache.

namespace hearth {

// What a promotion or demotion by hand did.
struct MoveReport {
    enum class Outcome : std::uint8_t {
        moved,           // it is in `to` now
        not_found,       // no tier holds it
        already_top,     // nothing faster to move to
        already_bottom,  // nothing slower to move to
        does_not_fit,    // larger than the target's capacity; the target is as it was
        refused,         // the target could not take it; `reason` says why
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

struct TransferReport {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
    std::uint64_t rejected = 0;  // corrupt, or of another format version
    std::uint64_t already_there = 0;
    std::vector<std::string> problems;  // a sentence each, the first hundred
};

// Answers whether an entry is meant. None given: every entry is.
using Choose = std::function<bool(const EntryRow&)>;

namespace admin {

// The tiers that hold it, in lookup order. No lookup is counted.
HEARTH_API std::vector<std::string> where(Cache& cache, const Key& key);
// One tier up or down, by hand.
HEARTH_API MoveReport promote(Cache& cache, const Key& key);
HEARTH_API MoveReport demote(Cache& cache, const Key& key);

HEARTH_API std::vector<TierStatus> tiers(Cache& cache);
// Both take effect before they return.
HEARTH_API Status set_limits(Cache& cache, std::string_view tier, const Limits& limits);
HEARTH_API Status set_policy(Cache& cache, std::string_view tier, const PolicyFactory& policy);

HEARTH_API std::optional<EntryRow> info(Cache& cache, const Key& key);
// Every entry once, with the fastest tier that holds it, until the visitor answers false.
HEARTH_API void list(Cache& cache, const std::function<bool(const EntryRow&)>& visit);
HEARTH_API std::vector<EntryRow> hottest(Cache& cache, std::size_t count);

HEARTH_API VerifyReport verify(Cache& cache, Repair repair, const Progress& progress = {});
// The persistent tiers of this machine, for once.
HEARTH_API GcReport gc(Cache& cache, const EvictTo& goal, const Progress& progress = {});
// What does not outlive the process; everything on this machine.
HEARTH_API void clear_memory(Cache& cache);
HEARTH_API void clear(Cache& cache);
// What the background thread does, now and here.
HEARTH_API void maintain(Cache& cache);
// Counting starts again from 0, for every process that uses the directory.
HEARTH_API void reset_stats(Cache& cache);

// To a file and from one. Each entry is verified before it is stored. (Bundles: hearth/bundle.hpp.)
HEARTH_API Result<TransferReport> export_to(Cache& cache, const std::string& path, const Choose& choose = {},
                                            const Progress& progress = {});
HEARTH_API Result<TransferReport> import_from(Cache& cache, const std::string& path, const Progress& progress = {});

// How a tier on a server is. It is asked even where it is left alone for now.
HEARTH_API Result<remotes::Check> check_remote(Cache& cache, std::string_view tier, std::uint64_t samples = 100);
// Entries of this machine to such a tier; what it has is not sent again.
HEARTH_API Result<TransferReport> push(Cache& cache, std::string_view tier, const Choose& choose = {},
                                       const Progress& progress = {});
// Entries of the server to the persistent tiers here; each is verified first.
HEARTH_API Result<TransferReport> pull(Cache& cache, std::string_view tier, const Choose& choose = {},
                                       const Progress& progress = {});

}  // namespace admin

}  // namespace hearth
