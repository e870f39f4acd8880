#pragma once

#include "hearth/device_tier.hpp"

#include <utility>
#include <vector>

namespace hearth::test {

// What a store reported, and what it evicted.
struct Stored : StoreReport {
    std::vector<Victim> victims{};
};

inline Result<Stored> store_in(Tier& tier, const Key& key, const Entry& entry, Victims victims = Victims::discard)
{
    std::vector<Victim> gone;
    Result<StoreReport> report = tier.store(key, entry, victims, gone);
    if (!report)
        return report.error();
    return Stored{*report, std::move(gone)};
}

inline bool store_at(DeviceTier& tier, const Key& key, const Entry& entry, const device::Placement& placement)
{
    std::vector<Victim> gone;
    return tier.store_at(key, entry, placement, Victims::keep, gone).ok();
}

inline bool copy_to_device(DeviceTier& tier, const Key& key, int device)
{
    std::vector<Victim> gone;
    return tier.copy_to_device(key, device, Victims::keep, gone).ok();
}

}  // namespace hearth::test
