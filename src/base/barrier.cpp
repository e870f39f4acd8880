#include "base/barrier.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hearth::base {

namespace detail {

std::atomic<bool> g_kernel_barrier{false};

}  // namespace detail

namespace {

bool ask(int command) noexcept
{
    return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

void prepare_barrier() noexcept
{
#ifndef HEARTH_HAS_TSAN
    // Asking twice does no harm. There is no lock, because a forked child must not wait for a thread of its parent.
    if (!detail::g_kernel_barrier && ask(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
        ask(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        detail::g_kernel_barrier = true;
#endif
}

void heavy_barrier() noexcept
{
    detail::full_barrier();
    if (!detail::g_kernel_barrier.load(std::memory_order_relaxed))
        return;
    if (ask(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        return;
    // A process that has forked may have to register anew. Readers rely on the kernel already, so this must succeed:
    // the kernel cannot refuse a process what it has granted before.
    while (!ask(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) || !ask(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
    }
}

}  // namespace hearth::base
