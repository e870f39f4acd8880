#include "base/own_thread.hpp"

namespace hearth::base {

SignalsBlocked::SignalsBlocked() noexcept
{
    sigset_t set;
    sigfillset(&set);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
        sigdelset(&set, fault);
    // Added to what is blocked: if the caller has blocked a fault's signal, it stays blocked.
    m_blocked = ::pthread_sigmask(SIG_BLOCK, &set, &m_before) == 0;
}

SignalsBlocked::~SignalsBlocked()
{
    if (m_blocked)
        ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
}

}  // namespace hearth::base
