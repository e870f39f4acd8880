#pragma once

#include "base/fork.hpp"
#include "base/hazard.hpp"
#include "gpu/device_memory.hpp"

#include <atomic>
#include <memory>
#include <vector>

namespace hearth::tiers {

// Leases that end once a stream has passed a point. One list for the process, since leases may outlive every cache, and
// the point keeps nobody waiting: whoever stores, asks for a report or tidies up looks which were passed.
// Not a callback of the driver's: it would run where the driver must not be called, and the end of the last lease may
// give memory back to the device.
// Thread safety: all of it. The lock is never held during a call to the driver. Cost of end_passed() where none is
// parked: one load.
class ParkedLeases {
public:
    static ParkedLeases& of_process();

    void park(std::unique_ptr<gpu::StreamPoint> point, base::HazardSlot* slot);
    // Ends those whose point was passed. Never waits.
    void end_passed();

private:
    struct Parked {
        std::unique_ptr<gpu::StreamPoint> point;
        base::HazardSlot* slot;
    };

    std::atomic<std::size_t> m_count{0};                      // of m_parked, and of those that are being looked at
    base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};  // guards the list
    std::vector<Parked> m_parked;
};

}  // namespace hearth::tiers
