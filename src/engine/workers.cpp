#include "engine/workers.hpp"

namespace hearth::engine {

Workers::~Workers()
{
    std::deque<Task> given_up;
    {
        const std::lock_guard lock(m_mutex);
        m_stopping = true;
        given_up.swap(m_tasks);
    }
    m_changed.notify_all();
    for (const Task& task : given_up)
        task(Call::cancelled);
    for (std::thread& thread : m_threads)
        thread.join();
}

void Workers::submit(Task task)
{
    {
        const std::lock_guard lock(m_mutex);
        m_tasks.push_back(std::move(task));
        if (m_idle < m_tasks.size() && m_threads.size() < m_most)
            m_threads.emplace_back([this] { work(); });
    }
    m_changed.notify_one();
}

void Workers::work()
{
    std::unique_lock lock(m_mutex);
    for (;;) {
        ++m_idle;
        m_changed.wait(lock, [&] { return m_stopping || !m_tasks.empty(); });
        --m_idle;
        if (m_stopping)
            return;
        const Task task = std::move(m_tasks.front());
        m_tasks.pop_front();
        lock.unlock();
        task(Call::run);
        lock.lock();
    }
}

}  // namespace hearth::engine
