// Runs a command in our place: signals that are sent to us go to it, and we end as it did.

#include "process/child.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <sys/resource.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

constexpr std::array k_handed_on{SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT, SIGINT, SIGQUIT};

volatile sig_atomic_t g_child = 0;

void hand_on(int signal, siginfo_t* info, void* /*context*/)
{
    const int saved = errno;
    // A signal that is typed at the terminal reaches the command anyway, as it reaches the whole group.
    const bool typed = (signal == SIGINT || signal == SIGQUIT) && info->si_code == SI_KERNEL;
    if (g_child != 0 && !typed)
        ::kill(g_child, signal);
    errno = saved;
}

}  // namespace

ChildEnd run_in_foreground(const std::vector<std::string>& command)
{
    sigset_t all{};
    sigset_t before{};
    sigfillset(&all);
    // No signal may arrive between the start and the moment when we know which process to pass it to.
    ::sigprocmask(SIG_BLOCK, &all, &before);
    Result<Child> child = Child::start(command);
    if (!child) {
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
        if (child.error().code == Code::io)
            fail(child.error().message);
        complain(child.error().message);
        return {child.error().code == Code::not_found ? k_not_found : k_not_executable, 0};
    }
    g_child = child->id();
    struct sigaction act {};
    act.sa_sigaction = hand_on;
    act.sa_flags = SA_RESTART | SA_SIGINFO;
    sigfillset(&act.sa_mask);  // one at a time: each is passed on before the next
    for (const int signal : k_handed_on)
        ::sigaction(signal, &act, nullptr);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);

    const Result<ChildEnd> end = child->wait();
    g_child = 0;
    return or_fail(end);
}

void end_as(const ChildEnd& end)
{
    if (end.signal != 0) {
        // The command has dumped its core if that is wanted; ours would be a second one.
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        std::signal(end.signal, SIG_DFL);
        ::raise(end.signal);
        ::_exit(128 + end.signal);
    }
    ::_exit(end.code);
}

}  // namespace hearth::cli
