#pragma once

#include <csignal>
#include <ctime>
#include <sys/resource.h>

namespace hearth::base {

// While it lives, this thread does not get that signal. A signal that our calls caused meanwhile is taken away: the
// call returns an error, and the host program, which may not ignore the signal, lives on. A signal that was already
// pending is somebody else's, and stays. Only for signals that a thread brings upon itself.
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

    int m_blocked = 0;  // the signal, if we blocked it; else 0
    sigset_t m_signal{};
    sigset_t m_before{};
};

// While it lives, a write of this thread beyond the limit on the size of files (ulimit -f) fails with EFBIG, without
// the SIGXFSZ that would end the program. Every write of ours to a file has one. Cost: one system call if there is no
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
