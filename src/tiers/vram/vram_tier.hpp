#pragma once

#include "base/slow_mutex.hpp"
#include "hearth/device_tier.hpp"
#include "tiers/vram/partition.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hearth::tiers {

// Opens the memory of a device of the backend; tests hand in one of their own.
using OpenMemory = std::function<Result<std::shared_ptr<gpu::DeviceMemory>>(device::Backend, int index)>;

// Artifacts whose bytes are in device memory. No device is used before something is stored.
// Thread safety: all of it. A lease takes no lock; reads wait for copies that are under way.
//   vram_tier.cpp     entries: leased, found, stored, copied, removed
//   read_many.cpp     many to the host at once
//   vram_opening.cpp  devices and partitions, opened and recovered
//   vram_upkeep.cpp   limits, listing, verifying, reports
// Failure: a device that is lost takes its entries along; the tier opens it again, or host memory in its place.
class VramTier final : public DeviceTier {
public:
    VramTier(VramOptions options, const TierContext& context, OpenMemory open_memory);

    // Opens the devices now and not with the first store.
    Status open();

    std::string_view name() const override { return m_options.name; }
    TierTraits traits() const override { return {.in_place = true}; }
    std::string note() override;
    Found find(const Key& key) override;
    Found peek(const Key& key) override;
    Result<StoreReport> store(const Key& key, const Entry& entry, Victims victims, std::vector<Victim>& gone) override;
    bool contains(const Key& key) override;
    bool remove(const Key& key) override;
    void clear() override;
    TierUsage usage() override;
    Limits limits() const override;
    std::vector<Victim> set_limits(const Limits& limits, Victims victims) override;
    void set_policy(const PolicyFactory& policy) override;
    std::optional<EntryRow> info(const Key& key) override;
    void for_each(const std::function<bool(const EntryRow&)>& visit) override;
    std::vector<Victim> evict_to(const EvictTo& goal, const Progress& progress) override;
    VerifyReport verify(Repair repair, const Progress& progress) override;
    void touch(const Key& key, std::uint32_t uses) override;
    std::vector<Victim> maintain(std::stop_token stop) override;

    device::Lease lease(const Key& key, const device::LeaseOptions& options) override;
    Result<device::HostCopy> read_many(std::span<const Key> keys) override;
    Result<StoreReport> store_at(const Key& key, const Entry& entry, const device::Placement& placement,
                                 Victims victims, std::vector<Victim>& gone) override;
    Result<StoreReport> copy_to_device(const Key& key, int device, Victims victims, std::vector<Victim>& gone) override;
    void trim() override;
    Result<device::GivenBack> give_back(std::uint64_t bytes, int device, Victims victims) override;
    device::Report report() override;

private:
    using Partitions = std::vector<std::unique_ptr<Partition>>;
    // An entry with the slot that protects it.
    struct ReleaseSlot {
        void operator()(base::HazardSlot* slot) const noexcept { base::release_slot(slot); }
    };
    struct Held {
        const device::ResidentEntry* entry = nullptr;
        std::unique_ptr<base::HazardSlot, ReleaseSlot> slot;
        Partition* partition = nullptr;
        Miss why = Miss::absent;
    };

    Result<const Partitions*> opened();
    const Partitions& partitions() const noexcept;
    Result<std::shared_ptr<gpu::DeviceMemory>> open_device(std::size_t device, std::string& fallback,
                                                           std::vector<std::string>& said) const;
    Result<Partitions> open_partitions(std::string& fallback) const;
    void apply_settings(const Partitions& partitions) const;
    Result<Partition*> placed(const device::Placement& placement);
    Held hold(const Key& key, int device, bool counts);
    void count_lease() noexcept;
    static bool is_still_there(const Held& held);
    Found fetch(const Held& held);
    Result<device::HostCopy> read_one(const Key& key);
    void recover(int device);
    void reopen(int device, std::vector<std::string>& said);
    Limits limits_of(const Limits& limits, const device::Device& device, const std::string& partition) const;
    EntryRow row_of(const resident::Node& node, Partition& partition) const;
    void say(const std::string& message) const;

    const VramOptions m_options;
    const Clock& m_clock;
    const LogSink m_log;
    const OpenMemory m_open_memory;
    const KeptBelow m_kept_below;
    mutable TransferCounts m_transfers;
    struct alignas(64) Counter {
        std::atomic<std::uint64_t> leases{0};
    };
    std::atomic<std::uint64_t> m_stores{0};  // numbers the stores
    std::array<Counter, 129> m_counters;     // by thread, so that no two hits write the same line

    base::SlowMutex m_recovering;

    mutable base::ForkSafeMutex m_mutex{base::LockLevel::tier_whole};  // guards the rest, not what partitions hold
    PolicyFactory m_policy;
    Limits m_limits;  // of the unnamed partitions
    std::string m_fallback;
    Partitions m_all;
    std::atomic<const Partitions*> m_partitions{nullptr};  // m_all, once it is filled
};

}  // namespace hearth::tiers
