#pragma once

#include "hearth/ledger.hpp"
#include "resident/resident_table.hpp"

#include <atomic>
#include <cstdint>
#include <limits>

namespace hearth::ledger {

// A buffer as one tier has it. A buffer that moves gets a new one, so that all but the count is immutable.
// `leases` is the number of its leases, or says that it is in motion: about to be moved, evicted, replaced or removed.
//   n -> n + 1            lease(), by any thread
//   n -> n - 1            the end of a Lease, by any thread
//   n -> k_in_motion      claim(n), under the book's lock: n is 0, or 1 if that lease is the caller's own
//   k_in_motion -> 0      unclaim(), under the book's lock: it stays after all
// What has left stays in motion for ever: whoever still has found it looks again.
struct BufferNode final : resident::Node {
    static constexpr std::uint32_t k_in_motion = std::numeric_limits<std::uint32_t>::max();

    BufferNode(const Key& key, std::uint64_t bytes, double cost) : Node(key, bytes, cost) {}

    bool lease() noexcept
    {
        std::uint32_t seen = leases.load(std::memory_order_relaxed);
        while (seen != k_in_motion)
            // acquire: pairs with the release in unclaim().
            if (leases.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed))
                return true;
        return false;
    }
    bool claim(std::uint32_t own_leases = 0) noexcept
    {
        // acquire: pairs with the release at the end of a Lease.
        return leases.compare_exchange_strong(own_leases, k_in_motion, std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }
    void unclaim() noexcept { leases.store(0, std::memory_order_release); }
    bool in_motion() const noexcept { return leases.load(std::memory_order_relaxed) == k_in_motion; }

    Handle handle = 0;  // set before others can find it
    std::atomic<std::uint32_t> leases{0};
};

}  // namespace hearth::ledger
