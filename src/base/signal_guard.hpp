#pragma once

#include <csignal>
#include <ctime>
#include <sys/resource.h>

namespace hearth::base {

// While it lives this thread does not get that signal. One that came of what was done meanwhile is taken away, so that
// the call that caused it is the error it returns and the host program, which may not ignore the signal, lives on.
// One that was already waiting is somebody else's, and stays. Only for signals that a thread brings upon itself.
class SignalGuard {
public:
    explicit SignalGuard(int signal, bool needed = true) noexcept
    {
        sigemptyset(&m_signal);
        sigaddset(&m_signal, signal);
        if (needed && !is_pending(signal))
            m_blocked = ::pthread_sigmask(SIG_BLOCK, &m_signal, &m_before) == 0 ? signal : 0;
    }
    ~SignalGuard()
    {
        if (m_blocked == 0)
            return;
        const timespec now{};
        if (is_pending(m_blocked))
            ::sigtimedwait(&m_signal, nullptr, &now);
        ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
    }
    SignalGuard(const SignalGuard&) = delete;
    SignalGuard& operator=(const SignalGuard&) = delete;

private:
    static bool is_pending(int signal) noexcept
    {
        sigset_t pending;
        return ::sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
    }

    int m_blocked = 0;  // the signal, where it is us who blocked it
    sigset_t m_signal{};
    sigset_t m_before{};
};

// While it lives, what this thread writes beyond the limit on the size of files (ulimit -f) fails with EFBIG, without
// the SIGXFSZ that would end the program. Every write of ours to a file has one. Cost: a system call where there is no
// limit.
class FileLimitGuard {
public:
    FileLimitGuard() noexcept : m_guard(SIGXFSZ, files_are_limited()) {}

private:
    // Asked each time: a program may set a limit whenever it likes.
    static bool files_are_limited() noexcept
    {
        rlimit limit{};
        return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
    }

    SignalGuard m_guard;
};

}  // namespace hearth::base
