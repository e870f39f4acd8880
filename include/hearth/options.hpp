#pragma once

#include "hearth/api.hpp"
#include "hearth/policy.hpp"
#include "hearth/result.hpp"
#include "hearth/switch.hpp"
#include "hearth/tier.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hearth {

// What a set of defaults is meant for; `hearth config --preset NAME` shows what each one sets.
enum class Preset : std::uint8_t {
    development,       // small, short-lived, talks: 64 MiB of memory, 1 GiB of disk, a week, log on
    production,        // bounded and quiet: 256 MiB, 10 GiB, no expiry
    high_performance,  // room and speed: 1 GiB, 50 GiB, first hit moves to memory, no compression
};

enum class Compiling : std::uint8_t {
    allowed,
    forbidden,
    forbidden_after_ready,  // allowed until hearth::ready() was called: hearth/ready.hpp
};
enum class Maintenance : std::uint8_t { background, by_hand };

// An entry that a tier has evicted, as on_evict is told of it.
struct Eviction {
    Key key;
    std::uint64_t bytes = 0;
    EvictionCause cause = EvictionCause::capacity;
    std::string tier;
    std::string demoted_to;  // the slower tier that has it now; empty: none
};

// Settings left empty come from the environment, then the configuration file, then the preset.
struct CacheOptions {
    std::optional<Preset> preset{};

    // The default tiers, memory over disk, are shaped by these...
    std::optional<std::string> directory{};
    std::optional<std::uint64_t> memory_bytes{};
    // A tier in device memory between the two: 0 for none, device::k_recommended for what suits the device.
    std::optional<std::uint64_t> vram_bytes{};
    std::optional<std::string> vram_backend{};  // "auto", "cuda", "opencl", "webgpu" or "host"
    std::optional<std::uint64_t> disk_bytes{};
    std::optional<std::uint64_t> disk_entries{};
    std::optional<std::uint64_t> max_entry_bytes{};
    std::optional<std::chrono::seconds> max_age{};
    std::optional<int> compression{};
    std::optional<Access> access{};
    std::optional<Users> users{};
    std::optional<Switch> durable{};  // DiskOptions::durable
    // Behind them come bundles, files of entries that ship with an application, in the order in which they are asked:
    // docs/bundles.md.
    std::optional<std::vector<std::string>> bundles{};
    // Behind those come servers that a fleet shares, in the order in which they are asked: docs/remote.md.
    std::optional<std::vector<std::string>> remotes{};
    // Who may write what is loaded: docs/security.md.
    std::optional<std::string> sign_with{};                       // a file that `hearth keygen` wrote
    std::optional<std::vector<std::string>> trusted_keys{};       // public keys, or files of them
    std::optional<std::vector<std::string>> demand_signatures{};  // names of tiers, or "bundles", "remotes" or "all"
    // ...or replaced by one's own, fastest first.
    std::vector<TierSpec> tiers{};

    PolicyFactory policy{};                    // one's own...
    std::optional<std::string> policy_name{};  // ...or "gdsf" or "lru"
    std::optional<std::uint32_t> promote_after{};

    std::optional<Switch> caching{};  // off: no tiers at all; every lookup is a miss, a key is still compiled once
    std::optional<Compiling> compiling{};
    // Whether a program whose output holds its path, as debug information does, may be compiled under a name without
    // its directory, so that one that lies in a new directory every time is a hit: docs/zero-change.md. For gcc and
    // clang: docs/compilers.md.
    std::optional<Switch> stable_paths{};
    std::optional<std::uint32_t> max_parallel_compiles{};  // 0: as many as ask
    // How long whoever asks for a compile waits at most, unless GetOptions::deadline says otherwise: docs/scaling.md.
    // 0: as long as it takes.
    std::optional<std::chrono::milliseconds> compile_time_limit{};
    std::optional<std::chrono::milliseconds> flight_wait{};  // how long to wait for another process's compile
    // A compile that is expected to take less than this, and owns its captures (GetOptions), begins while servers are
    // still being asked; the first result counts. 0: never.
    std::optional<std::chrono::milliseconds> race_under{};
    // Launches of a kernel that declares variants (hearth/variants.hpp) before they are compiled and measured: 0:
    // never.
    std::optional<std::uint32_t> variants_after{};
    std::optional<std::chrono::milliseconds> failure_ttl{};  // how long a failed compile is remembered; 0: not at all
    std::optional<Maintenance> maintenance{};
    std::optional<std::chrono::milliseconds> maintenance_interval{};  // 0: never

    // A file to which every compile is appended, so that it can be built beforehand elsewhere: docs/recipes.md.
    // Empty: none.
    std::optional<std::string> record_to{};

    std::function<void(const Eviction&)> on_evict{};  // called after the fact, from the thread that caused it
    LogSink log{};                                    // one's own...
    std::optional<std::string> log_to{};              // ...or "off", "stderr" or a file's path
    const Clock* clock = nullptr;                     // the system's when empty; must outlive the cache
};

// The value of one setting, and where it came from.
struct Setting {
    std::string name;
    std::string value;
    std::string source;       // "option", "environment HEARTH_X", "file /path", "preset NAME", "default"
    std::string environment;  // the variable that sets it
    std::string meaning;
};

struct Settings {
    std::vector<Setting> values;
    std::vector<std::string> problems;  // a sentence for each value that could not be used; the next source was
    CacheOptions options;               // every optional filled

    HEARTH_API const Setting* find(std::string_view name) const;
};

// What Cache::open(options) would use, and where each value came from.
HEARTH_API Settings resolve(CacheOptions options = {});

}  // namespace hearth
