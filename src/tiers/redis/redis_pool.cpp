#include "tiers/redis/redis_pool.hpp"

#include "base/error.hpp"
#include "tiers/redis/redis_errors.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace hearth::tiers::redis {

ConnectionPool::ConnectionPool(std::shared_ptr<const RedisSettings> settings, Endpoint endpoint)
    : m_settings(std::move(settings)), m_endpoint(std::move(endpoint))
{
}

Result<ConnectionPool::Borrowed> ConnectionPool::borrow(Want want, SteadyTime deadline)
{
    if (std::chrono::steady_clock::now() >= deadline)
        return passed_deadline(m_endpoint.shown());
    std::vector<std::unique_ptr<Connection>> gone;  // closed when no lock is held
    {
        std::unique_lock lock(m_mutex);
        if (want == Want::fresh)
            gone.swap(m_idle);
        while (m_in_use >= m_settings->max_connections) {
            ++m_waiting;
            const std::cv_status status = m_returned->wait_until(lock, deadline);
            --m_waiting;
            if (status == std::cv_status::timeout && m_in_use >= m_settings->max_connections)
                return error(Code::timeout,
                             "All {} connections to redis at {} were in use until the deadline passed. "
                             "Raise the remote's timeout, or ask it from fewer threads.",
                             m_settings->max_connections, m_endpoint.shown());
        }
        ++m_in_use;
        if (!m_idle.empty()) {
            std::unique_ptr<Connection> connection = std::move(m_idle.back());
            m_idle.pop_back();
            m_descriptors.push_back(connection->descriptor());
            lock.unlock();
            // One that has ended, or that has something to say, is found out here and not by a lost command.
            if (connection->is_quiet())
                return Borrowed{std::move(connection), true};
            lock.lock();
            forget(connection->descriptor());
            gone.push_back(std::move(connection));
            std::move(m_idle.begin(), m_idle.end(), std::back_inserter(gone));
            m_idle.clear();
        }
    }
    gone.clear();
    Result<std::unique_ptr<Connection>> opened = Connection::open(*m_settings, m_endpoint, deadline);
    const std::lock_guard lock(m_mutex);
    if (!opened.ok()) {
        --m_in_use;
        if (m_waiting > 0)
            m_returned->notify_one();
        return opened.error();
    }
    m_descriptors.push_back((*opened)->descriptor());
    return Borrowed{*std::move(opened), false};
}

void ConnectionPool::give_back(std::unique_ptr<Connection> connection, bool reusable)
{
    // Outlives the lock: one that is not kept is closed when its descriptor is no longer on our list.
    std::unique_ptr<Connection> returned = std::move(connection);
    returned->note_use();
    const std::lock_guard lock(m_mutex);
    forget(returned->descriptor());
    --m_in_use;
    if (reusable && m_idle.size() < m_settings->max_connections)
        m_idle.push_back(std::move(returned));
    if (m_waiting > 0)
        m_returned->notify_one();
}

void ConnectionPool::forget(int descriptor)
{
    std::erase(m_descriptors, descriptor);
}

bool ConnectionPool::has_idle() const
{
    const std::lock_guard lock(m_mutex);
    return !m_idle.empty();
}

void ConnectionPool::after_fork() noexcept
{
    const std::lock_guard lock(m_mutex);
    m_idle.clear();
    for (const int descriptor : m_descriptors)
        ::close(descriptor);
    m_descriptors.clear();
    m_in_use = 0;
    m_waiting = 0;
    // Threads of the parent may be waiting in it, and would be waited for when it is destroyed: it is left alone.
    static_cast<void>(m_returned.release());
    m_returned = std::make_unique<std::condition_variable_any>();
}

}  // namespace hearth::tiers::redis
