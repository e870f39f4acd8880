#include "base/own_thread.hpp"

#include <atomic>

namespace hearth::base {

namespace {

std::atomic<int> g_starts_to_fail{0};

}  // namespace

void fail_thread_starts(int next) noexcept
{
    g_starts_to_fail = next;
}

bool is_start_to_fail() noexcept
{
    int left = g_starts_to_fail.load(std::memory_order_relaxed);
    while (left > 0 && !g_starts_to_fail.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
    }
    return left > 0;
}

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
