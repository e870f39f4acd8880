#include "engine/transport/prewarm_job.hpp"

#include "base/error.hpp"
#include "base/own_thread.hpp"
#include "base/problems.hpp"

#include <fmt/format.h>
#include <mutex>

namespace hearth::engine {

void PrewarmJob::start(std::function<bool()> work)
{
    if (base::try_start_thread(m_running->thread, [this, work = std::move(work)]() mutable { run(std::move(work)); }))
        return;
    tell("The system gives no thread to prewarm on. Nothing was done.");
    settle(false);
}

void PrewarmJob::run(std::function<bool()> work)
{
    bool finished = false;
    try {
        finished = work();
    } catch (...) {
        tell(fmt::format("Prewarming ended early: {}", what_was_thrown()));
    }
    work = nullptr;  // before anybody is told that it is over: it may hold files open
    settle(finished);
}

void PrewarmJob::settle(bool finished)
{
    const std::lock_guard lock(m_mutex);
    m_report.finished = finished;
    m_report.stopped = !finished;
    m_over = true;
    m_running->changed.notify_all();
}

void PrewarmJob::after_fork()
{
    static_cast<void>(m_running.release());
    m_report.stopped = !m_report.finished;
    m_stop = true;
    m_over = true;
}

void PrewarmJob::wait()
{
    std::unique_lock lock(m_mutex);
    if (!m_over)
        m_running->changed.wait(lock, [&] { return m_over; });
}

bool PrewarmJob::wait_for(std::chrono::milliseconds most)
{
    std::unique_lock lock(m_mutex);
    return m_over || m_running->changed.wait_for(lock, most, [&] { return m_over; });
}

void PrewarmJob::stop()
{
    const std::lock_guard lock(m_mutex);
    m_stop = true;
    if (m_running)
        m_running->changed.notify_all();
}

// If a handle and an engine do this at the same time, one joins the thread, and the other waits for its last word.
void PrewarmJob::end()
{
    stop();
    std::thread mine;
    {
        std::unique_lock lock(m_mutex);
        if (!m_running)
            return;
        mine.swap(m_running->thread);
        if (!mine.joinable() && !m_over)
            m_running->changed.wait(lock, [&] { return m_over; });
    }
    // Not under the lock: the thread takes that lock, and a fork that waits for the lock would keep the thread from
    // closing its files.
    if (mine.joinable())
        mine.join();
}

PrewarmReport PrewarmJob::report() const
{
    const std::lock_guard lock(m_mutex);
    return m_report;
}

bool PrewarmJob::told_to_stop() const
{
    const std::lock_guard lock(m_mutex);
    return m_stop;
}

bool PrewarmJob::rest_until(std::chrono::steady_clock::time_point time)
{
    std::unique_lock lock(m_mutex);
    if (!m_stop && time > std::chrono::steady_clock::now())
        m_running->changed.wait_until(lock, time, [&] { return m_stop; });
    return !m_stop;
}

void PrewarmJob::count(const std::function<void(PrewarmReport&)>& change)
{
    const std::lock_guard lock(m_mutex);
    change(m_report);
}

void PrewarmJob::tell(std::string problem)
{
    const std::lock_guard lock(m_mutex);
    // A full disk would say the same of every entry.
    if (m_report.problems.empty() || m_report.problems.back() != problem)
        base::tell(m_report.problems, std::move(problem));
}

}  // namespace hearth::engine

namespace hearth {

Prewarm& Prewarm::operator=(Prewarm&& other) noexcept
{
    if (this == &other)
        return *this;
    if (m_job)
        m_job->end();
    m_job = std::move(other.m_job);
    return *this;
}

Prewarm::~Prewarm()
{
    if (m_job)
        m_job->end();
}

void Prewarm::wait()
{
    if (m_job)
        m_job->wait();
}

bool Prewarm::wait_for(std::chrono::milliseconds most)
{
    return !m_job || m_job->wait_for(most);
}

void Prewarm::stop()
{
    if (m_job)
        m_job->stop();
}

PrewarmReport Prewarm::report() const
{
    return m_job ? m_job->report() : PrewarmReport{};
}

}  // namespace hearth
