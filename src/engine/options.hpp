#pragma once

#include "engine/stats/journal.hpp"
#include "hearth/cache.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace hearth::engine {

// The settings of a Cache, with nothing left to be decided.
struct EngineOptions {
    std::vector<TierSpec> tiers;  // fastest first
    PolicyFactory policy;
    Compiling compiling = Compiling::allowed;
    std::uint32_t max_parallel_compiles = 0;
    std::chrono::milliseconds compile_time_limit{0};
    std::chrono::milliseconds flight_wait{60000};
    std::uint32_t variants_after = 100;
    std::chrono::milliseconds race_under{0};
    Switch stable_paths = Switch::off;
    std::chrono::milliseconds failure_ttl{60000};
    Maintenance maintenance = Maintenance::background;
    std::chrono::milliseconds maintenance_interval{60000};
    std::function<void(const Eviction&)> on_evict;
    std::optional<Recording> recording;
    LogSink log;
    const Clock* clock = nullptr;
};

// Has the journal hear of what goes wrong, beside whoever is told already.
EngineOptions with_faults_noted(EngineOptions options, std::shared_ptr<Journal> journal);

}  // namespace hearth::engine
