#pragma once

#include "base/fork.hpp"

#include <cstdint>
#include <memory>
#include <mutex>

namespace hearth::base {

// A mutex that may be held for long, over file work. A fork does not wait for it, as it does for a ForkSafeMutex: the
// child has a new one, and leaves behind the old one, which a thread of the parent may hold. What it guards may be half
// changed in the child; whoever owns it makes it anew there.
class SlowMutex {
public:
    [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(*m_mutex); }

private:
    std::unique_ptr<std::mutex> m_mutex = std::make_unique<std::mutex>();
    const ForkGuard m_fork_guard{[this] {
        static_cast<void>(m_mutex.release());
        m_mutex = std::make_unique<std::mutex>();
    }};
};

// Counts the beginnings and the ends of forks: odd while one is under way. If it was even and is the same after a
// descriptor was opened and put where a ForkGuard finds it, no child has a copy that it does not know of.
std::uint64_t forks_begun_and_ended();

}  // namespace hearth::base
