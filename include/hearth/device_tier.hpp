#pragma once

#include "hearth/api.hpp"
#include "hearth/artifact.hpp"
#include "hearth/key.hpp"
#include "hearth/result.hpp"
#include "hearth/tier.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Bytes that live in device memory and are found by key: for compilers and runtimes that work on the GPU. What the host
// consumes is faster in host memory (docs/vram.md has the figures).

namespace hearth {

namespace base {
struct HazardSlot;
}

namespace device {

enum class Backend : std::uint8_t {
    automatic,  // the best that is here
    cuda,
    opencl,
    webgpu,
    host,  // host memory in place of a device's: everything works the same, nothing is faster
};
HEARTH_API std::string_view to_string(Backend backend);
HEARTH_API std::optional<Backend> backend_named(std::string_view name);

struct Device {
    Backend backend = Backend::host;
    int index = 0;  // among the backend's devices
    std::string name;
    bool gpu = false;               // a processor of its own with memory of its own
    std::uint64_t total_bytes = 0;  // 0: it does not tell
};

// The devices a backend found here; if there are none, what it looked for and how to get it.
struct BackendReport {
    Backend backend = Backend::host;
    std::vector<Device> devices;
    std::string missing;  // a sentence; empty when there are devices
};
// All of them, best first. Loads their libraries.
HEARTH_API std::vector<BackendReport> backends();

// How much of a device's memory a cache may well take: 12 % up to 8 GiB, rising to 25 % at 80 GiB.
HEARTH_API std::uint64_t recommended_bytes(std::uint64_t device_bytes);
inline constexpr std::uint64_t k_recommended = ~std::uint64_t{0};  // as a capacity: what recommended_bytes() says

// CUstream or cudaStream_t; for Lease::release_after() also a cl_command_queue.
using Stream = void*;

// Where bytes lie on a device: at an address (CUDA, host) or at an offset in a buffer (cl_mem, WGPUBuffer).
struct Region {
    std::uint64_t address = 0;
    void* buffer = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;

    void* pointer() const noexcept { return reinterpret_cast<void*>(address); }  // NOLINT(performance-no-int-to-ptr)
};

class ResidentEntry;

// Bytes on a device, kept where they are while it is held: through eviction, removal, and the end of the cache.
// Work that was launched with it runs on after launch() has returned. So hold the lease until that work is done, or end
// it with release_after(): the end of a lease waits for nothing.
// Thread safety: one thread at a time; it may be moved to another thread. Ownership: move-only.
// Cost: no copy, no allocation, no lock.
class HEARTH_API Lease {
public:
    Lease() = default;
    Lease(base::HazardSlot* slot, const ResidentEntry* entry, const Region& region, int device) noexcept
        : m_slot(slot), m_entry(entry), m_region(region), m_device(device)
    {
    }
    Lease(Lease&& other) noexcept
        : m_slot(std::exchange(other.m_slot, nullptr)), m_entry(std::exchange(other.m_entry, nullptr)),
          m_region(std::exchange(other.m_region, {})), m_device(other.m_device)
    {
    }
    Lease& operator=(Lease&& other) noexcept
    {
        Lease held(std::move(other));  // so that `other` holds nothing, and what this one held is let go now
        std::swap(m_slot, held.m_slot);
        std::swap(m_entry, held.m_entry);
        std::swap(m_region, held.m_region);
        std::swap(m_device, held.m_device);
        return *this;
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease()
    {
        if (m_slot)
            release(m_slot);
    }

    explicit operator bool() const noexcept { return m_slot != nullptr; }
    int device() const noexcept { return m_device; }  // among the tier's devices
    // The region of the entry's first section, which is the whole entry if it is plain bytes.
    const Region& region() const noexcept { return m_region; }
    void* pointer() const noexcept { return m_region.pointer(); }
    std::uint64_t size() const noexcept { return m_region.bytes; }
    // The region of the section with that name; empty when there is none.
    Region section(std::string_view name) const;
    // Ends this lease once all is done that has been put into the stream so far; does not wait for it. This object is
    // empty then. The bytes stay where they are until a later store, report(), trim() or maintenance finds that the
    // work is done. An Error leaves the lease as it is: the stream is being captured, or is none of the device's.
    //   CUDA    an event in the stream; null is the default stream
    //   OpenCL  a marker in the cl_command_queue, which has to be given, and to keep its order
    //   WebGPU  waits for the device: it cannot be asked for less
    //   host    has no streams: the lease ends at once
    Status release_after(Stream stream);
    // True once the device or its context is gone: then the bytes are too, and the region must not be used.
    bool lost() const noexcept;

private:
    static void release(base::HazardSlot* slot) noexcept;

    base::HazardSlot* m_slot = nullptr;
    const ResidentEntry* m_entry = nullptr;
    Region m_region;
    int m_device = 0;
};

// Bytes that were copied from a device, in pinned memory. The memory goes back to its pool with the last copy of this
// object, and is lost if the device's context is reset.
class HEARTH_API HostCopy {
public:
    HostCopy() = default;
    HostCopy(std::shared_ptr<const void> owner, std::vector<ByteView> parts)
        : m_owner(std::move(owner)), m_parts(std::move(parts))
    {
    }

    // The bytes of the n-th key that was asked for. If that key is not there: an empty view whose data() is null.
    ByteView bytes(std::size_t n = 0) const noexcept { return m_parts[n]; }
    bool has(std::size_t n = 0) const noexcept { return n < m_parts.size() && m_parts[n].data() != nullptr; }
    std::size_t size() const noexcept { return m_parts.size(); }
    std::size_t found() const noexcept;

private:
    std::shared_ptr<const void> m_owner;
    std::vector<ByteView> m_parts;
};

// Where an entry is to go.
struct Placement {
    std::string partition{};  // empty: the one that has no name
    int device = 0;           // among the tier's devices
    Stream stream = nullptr;  // work put into it from now on runs after the copy; null: see Vram::insert()
};

struct LeaseOptions {
    int device = -1;          // only an entry on this device; -1: on any
    Stream stream = nullptr;  // work put into it from now on finds the bytes in place, and lease() need not wait
};

struct PartitionUsage {
    std::string partition;
    int device = 0;
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;           // of entries
    std::uint64_t capacity_bytes = 0;  // 0: no limit
    std::uint64_t reserved_bytes = 0;  // taken from the device
    std::uint64_t allocated_bytes =
        0;                         // handed out of those; what exceeds `bytes` is alignment and evicted entries in use
    std::uint64_t held_bytes = 0;  // evicted and still under lease
};

// Copies between host and device, and the leases that needed none.
struct Transfers {
    std::uint64_t to_device = 0;  // copies, of any size
    std::uint64_t to_device_bytes = 0;
    std::uint64_t to_host = 0;
    std::uint64_t to_host_bytes = 0;
    std::uint64_t between_devices = 0;
    std::uint64_t leases = 0;
};

struct Report {
    Backend backend = Backend::host;
    std::vector<Device> devices;
    std::string fallback;  // why host memory is used though a device was wanted; empty: it is not
    std::vector<PartitionUsage> partitions;
    Transfers transfers;
};

struct Partition {
    std::string name;
    std::uint64_t max_bytes = 0;
};

// What went back to a device, and the entries that were evicted for it.
struct GivenBack {
    std::uint64_t bytes = 0;
    std::vector<Victim> victims;
};

enum class Fallback : std::uint8_t {
    none,  // without the device the tier cannot be opened: Cache::open() goes on without it and says so
    host,  // host memory is used instead, and statistics and `hearth doctor` say so
};

}  // namespace device

struct VramOptions {
    std::string name = "vram";
    device::Backend backend = device::Backend::automatic;
    std::vector<int> devices{0};                      // of the backend; each has its own entries
    std::uint64_t max_bytes = device::k_recommended;  // of each device; 0: no limit
    std::uint64_t max_entries = 0;                    // of each device, without those in named partitions; 0: no limit
    // In addition to the one without a name. Each has its own budget: one that is full leaves the others alone.
    std::vector<device::Partition> partitions{};
    device::Fallback fallback = device::Fallback::host;
};

// What a tier in device memory can do beyond what every tier can. The engine and its users know it by this interface.
class DeviceTier : public Tier {
public:
    virtual device::Lease lease(const Key& key, const device::LeaseOptions& options) = 0;
    virtual Result<device::HostCopy> read_many(std::span<const Key> keys) = 0;
    virtual Result<StoreReport> store_at(const Key& key, const Entry& entry, const device::Placement& placement,
                                         Victims victims, std::vector<Victim>& gone) = 0;
    virtual Result<StoreReport> copy_to_device(const Key& key, int device, Victims victims,
                                               std::vector<Victim>& gone) = 0;
    virtual void trim() = 0;
    virtual Result<device::GivenBack> give_back(std::uint64_t bytes, int device, Victims victims) = 0;
    virtual device::Report report() = 0;
};

// A tier in device memory; nothing is asked of the device before something is stored there.
//   Cache::open({.tiers = {memory(256_MiB), vram(512_MiB), disk("cache")}})
HEARTH_API TierSpec vram(VramOptions options);
HEARTH_API TierSpec vram(std::uint64_t max_bytes);

}  // namespace hearth
