#pragma once

#include "resident/resident_store.hpp"
#include "tiers/vram/resident_entry.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hearth::tiers {

// What was copied, counted by many threads.
struct TransferCounts {
    std::atomic<std::uint64_t> to_device{0};
    std::atomic<std::uint64_t> to_device_bytes{0};
    std::atomic<std::uint64_t> to_host{0};
    std::atomic<std::uint64_t> to_host_bytes{0};
    std::atomic<std::uint64_t> between_devices{0};
};

// Whether a slower tier has the entry already.
using KeptBelow = std::function<bool(const Key&)>;

// One partition of one device: an arena and its entries, with their own limits.
// Thread safety: all of it. No lock is held during a copy.
class Partition {
public:
    Partition(std::string tier, std::string name, int device, const Clock& clock, std::unique_ptr<Policy> policy,
              const Limits& limits, std::shared_ptr<gpu::DeviceMemory> memory, TransferCounts& transfers,
              KeptBelow kept_below);

    const std::string& name() const noexcept { return m_name; }
    int device() const noexcept { return m_device; }
    resident::ResidentStore& entries() noexcept { return m_entries; }
    std::shared_ptr<Arena> arena() const;
    std::shared_ptr<gpu::DeviceMemory> memory() const;

    // Whether evicted entries are read before they go, and where they are reported.
    struct Evicting {
        Victims keep = Victims::discard;
        std::vector<Victim>& gone;
    };
    // Stores an artifact from the host, or an entry of another device. `order` is its number among all stores.
    Result<StoreReport> store(const Key& key, const Entry& entry, std::uint64_t order, device::Stream stream,
                              Evicting evicting);
    // `outdated` is asked when the copy is there, under the lock of this partition's entries: then it is dropped.
    Result<StoreReport> store_copy(const device::ResidentEntry& other, Evicting evicting,
                                   const std::function<bool()>& outdated);
    std::vector<Victim> set_limits(const Limits& limits, Victims victims);
    std::vector<Victim> set_max_age(std::chrono::seconds max_age);
    std::vector<Victim> drop_expired(const std::stop_token& stop);
    // Evicts until no more than the goal is left. Adds what was evicted to `gone`.
    void evict_to(const EvictTo& goal, std::vector<Victim>& gone);
    bool remove(const Key& key);
    // Removes what was stored under the key before that number; has_newer(): whether something was stored after it.
    bool remove_older(const Key& key, std::uint64_t order);
    bool has_newer(const Key& key, std::uint64_t order) const;
    // The same without the lock, as far as can be seen. The slot protects what was looked at.
    bool shows_newer(const Key& key, std::uint64_t order, base::HazardSlot* slot) const;
    void clear();
    // Ends leases whose streams are done, and gives memory that nothing lies in back to the device. Returns its bytes.
    std::uint64_t trim();
    // The same until so many bytes were given back, and evicts for it what lies in the way, if no lease holds it.
    std::uint64_t give_back(std::uint64_t bytes, Victims keep, std::vector<Victim>& victims);
    // Goes on with this memory, within these limits, after the device or its context was lost with everything in it.
    void renew(std::shared_ptr<gpu::DeviceMemory> memory, const Limits& limits);

    device::PartitionUsage usage();

private:
    using Outdated = resident::ResidentStore::Outdated;
    template <class Place>
    Result<StoreReport> store_placed(const Resident& wanted, std::uint64_t bytes_needed, const Place& place,
                                     const Outdated& outdated, Evicting evicting);
    static bool is_newer(const resident::Node* there, std::uint64_t order);
    Result<gpu::DevicePart> make_place(Arena& arena, const Key& key, std::uint64_t bytes, Evicting evicting);
    Result<resident::Departed> evict_blocks(const Arena& arena, std::uint64_t bytes);
    void settle(resident::Departed departed, Evicting evicting);

    const std::string m_tier;
    const std::string m_name;
    const int m_device;
    TransferCounts& m_transfers;
    const KeptBelow m_kept_below;
    resident::ResidentStore m_entries;
    mutable base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};  // guards the rest
    std::shared_ptr<gpu::DeviceMemory> m_memory;
    std::shared_ptr<Arena> m_arena;
};

}  // namespace hearth::tiers
