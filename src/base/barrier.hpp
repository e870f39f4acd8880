#pragma once

#include <atomic>

// A barrier in two halves: light on the side that runs often, heavy on the side that runs seldom. The heavy half asks
// the kernel (membarrier) to put every other running thread of the process through a full barrier, so the light half
// need only keep the compiler from reordering.
//
//   light side:  a.store(x, relaxed); light_barrier(); read b
//   heavy side:  b.store(y);          heavy_barrier(); read a
//
// Then at least one of the two sees the other's store, as if both had used a full barrier.

// ThreadSanitizer does not know the kernel's part: under it (HEARTH_HAS_TSAN) both sides are full barriers, and it
// checks the same algorithm.

namespace hearth::base {

namespace detail {

// Whether the kernel does its part. False until prepare_barrier() has asked for it; both halves are full until then.
extern std::atomic<bool> g_kernel_barrier;

inline void full_barrier() noexcept
{
#ifdef HEARTH_HAS_TSAN
    // It does not model fences either, but a read-modify-write of one variable orders what is around it.
    static std::atomic<int> meeting{0};
    meeting.fetch_add(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace detail

// Asks the kernel, until it has agreed. Until then, and if it refuses, both halves are full barriers.
void prepare_barrier() noexcept;

inline void light_barrier() noexcept
{
    if (detail::g_kernel_barrier.load(std::memory_order_relaxed))
        std::atomic_signal_fence(std::memory_order_seq_cst);
    else
        detail::full_barrier();
}

void heavy_barrier() noexcept;

}  // namespace hearth::base
