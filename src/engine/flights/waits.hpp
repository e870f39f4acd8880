#pragma once

#include "hearth/key.hpp"
#include "hearth/result.hpp"

#include <optional>

namespace hearth::engine {

// Who waits for whom in this process, so that a wait that would never end is an Error instead. A thread does any number
// of works (it compiles, and compiles something else for that) and waits for at most one. Whoever begins to wait
// follows the chain: the work, who does it, what that thread waits for, who does that... If it comes back to the one
// who begins, all of them would wait for ever. The last to begin always sees the whole circle.
// Thread safety: all of it, under one lock for the process. Cost: a few steps for each wait, none for a hit.
namespace waits {

struct Thread;

// Something that one thread does and others may wait for: a flight, or a task for a worker.
class Work {
public:
    explicit Work(const Key& key) : m_key(key) {}

private:
    friend class Doing;
    friend class Waiting;
    const Key m_key;
    const Thread* m_by = nullptr;  // null: nobody yet, or nobody any more
};

// While one exists, the thread that made it does the work.
class Doing {
public:
    explicit Doing(Work& work);
    ~Doing();
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;

private:
    Work& m_work;
};

// While one exists, the thread that made it waits for the work, unless that is refused: then it must not wait.
class Waiting {
public:
    explicit Waiting(const Work& work);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    const std::optional<Error>& refused() const { return m_refused; }

private:
    std::optional<Error> m_refused;
};

}  // namespace waits

}  // namespace hearth::engine
