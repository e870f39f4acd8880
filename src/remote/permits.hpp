#pragma once

#include "base/fork.hpp"
#include "remote/remote_store.hpp"

#include <condition_variable>
#include <cstddef>
#include <memory>

namespace hearth::remotes {

// Limits how many connections may be in use at once. A thread that finds all of them in use waits for one, so that a
// thousand threads of a program do not become a thousand clients of a server.
// Thread safety: all of it. Cost: one short lock; waits only while none is left.
class Permits {
public:
    explicit Permits(std::size_t count);

    // Takes as many as are free, up to `most`; waits for the first. 0: the deadline passed.
    std::size_t take(std::size_t most, SteadyTime deadline);
    void give_back(std::size_t count);
    // In a forked child: frees what other threads had taken, since those threads do not exist here.
    void after_fork() noexcept;

private:
    base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};
    const std::size_t m_count;
    std::size_t m_free;
    std::size_t m_waiting = 0;
    std::unique_ptr<std::condition_variable_any> m_freed;
};

}  // namespace hearth::remotes
