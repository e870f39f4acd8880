#pragma once

#include "hearth/cache.hpp"
#include "hearth/vram.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace demo {

// IR that was found, on the host. It stays where it is as long as `owner` is kept.
struct Ir {
    hearth::ByteView bytes;
    std::string tier;  // that had it: "vram" or "disk"
    std::shared_ptr<const void> owner;
};

struct IrStatistics {
    std::uint64_t vram_hits = 0;
    std::uint64_t disk_hits = 0;
    std::uint64_t misses = 0;
    std::chrono::nanoseconds spent{0};  // on lookups, in all

    std::uint64_t hits() const { return vram_hits + disk_hits; }
    std::uint64_t lookups() const { return hits() + misses; }
    double hit_rate() const
    {
        return lookups() == 0 ? 0 : static_cast<double>(hits()) / static_cast<double>(lookups());
    }
    double mean_latency_us() const
    {
        return lookups() == 0 ? 0 : static_cast<double>(spent.count()) / 1e3 / static_cast<double>(lookups());
    }
};

// A compiler's IR in device memory, and in a directory for the next process.
//
//   IrCache cache(512_MiB, "cache", [&](std::string_view file) { return sources.request(file); });
//   if (auto ir = cache.get("main.eph"))
//       link(ir->bytes);
//   else
//       cache.insert("main.eph", compile("main.eph"));
//
// A module is asked for by its file's name and found by its content: the function it is opened with says what that is.
// The name is only what `hearth ls` shows. Without a GPU the device memory is the host's; without a usable directory,
// or with nothing at all, everything works and less is found.
//
// Thread safety: every function, from any thread.
class IrCache {
public:
    // Everything that decides the IR of that file's module.
    using Describe = std::function<hearth::Request(std::string_view file)>;

    // Takes hold of the device right away, which can take half a second, so that no lookup has to.
    IrCache(std::uint64_t vram_bytes, const std::string& directory, Describe describe,
            hearth::device::Backend backend = hearth::device::Backend::automatic);

    std::optional<Ir> get(std::string_view file);
    // Many at once, in the order asked: what is in device memory comes with one gather and one wait.
    std::vector<std::optional<Ir>> get_many(std::span<const std::string> files);
    // Under the content that get() last saw of this file, whatever has become of the file since. What making it took
    // is what losing it would cost: the cache keeps the dearest.
    void insert(std::string_view file, hearth::ByteView ir, std::chrono::nanoseconds cost = {});

    // Where it lies on the device, without a copy: for a compiler whose next stage runs there. Brought there from disk
    // if need be; empty when it is nowhere.
    hearth::device::Lease lease(std::string_view file);

    IrStatistics statistics() const;
    // Which memory it is, and why not another; or why there is no cache.
    hearth::Result<hearth::device::Report> memory();

private:
    hearth::Request asked(std::string_view file);
    std::optional<Ir> find(const hearth::Key& key);

    Describe m_describe;
    std::optional<hearth::Cache> m_cache;
    std::string m_problem;  // why there is none

    mutable std::mutex m_mutex;  // of what is below
    std::map<std::string, hearth::Request, std::less<>> m_asked;
    IrStatistics m_statistics;
};

}  // namespace demo
