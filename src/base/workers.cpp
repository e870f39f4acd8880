#include "base/workers.hpp"

#include "base/own_thread.hpp"

namespace hearth::base {

namespace {

thread_local const Workers* t_worker_of = nullptr;

}  // namespace

Workers::~Workers()
{
    stop();
}

void Workers::stop()
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
        if (thread.joinable())
            thread.join();
}

void Workers::submit(Task task)
{
    {
        std::unique_lock lock(m_mutex);
        if (m_stopping) {
            lock.unlock();
            task(Call::cancelled);
            return;
        }
        m_tasks.push_back(std::move(task));
        if (m_idle < m_tasks.size() && m_threads.size() < m_most)
            m_threads.push_back(start_thread([this] { work(); }));
    }
    m_changed.notify_one();
}

Workers::StepAside::StepAside(Workers& workers) : m_workers(t_worker_of == &workers ? &workers : nullptr)
{
    if (!m_workers)
        return;
    const std::lock_guard lock(m_workers->m_mutex);
    ++m_workers->m_most;
}

Workers::StepAside::~StepAside()
{
    if (!m_workers)
        return;
    const std::lock_guard lock(m_workers->m_mutex);
    --m_workers->m_most;
}

void Workers::work()
{
    t_worker_of = this;
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

}  // namespace hearth::base
