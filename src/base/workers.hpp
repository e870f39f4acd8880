#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hearth::base {

// Threads for what must not run on the caller's thread: asynchronous compiles, compiles with a deadline, races. None is
// started before the first task. stop() waits for tasks that run; the others, and those that come later, are not run:
// each is called with `cancelled` instead.
class Workers {
public:
    enum class Call : std::uint8_t { run, cancelled };
    using Task = std::function<void(Call)>;

    explicit Workers(std::size_t most) : m_most(most) {}
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    void submit(Task task);
    void stop();

    // While one exists, the calling thread, if it is one of these, is not counted: it waits for another's task, which
    // may be the next in line for a thread.
    class StepAside {
    public:
        explicit StepAside(Workers& workers);
        ~StepAside();
        StepAside(const StepAside&) = delete;
        StepAside& operator=(const StepAside&) = delete;

    private:
        Workers* m_workers;
    };

private:
    void work();

    std::size_t m_most;  // and one more for each that has stepped aside
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Task> m_tasks;
    std::vector<std::thread> m_threads;
    std::size_t m_idle = 0;
    bool m_stopping = false;
};

}  // namespace hearth::base
