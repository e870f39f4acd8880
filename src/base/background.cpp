#include "base/background.hpp"

#include "base/of_process.hpp"
#include "base/own_thread.hpp"
#include "base/priority.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sys/syscall.h>
#include <unistd.h>

namespace hearth::base {

namespace {

constexpr int k_most_handlers = 8;

bool is_main_thread()
{
    return ::syscall(SYS_gettid) == ::getpid();
}

// A variable of the main thread, which goes before any other destructor runs.
struct EndOfMainThread {
    EndOfMainThread() = default;
    ~EndOfMainThread()
    {
        if (is_main_thread())
            Background::of_process().end();
    }
    EndOfMainThread(const EndOfMainThread&) = delete;
    EndOfMainThread& operator=(const EndOfMainThread&) = delete;

    bool is_there = false;
};
thread_local EndOfMainThread t_end_of_main_thread;

}  // namespace

Background& Background::of_process()
{
    return base::of_process<Background>();
}

// In a forked child there is no such thread, and what it ran is nobody's.
Background::Background()
    : m_fork([this] {
          m_waiting.clear();
          m_leaving.clear();
          m_running = nullptr;
          m_thread = {};
          forget_thread(m_to_join);
          forget_thread(m_to_join_first);
          // Replaced, not destroyed: its destructor would wait for those who waited in the parent.
          if (m_waiters > 0)
              std::construct_at(&m_ended);
          m_waiters = 0;
      })
{
}

bool Background::submit(const void* owner, Work work, Turn turn)
{
    if (is_main_thread())
        t_end_of_main_thread.is_there = true;
    std::unique_lock lock(m_mutex);
    if (m_ending || std::ranges::find(m_leaving, owner) != m_leaving.end())
        return false;
    if (turn == Turn::next)
        m_waiting.push_front({owner, std::move(work)});
    else
        m_waiting.push_back({owner, std::move(work)});
    if (m_thread != std::thread::id{})
        return true;
    std::thread thread;
    if (!try_start_thread(thread, [this] { run(); })) {
        m_waiting.clear();
        return false;
    }
    m_thread = thread.get_id();
    m_to_join_first = std::exchange(m_to_join, std::move(thread));
    // Again for each of the first threads: what a compiler set up in an earlier one goes after that.
    if (m_handlers < k_most_handlers) {
        ++m_handlers;
        std::atexit([] { of_process().end(); });
    }
    return true;
}

bool Background::is_idle()
{
    const std::lock_guard lock(m_mutex);
    return m_running == nullptr && m_waiting.empty();
}

void Background::run()
{
    step_back(Waited::at_the_end);
    std::unique_lock lock(m_mutex);
    if (std::thread before = std::move(m_to_join_first); before.joinable()) {
        lock.unlock();
        before.join();
        lock.lock();
    }
    while (!m_waiting.empty()) {
        Piece piece = std::move(m_waiting.front());
        m_waiting.pop_front();
        m_running = piece.owner;
        lock.unlock();
        try {
            piece.work();
        } catch (...) {
            // Nobody waits for it, so there is nobody to tell.
        }
        piece.work = nullptr;
        lock.lock();
        m_running = nullptr;
        m_ended.notify_all();
    }
    m_thread = {};
}

void Background::wait_for_running(std::unique_lock<ForkSafeMutex>& lock, const void* owner)
{
    if (m_thread == std::this_thread::get_id())
        return;
    ++m_waiters;
    m_ended.wait(lock, [&] { return m_running == nullptr || (owner != nullptr && m_running != owner); });
    --m_waiters;
}

void Background::forget(const void* owner)
{
    std::deque<Piece> dropped;  // destroyed without the lock
    std::unique_lock lock(m_mutex);
    // What runs may submit more before it ends. If it is what calls this, it knows.
    const bool is_work = m_thread == std::this_thread::get_id();
    if (!is_work)
        m_leaving.push_back(owner);
    for (Piece& piece : m_waiting)
        if (piece.owner == owner)
            dropped.push_back(std::move(piece));
    std::erase_if(m_waiting, [&](const Piece& piece) { return piece.owner == owner; });
    if (!is_work) {
        wait_for_running(lock, owner);
        m_leaving.erase(std::ranges::find(m_leaving, owner));
    }
    lock.unlock();
}

void Background::end()
{
    std::deque<Piece> dropped;
    std::unique_lock lock(m_mutex);
    m_ending = true;
    dropped.swap(m_waiting);
    wait_for_running(lock, nullptr);
    std::thread ending = std::move(m_to_join);
    lock.unlock();
    if (ending.get_id() == std::this_thread::get_id())
        ending.detach();
    else if (ending.joinable())
        ending.join();
}

}  // namespace hearth::base
