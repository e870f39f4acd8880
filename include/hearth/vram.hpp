#pragma once

#include "hearth/cache.hpp"
#include "hearth/device_tier.hpp"

#include <concepts>
#include <span>

namespace hearth {

// A cache's tier in device memory, found with Cache::vram(). This is only a pointer to it: copy it freely, but do not
// let it outlive the cache. Without such a tier every call says so and does nothing.
class HEARTH_API Vram {
public:
    explicit operator bool() const noexcept { return m_tier != nullptr; }

    // Empty if the entry is not there. Waits for a copy that is still under way, unless a stream is given.
    device::Lease lease(const Key& key, const device::LeaseOptions& options = {}) const;
    // The same, but first brings the entry there from whichever tier has it.
    Result<device::Lease> load(const Key& key, const device::Placement& placement = {}) const;
    // Copies the entry to the host, through pinned memory.
    Result<device::HostCopy> read(const Key& key) const;
    // Any number of keys with one gather and one wait; those that are not there have no bytes.
    Result<device::HostCopy> read_many(std::span<const Key> keys) const;
    // Stores here and nowhere else: what other tiers had under this key is removed. (Cache::insert() also stores in the
    // persistent tiers.)
    // Returns once the bytes may be reused. A lease taken later finds them in place.
    Result<InsertReport> insert(const Key& key, Artifact artifact, const device::Placement& placement = {}) const;
    Result<InsertReport> insert(const Key& key, ByteView bytes, const device::Placement& placement = {}) const;
    // Puts a copy of it on another device of the tier, by peer copy if the devices can do that.
    Status copy_to_device(const Key& key, int device) const;
    // Gives memory that nothing lies in back to the device. Maintenance does it too; entries stay where they are.
    Status trim() const;
    // Gives so much of a device's memory back to it, for others to use: first what nothing lies in, and then blocks
    // whose entries are evicted for it, and move to slower tiers as ever. Returns how many bytes were given back: more,
    // since blocks are whole, or less, where leases hold them. The tier takes memory again when it needs some.
    Result<std::uint64_t> give_back(std::uint64_t bytes, int device = 0) const;
    // For an allocation of the program's own. Calls `allocate`, which tells whether it has succeeded. If it has not,
    // gives `bytes` back and calls it again, as long as there is something to give back, and three times at most.
    //   vram.give_way(bytes, [&] { return cudaMalloc(&memory, bytes) == cudaSuccess; })
    template <std::predicate Allocate>
    bool give_way(std::uint64_t bytes, Allocate&& allocate, int device = 0) const
    {
        constexpr int k_tries = 3;  // other threads may store in what was given back
        for (int i = 0; i < k_tries; ++i) {
            if (allocate())
                return true;
            if (const Result<std::uint64_t> given = give_back(bytes, device); !given || *given == 0)
                return false;
        }
        return allocate();
    }
    Result<device::Report> report() const;

private:
    friend class Cache;
    Vram() = default;
    Vram(Cache::Parts& parts, std::size_t place, DeviceTier* tier) : m_parts(&parts), m_place(place), m_tier(tier) {}

    Cache::Parts* m_parts = nullptr;
    std::size_t m_place = 0;
    DeviceTier* m_tier = nullptr;
};

}  // namespace hearth
