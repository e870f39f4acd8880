#pragma once

#include <concepts>
#include <csignal>
#include <memory>
#include <thread>
#include <utility>

// Signals belong to the host program. A signal taken by a thread of ours would never reach the thread that waits for
// it, or would end a program that had blocked it in all its own threads.

namespace hearth::base {

// While it lives, the calling thread takes no signals but those of its own faults (SIGSEGV and the like). So a program
// that reports its crashes reports ours too.
class SignalsBlocked {
public:
    SignalsBlocked() noexcept;
    ~SignalsBlocked();
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    bool m_blocked = false;
    sigset_t m_before{};
};

// For tests: the next starts fail, as they do where the system gives a process no more threads.
void fail_thread_starts(int next) noexcept;
bool is_start_to_fail() noexcept;

// Starts a std::thread or std::jthread that takes no such signals; threads and processes that it starts take none
// either. Every thread of ours is started here. False: none can be had, and `thread` is as it was; whoever asked does
// without. What `work` throws ends that thread, never the host program.
template <class Thread, class Work>
bool try_start_thread(Thread& thread, Work&& work) noexcept
try {
    if (is_start_to_fail())
        return false;
    auto contained = [work = std::forward<Work>(work)]<class... Stop>(
        Stop... stop) mutable requires std::invocable<decltype(work)&, Stop...>
    {
        try {
            work(std::move(stop)...);
        } catch (...) {
            return;  // those who have somebody to tell catch it themselves
        }
    };
    const SignalsBlocked inherited;
    thread = Thread(std::move(contained));
    return true;
} catch (...) {
    return false;
}

// For a forked child, of a thread that only its parent has. To join, detach or stop it would touch what is not there.
template <class Thread>
void forget_thread(Thread& thread) noexcept
{
    std::construct_at(&thread);
}

}  // namespace hearth::base
