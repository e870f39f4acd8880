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

    void submit(Task task);
    void stop();

private:
    struct State;

public:
    // While one exists, the calling thread, if it is one of these, is not counted: it waits for another's task, which
    // may be the next in line for a thread.
    class StepAside {
    public:
        explicit StepAside(Workers& workers);
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
