// From settings to a cache: the only place that names every backend.

#include "base/clock.hpp"
#include "config/log_sink.hpp"
#include "engine/engine.hpp"
#include "hearth/cache.hpp"
#include "hearth/device_tier.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <set>

namespace hearth {

namespace {

constexpr std::size_t k_longest_name = 64;

// Names stand in statistics, in tables and on command lines.
bool is_name(std::string_view name)
{
    const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
    return !name.empty() && name.size() <= k_longest_name && std::all_of(name.begin(), name.end(), plain);
}

std::vector<TierSpec> default_tiers(const CacheOptions& options)
{
    std::vector<TierSpec> tiers;
    if (*options.memory_bytes != 0)
        tiers.push_back(memory(*options.memory_bytes));
    if (*options.vram_bytes != 0)
        tiers.push_back(
            vram::tier({.backend = vram::backend_named(*options.vram_backend).value_or(vram::Backend::automatic),
                        .max_bytes = *options.vram_bytes}));
    DiskOptions on_disk;
    on_disk.directory = *options.directory;
    on_disk.max_bytes = *options.disk_bytes;
    on_disk.max_entries = *options.disk_entries;
    on_disk.max_age = *options.max_age;
    on_disk.compression = *options.compression;
    on_disk.access = *options.access;
    on_disk.shared = *options.shared;
    tiers.push_back(disk(std::move(on_disk)));
    return tiers;
}

}  // namespace

Result<Cache> Cache::open(CacheOptions options)
{
    Settings settings = resolve(std::move(options));
    CacheOptions& resolved = settings.options;
    engine::EngineOptions chosen;
    chosen.log = resolved.log ? resolved.log : config::log_sink(*resolved.log_to);
    if (chosen.log)
        for (const std::string& problem : settings.problems)
            chosen.log(LogLevel::warning, problem);
    if (!*resolved.disabled)
        chosen.tiers = resolved.tiers.empty() ? default_tiers(resolved) : std::move(resolved.tiers);
    std::set<std::string_view> names;
    for (const TierSpec& tier : chosen.tiers) {
        if (!is_name(tier.name))
            return Error{Code::invalid_argument,
                         fmt::format("A tier cannot be called \"{}\": a name is 1 to {} letters, digits, '-' and '_'.",
                                     tier.name, k_longest_name),
                         {}};
        if (!names.insert(tier.name).second)
            return Error{Code::invalid_argument,
                         fmt::format("Two tiers are called \"{}\". Give one of them another name, as in "
                                     "memory({{.name = \"pinned\"}}).",
                                     tier.name),
                         {}};
    }
    const PolicyOptions policy{.promote_after = *resolved.promote_after};
    chosen.policy = resolved.policy ? resolved.policy : *resolved.policy_name == "lru" ? lru(policy) : gdsf(policy);
    chosen.making = *resolved.making;
    chosen.max_parallel_makes = *resolved.max_parallel_makes;
    chosen.flight_wait = *resolved.flight_wait;
    chosen.failure_ttl = *resolved.failure_ttl;
    chosen.maintenance = *resolved.maintenance;
    chosen.maintenance_interval = *resolved.maintenance_interval;
    chosen.on_evict = std::move(resolved.on_evict);
    chosen.clock = resolved.clock ? resolved.clock : &base::system_clock();
    return engine::Engine::as_cache(std::make_unique<engine::Engine>(std::move(chosen)));
}

}  // namespace hearth
