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
        : options(std::move(chosen)), tiers(options.tiers, {options.clock, options.log, options.policy}),
          statistics(tiers, counters), stack(options, tiers, counters, statistics, [this] { upkeep.start(); }),
          upkeep(options, stack, statistics), flights(options, stack), prewarms(options, stack)
    {
    }

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
