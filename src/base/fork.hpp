#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

// A host program may fork at any moment, while other threads of the process hold our locks. The child has one thread,
// and a lock that another thread held would be held for ever. So before a fork every lock below is taken, and after it
// every one is released again, on both sides.

namespace hearth::base {

// The order in which locks may be taken while others are held, and in which a fork takes them all.
enum class LockLevel : std::uint8_t { engine, tier_whole, tier, tier_part, counters, reclaim, thread_numbers, end };

// A thread that holds a ForkSafeMutex must not create or destroy any of the classes below: a fork would wait for that
// lock, and the thread for the fork.

// A mutex that a forked child finds unlocked. Works with std::lock_guard, std::unique_lock and
// std::condition_variable_any. One thread never holds two of the same level.
class ForkSafeMutex {
public:
    explicit ForkSafeMutex(LockLevel level);
    ~ForkSafeMutex();
    ForkSafeMutex(const ForkSafeMutex&) = delete;
    ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

    void lock() { m_mutex.lock(); }
    bool try_lock() { return m_mutex.try_lock(); }
    void unlock() { m_mutex.unlock(); }

private:
    const LockLevel m_level;
    std::mutex m_mutex;
};

// Calls `in_child` in a forked child, before fork() returns there and while it has one thread: to forget threads that
// did not come along.
class ForkGuard {
public:
    // `once`: of an object on a thread's stack, which in the child of another thread's fork is nobody's, and is used
    // for something else before that child forks again.
    enum class Calls : std::uint8_t { always, once };
    explicit ForkGuard(std::function<void()> in_child, Calls calls = Calls::always);
    ~ForkGuard();
    ForkGuard(const ForkGuard&) = delete;
    ForkGuard& operator=(const ForkGuard&) = delete;

private:
    friend struct ForkRegistry;
    const std::function<void()> m_in_child;
    const Calls m_calls;
};

// This code may be in a process several times: in the library, and in libraries of ours that it loads. Before a fork
// all their locks are taken in one order, so all of them use the registry of the first.
void* fork_registry();
void use_fork_registry(void* registry);

}  // namespace hearth::base
