#pragma once

#include "engine/flights/flights.hpp"
#include "engine/options.hpp"
#include "engine/stack/stack.hpp"
#include "engine/stats/statistics.hpp"
#include "engine/transport/prewarms.hpp"
#include "engine/upkeep/upkeep.hpp"

namespace hearth {

// A Cache that owns nothing: it is never destroyed.
union LastingCache {
    explicit LastingCache(Cache::Parts& parts);
    ~LastingCache() {}  // NOLINT: not the default one, which would destroy the cache
    LastingCache(const LastingCache&) = delete;
    LastingCache& operator=(const LastingCache&) = delete;

    Cache cache;
};

// What a Cache consists of. Each part knows the parts before it, and is closed before they are.
struct Cache::Parts {
    explicit Parts(engine::EngineOptions chosen)
        : options(engine::with_faults_noted(std::move(chosen), journal)),
          tiers(options.tiers, {options.clock, options.log, options.policy}),
          statistics(tiers, counters, *journal, *options.clock),
          stack(options, tiers, counters, statistics, [this] { upkeep.start(); }), upkeep(options, stack, statistics),
          flights(options, stack, statistics, *journal), prewarms(options, stack)
    {
    }

    // Shared with the log, which may be called when the cache is gone.
    const std::shared_ptr<engine::Journal> journal = std::make_shared<engine::Journal>();
    const engine::EngineOptions options;
    const engine::Tiers tiers;
    engine::Counters counters;
    engine::Statistics statistics;
    engine::Stack stack;
    engine::Upkeep upkeep;
    engine::Flights flights;
    engine::Prewarms prewarms;
    LastingCache lasting{*this};  // hearth/lasting.hpp
};

inline LastingCache::LastingCache(Cache::Parts& parts) : cache(std::unique_ptr<Cache::Parts>(&parts)) {}

}  // namespace hearth
