#pragma once

#include <csignal>
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

// Starts a std::thread or std::jthread that takes no such signals; threads and processes that it starts take none
// either. Every thread of ours is started here.
template <class Thread = std::thread, class Work>
Thread start_thread(Work&& work)
{
    const SignalsBlocked inherited;
    return Thread(std::forward<Work>(work));
}

}  // namespace hearth::base
