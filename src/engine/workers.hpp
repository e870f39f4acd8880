#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hearth::engine {

// Threads for what must not run on the caller's: asynchronous makes, and makes with a deadline.
// None is started before the first task. On destruction tasks that run are waited for; the others are given up, which
// each task learns by being called with `cancelled`.
class Workers {
public:
    enum class Call : std::uint8_t { run, cancelled };
    using Task = std::function<void(Call)>;

    explicit Workers(std::size_t most) : m_most(most) {}
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    void submit(Task task);

private:
    void work();

    const std::size_t m_most;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Task> m_tasks;
    std::vector<std::thread> m_threads;
    std::size_t m_idle = 0;
    bool m_stopping = false;
};

}  // namespace hearth::engine
