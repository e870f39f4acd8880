#include "remote/permits.hpp"

#include <algorithm>
#include <mutex>

namespace hearth::remotes {

Permits::Permits(std::size_t count)
    : m_count(std::max<std::size_t>(count, 1)), m_free(m_count),
      m_freed(std::make_unique<std::condition_variable_any>())
{
}

std::size_t Permits::take(std::size_t most, SteadyTime deadline)
{
    std::unique_lock lock(m_mutex);
    if (m_free == 0) {
        ++m_waiting;
        const bool freed = m_freed->wait_until(lock, deadline, [&] { return m_free > 0; });
        --m_waiting;
        if (!freed)
            return 0;
    }
    const std::size_t taken = std::min(most, m_free);
    m_free -= taken;
    return taken;
}

void Permits::give_back(std::size_t count)
{
    std::size_t waiting = 0;
    {
        const std::lock_guard lock(m_mutex);
        m_free += count;
        waiting = m_waiting;
    }
    if (waiting > 0)
        m_freed->notify_all();
}

void Permits::after_fork() noexcept
{
    const std::lock_guard lock(m_mutex);
    // Not destroyed: it may count waiters that do not exist in this process, and would wait for them.
    (void)m_freed.release();
    m_freed = std::make_unique<std::condition_variable_any>();
    m_free = m_count;
    m_waiting = 0;
}

}  // namespace hearth::remotes
