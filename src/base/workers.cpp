#include "base/workers.hpp"

#include "base/own_thread.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace hearth::base {

namespace {

// Tasks tell their own troubles to those who wait for them. What else they throw has nobody to go to.
void run(const Workers::Task& task, Workers::Call call) noexcept
try {
    task(call);
} catch (...) {
    return;
}

}  // namespace

struct Workers::State : std::enable_shared_from_this<State> {
    static thread_local State* t_of_this_thread;  // null: it is no worker

    std::mutex mutex;
    std::condition_variable changed;
    std::size_t most = 0;  // and one more for each that has stepped aside
    std::size_t idle = 0;
    bool stopping = false;
    std::deque<Task> tasks;
    std::vector<std::thread> threads;

    // Called under the lock.
    bool add_thread()
    {
        if (try_start_thread(threads.emplace_back(), [self = shared_from_this()] { self->work(); }))
            return true;
        threads.pop_back();
        return false;
    }

    void work()
    {
        t_of_this_thread = this;
        std::unique_lock lock(mutex);
        for (;;) {
            ++idle;
            changed.wait(lock, [&] { return stopping || !tasks.empty(); });
            --idle;
            if (stopping)
                return;
            Task task = std::move(tasks.front());
            tasks.pop_front();
            lock.unlock();
            run(task, Call::run);
            task = nullptr;  // before the lock is taken again: what it owns may submit more, or close the cache
            if (t_of_this_thread != this)
                return;  // the task has forked, and this is the child: nothing of these Workers is here
            lock.lock();
        }
    }
};

thread_local Workers::State* Workers::State::t_of_this_thread = nullptr;

Workers::Workers(std::size_t most) : m_state(std::make_shared<State>())
{
    m_state->most = most;
}

Workers::~Workers()
{
    stop();
}

void Workers::stop()
{
    std::deque<Task> given_up;
    std::vector<std::thread> threads;
    {
        const std::lock_guard lock(m_state->mutex);
        m_state->stopping = true;
        given_up.swap(m_state->tasks);
        threads.swap(m_state->threads);
    }
    m_state->changed.notify_all();
    for (const Task& task : given_up)
        run(task, Call::cancelled);
    for (std::thread& thread : threads) {
        if (thread.get_id() == std::this_thread::get_id())
            thread.detach();
        else
            thread.join();
    }
}

void Workers::submit(Task task, Turn turn)
{
    // Held: the task may end these Workers before this call has returned.
    const std::shared_ptr<State> held = m_state;
    State& state = *held;
    std::unique_lock lock(state.mutex);
    const bool wanted = state.idle <= state.tasks.size() && state.threads.size() < state.most;
    // Where no thread can be had, the caller does the work: those that are there may all wait for this very task.
    const bool by_caller = !state.stopping && wanted && !state.add_thread();
    if (!state.stopping && !by_caller) {
        state.tasks.insert(turn == Turn::next ? state.tasks.begin() : state.tasks.end(), std::move(task));
        lock.unlock();
        state.changed.notify_one();
        return;
    }
    const Call call = state.stopping ? Call::cancelled : Call::run;
    lock.unlock();
    run(task, call);
}

void Workers::forget_this_thread() noexcept
{
    State::t_of_this_thread = nullptr;
}

Workers::StepAside::StepAside()
    : m_state(State::t_of_this_thread ? State::t_of_this_thread->shared_from_this() : nullptr)
{
    if (!m_state)
        return;
    const std::lock_guard lock(m_state->mutex);
    ++m_state->most;
    // Somebody may be waiting for one of these.
    if (m_state->tasks.size() > m_state->idle && m_state->threads.size() < m_state->most)
        m_state->add_thread();
}

Workers::StepAside::~StepAside()
{
    if (!m_state)
        return;
    const std::lock_guard lock(m_state->mutex);
    --m_state->most;
}

}  // namespace hearth::base
