#include "process/stop_signals.hpp"

#include "terminal/exit.hpp"

#include <fmt/format.h>

#include <cstring>

#include <unistd.h>

namespace hearth::cli {

namespace {

constexpr std::array k_stopping{SIGINT, SIGTERM, SIGHUP};

sigset_t stopping_set()
{
    sigset_t all;
    ::sigemptyset(&all);
    for (const int signal : k_stopping)
        ::sigaddset(&all, signal);
    return all;
}

volatile std::sig_atomic_t g_told_to_stop = 0;
int g_alive = 0;

}  // namespace

StopSignals::StopSignals()
{
    static_assert(k_stopping.size() == k_signals);
    if (g_alive++ != 0)
        return;
    g_told_to_stop = 0;
    struct sigaction note {};
    note.sa_handler = [](int signal) { g_told_to_stop = signal; };
    note.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < k_stopping.size(); ++i) {
        ::sigaction(k_stopping[i], nullptr, &m_before[i]);
        // A process that was started ignoring a signal, as nohup does, goes on ignoring it.
        if (m_before[i].sa_handler != SIG_IGN)
            ::sigaction(k_stopping[i], &note, nullptr);
    }
}

StopSignals::~StopSignals()
{
    if (--g_alive != 0)
        return;
    for (std::size_t i = 0; i < k_stopping.size(); ++i)
        ::sigaction(k_stopping[i], &m_before[i], nullptr);
}

HeldStopSignals::HeldStopSignals()
{
    const sigset_t all = stopping_set();
    ::sigprocmask(SIG_BLOCK, &all, &m_mask);
}

HeldStopSignals::~HeldStopSignals()
{
    ::sigprocmask(SIG_SETMASK, &m_mask, nullptr);
}

EndedBySignals::EndedBySignals()
{
    ::sigemptyset(&m_obeyed);
    for (const int signal : k_stopping) {
        struct sigaction before {};
        ::sigaction(signal, nullptr, &before);
        if (before.sa_handler != SIG_IGN)
            ::sigaddset(&m_obeyed, signal);
    }
    m_waiting = std::thread([this] {
        const sigset_t all = stopping_set();
        for (;;) {
            siginfo_t told{};
            const int signal = ::sigwaitinfo(&all, &told);
            if (told.si_code == SI_QUEUE && told.si_value.sival_ptr == this)
                return;
            if (signal > 0 && ::sigismember(&m_obeyed, signal) == 1)
                ::_exit(128 + signal);
        }
    });
}

EndedBySignals::~EndedBySignals()
{
    // Told from a signal that somebody else sent by what it carries.
    ::pthread_sigqueue(m_waiting.native_handle(), SIGTERM, sigval{.sival_ptr = this});
    m_waiting.join();
}

int told_to_stop()
{
    return g_told_to_stop;
}

void stop_if_told()
{
    if (const int signal = told_to_stop(); signal != 0)
        throw Failure{fmt::format("Stopped by signal {} ({}).", signal, ::strsignal(signal)), 128 + signal};
}

}  // namespace hearth::cli
