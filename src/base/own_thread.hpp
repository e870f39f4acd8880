#pragma once

#include <csignal>
#include <thread>
#include <utility>

// Signals are the host program's: one that a thread of ours took would never reach the thread that waits for it, or
// would end the program that had blocked it everywhere else.

namespace hearth::base {

// While it lives the calling thread takes no signals but those of its own faults (SIGSEGV and its like): a program that
// reports its crashes reports ours too.
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

// Starts a std::thread or std::jthread that takes none, nor any thread or process that it starts. Every thread of ours
// is started here.
template <class Thread = std::thread, class Work>
Thread start_thread(Work&& work)
{
    const SignalsBlocked inherited;
    return Thread(std::forward<Work>(work));
}

}  // namespace hearth::base
