#pragma once

#include "hearth/compiler_kind.hpp"
#include "hearth/remote.hpp"
#include "hearth/tier.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// Times as counts in buckets a quarter of a power of two wide: a percentile is right to within 19 %.
struct Latency {
    static constexpr std::size_t k_buckets = 160;

    std::array<std::uint64_t, k_buckets> buckets{};
    std::uint64_t samples = 0;
    std::uint64_t total_ns = 0;

    HEARTH_API static std::size_t bucket_of(std::uint64_t ns);
    // Every time in the bucket is less than this.
    HEARTH_API static std::uint64_t end_of(std::size_t bucket);
    HEARTH_API void add(std::uint64_t ns, std::uint64_t count = 1);
    HEARTH_API double percentile_us(double share) const;  // 0 without samples
    HEARTH_API double mean_us() const;
};

struct TierStats {
    std::string name;
    std::string note;                  // what it really is, if its name does not tell
    std::uint64_t capacity_bytes = 0;  // 0: no limit
    std::uint64_t used_bytes = 0;
    std::uint64_t entries = 0;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;  // lookups that it was asked and could not serve, other than by an outage
    std::uint64_t stores = 0;
    std::uint64_t evictions = 0;
    std::uint64_t demotions = 0;   // victims of this tier that a slower one took in
    std::uint64_t promotions = 0;  // entries that moved up into this tier
    std::uint64_t corrupt = 0;
    std::uint64_t outages = 0;
    Latency latency;                          // of hits; in a memory tier every 128th is timed
    Latency miss_latency;                     // of misses; in a memory tier only some are timed
    std::optional<remotes::Report> remote{};  // of a tier on a server: how it is, as this process sees it
};

// What one kind of compiler was asked for.
struct CompilerStats {
    std::uint64_t hits = 0;
    std::uint64_t compiles = 0;
    std::uint64_t compile_ns_spent = 0;
    std::uint64_t compile_ns_saved = 0;
};

// Counts are exact: they equal what happened, whatever the threads did.
struct Stats {
    std::uint64_t hits = 0;
    std::array<std::uint64_t, k_miss_reasons> misses{};  // by Miss; outage and timeout stay 0
    std::uint64_t outages = 0;  // lookups in which no tier hit and at least one could not be asked: not misses
    std::uint64_t stores = 0;
    std::uint64_t compiles = 0;
    std::uint64_t compile_failures = 0;
    std::uint64_t failures_replayed = 0;
    std::uint64_t waited = 0;                // lookups that waited for another's compile instead of compiling
    std::uint64_t forbidden = 0;             // misses in a cache that may not compile
    std::uint64_t dropped_stores = 0;        // results that could not be stored; the caller got them all the same
    std::uint64_t compiles_after_ready = 0;  // hearth/ready.hpp
    std::uint64_t compile_ns_spent = 0;
    std::uint64_t compile_ns_saved = 0;
    Latency compile_latency;                                  // of compiles
    std::array<CompilerStats, k_compiler_kinds> compilers{};  // by CompilerKind
    std::vector<TierStats> tiers;                             // in lookup order

    HEARTH_API std::uint64_t misses_in_all() const;
    std::uint64_t lookups() const { return hits + misses_in_all() + outages; }
    HEARTH_API std::uint64_t evictions() const;
    HEARTH_API std::uint64_t demotions() const;
    HEARTH_API std::uint64_t corrupt() const;
    // Hits among lookups; 0 when there were none.
    HEARTH_API double hit_rate() const;
};

// A count, and what it is called.
template <class Of>
struct CountName {
    std::uint64_t Of::*member;
    std::string_view name;  // as `hearth stats --json` shows it; times are in seconds
    std::string_view note;  // its name in the note beside the entries; never changes
    enum class Unit : std::uint8_t { one, nanosecond } unit = Unit::one;
};

// Every count there is, once: summing, adding, writing down and showing them all go by these tables.
inline constexpr std::array k_counts{
    CountName<Stats>{&Stats::hits, "hits", "hits"},
    CountName<Stats>{&Stats::outages, "outages", "outages"},
    CountName<Stats>{&Stats::stores, "stores", "stores"},
    CountName<Stats>{&Stats::compiles, "compiles", "makes"},
    CountName<Stats>{&Stats::compile_failures, "compile_failures", "make_failures"},
    CountName<Stats>{&Stats::failures_replayed, "failures_replayed", "failures_replayed"},
    CountName<Stats>{&Stats::waited, "waited", "coalesced"},
    CountName<Stats>{&Stats::forbidden, "forbidden", "forbidden"},
    CountName<Stats>{&Stats::dropped_stores, "dropped_stores", "dropped_stores"},
    CountName<Stats>{&Stats::compiles_after_ready, "compiles_after_ready", "compiles_after_ready"},
    CountName<Stats>{&Stats::compile_ns_spent, "compile_seconds_spent", "make_ns_spent",
                     CountName<Stats>::Unit::nanosecond},
    CountName<Stats>{&Stats::compile_ns_saved, "compile_seconds_saved", "make_ns_saved",
                     CountName<Stats>::Unit::nanosecond},
};
inline constexpr std::array k_compiler_counts{
    CountName<CompilerStats>{&CompilerStats::hits, "hits", "hits"},
    CountName<CompilerStats>{&CompilerStats::compiles, "compiles", "compiles"},
    CountName<CompilerStats>{&CompilerStats::compile_ns_spent, "compile_seconds_spent", "ns_spent",
                             CountName<CompilerStats>::Unit::nanosecond},
    CountName<CompilerStats>{&CompilerStats::compile_ns_saved, "compile_seconds_saved", "ns_saved",
                             CountName<CompilerStats>::Unit::nanosecond},
};
inline constexpr std::array k_tier_counts{
    CountName<TierStats>{&TierStats::hits, "hits", "hits"},
    CountName<TierStats>{&TierStats::stores, "stores", "stores"},
    CountName<TierStats>{&TierStats::evictions, "evictions", "evictions"},
    CountName<TierStats>{&TierStats::demotions, "demotions", "demotions"},
    CountName<TierStats>{&TierStats::promotions, "promotions", "promotions"},
    CountName<TierStats>{&TierStats::corrupt, "corrupt", "corrupt"},
    CountName<TierStats>{&TierStats::outages, "outages", "outages"},
    CountName<TierStats>{&TierStats::misses, "misses", "misses"},
};

enum class Scope : std::uint8_t {
    process,    // since this Cache was opened
    directory,  // of every process that used the same directory, this one included, since the last reset
};

}  // namespace hearth
