#pragma once

#include "base/error.hpp"
#include "base/fork.hpp"

#include <atomic>

namespace hearth::gpu {

// Whether a driver that works with threads of its own can be used in this process. Those threads do not come along into
// a forked child: whatever is asked of the driver there may wait for them without end. So in a child of a process that
// used the driver everything it held counts as lost, and it is not opened again.
// Thread safety: all of it. One for each driver (base/of_process.hpp). Cost: unusable() is one load.
class DriverProcess {
public:
    bool unusable() const noexcept { return m_forked.load(std::memory_order_relaxed); }
    Status check(const char* driver)
    {
        m_used.store(true, std::memory_order_relaxed);
        if (!unusable())
            return {};
        return error(Code::unavailable,
                     "{} was used before this process was forked, and its threads did not come along. Use it in one of "
                     "the two processes, or start a new program.",
                     driver);
    }

private:
    std::atomic<bool> m_used{false};
    std::atomic<bool> m_forked{false};  // since it was used
    const base::ForkGuard m_at_fork{[this] { m_forked.store(m_used, std::memory_order_relaxed); }};
};

}  // namespace hearth::gpu
