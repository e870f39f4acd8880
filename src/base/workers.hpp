#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace hearth::base {

// Threads for what must not run on the caller's thread: asynchronous compiles, compiles with a deadline, races. None is
// started before the first task; where none can be had, submit() runs the task itself. stop() waits for tasks that run;
// the others, and those that come later, are not run: each is called with `cancelled` instead.
// Thread safety: all of it. A task, and what is destroyed with it, may call submit(), stop() and the destructor: stop()
// does not wait for the thread that it is called on.
class Workers {
public:
    enum class Call : std::uint8_t { run, cancelled };
    using Task = std::function<void(Call)>;

    explicit Workers(std::size_t most);
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    // `next`: before those that wait already. For what a running task may wait for: with its turn last, each of them
    // would need a thread to begin and to wait on.
    enum class Turn : std::uint8_t { last, next };
    void submit(Task task, Turn turn = Turn::last);
    void stop();

private:
    struct State;

public:
    // In a process that was forked, the thread that goes on is no worker, whatever it was before.
    static void forget_this_thread() noexcept;

    // While one exists, the calling thread, if it is a worker, is not counted among its like: it waits for another's
    // task, which may be the next in line for a thread.
    class StepAside {
    public:
        StepAside();
        ~StepAside();
        StepAside(const StepAside&) = delete;
        StepAside& operator=(const StepAside&) = delete;

    private:
        std::shared_ptr<State> m_state;
    };

private:
    // Shared with the threads: one that ran stop() outlives the Workers.
    const std::shared_ptr<State> m_state;
};

}  // namespace hearth::base
