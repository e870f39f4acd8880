#include "run_child.hpp"

#include "exit.hpp"
#include "output.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

constexpr int k_not_found = 127;
constexpr int k_not_executable = 126;

constexpr std::array k_handed_on{SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT, SIGINT, SIGQUIT};

volatile sig_atomic_t g_child = 0;
void (*g_sigpipe_before)(int) = SIG_DFL;
void (*g_sigchld_before)(int) = SIG_DFL;

void hand_on(int signal, siginfo_t* info, void* /*context*/)
{
    const int saved = errno;
    // What is typed at a terminal goes to the command as well, as to all of its group.
    const bool typed = (signal == SIGINT || signal == SIGQUIT) && info->si_code == SI_KERNEL;
    if (g_child != 0 && !typed)
        ::kill(g_child, signal);
    errno = saved;
}

[[noreturn]] void end_unstarted(const std::string& program, int error)
{
    std::error_code ignored;
    const bool by_path = program.find('/') != std::string::npos;
    complain(fmt::format("{} cannot be started: {}.", in_quotes(program),
                         by_path && std::filesystem::is_directory(program, ignored) ? "it is a directory"
                         : error != ENOENT                                          ? std::strerror(error)
                         : by_path && std::filesystem::exists(program, ignored)
                             ? "the interpreter or loader that it names is not there"
                             : "there is no such program"));
    ::_exit(error == ENOENT ? k_not_found : k_not_executable);
}

}  // namespace

std::vector<char*> as_arguments(const std::vector<std::string>& command)
{
    std::vector<char*> all;
    all.reserve(command.size() + 1);
    for (const std::string& word : command)
        all.push_back(const_cast<char*>(word.c_str()));
    all.push_back(nullptr);
    return all;
}

void replace_this_process(const std::vector<std::string>& command)
{
    const std::vector<char*> arguments = as_arguments(command);
    std::signal(SIGPIPE, g_sigpipe_before);
    std::signal(SIGCHLD, g_sigchld_before);
    ::execvp(arguments[0], arguments.data());
    end_unstarted(command[0], errno);
}

void set_signals()
{
    g_sigpipe_before = std::signal(SIGPIPE, SIG_IGN);
    g_sigchld_before = std::signal(SIGCHLD, SIG_DFL);
}

Result<ChildEnd> wait_for(pid_t child)
{
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return Error{
                Code::io, fmt::format("How process {} ended cannot be learnt: {}.", child, std::strerror(errno)), {}};
    if (WIFSIGNALED(status))
        return ChildEnd{0, WTERMSIG(status)};
    return ChildEnd{WEXITSTATUS(status), 0};
}

ChildEnd run_child(const std::vector<std::string>& command)
{
    sigset_t all{};
    sigset_t before{};
    sigfillset(&all);
    // Nothing arrives between the fork and the moment we know whom to hand it to.
    ::sigprocmask(SIG_BLOCK, &all, &before);
    const pid_t child = ::fork();
    if (child < 0) {
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
        fail(fmt::format("No process could be started: {}.", std::strerror(errno)));
    }
    if (child == 0) {
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
        replace_this_process(command);
    }
    g_child = child;
    struct sigaction act {};
    act.sa_sigaction = hand_on;
    act.sa_flags = SA_RESTART | SA_SIGINFO;
    sigfillset(&act.sa_mask);  // one at a time: each is handed on before the next
    for (const int signal : k_handed_on)
        ::sigaction(signal, &act, nullptr);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);

    const Result<ChildEnd> end = wait_for(child);
    g_child = 0;
    if (!end)
        fail(end.error().message);
    return *end;
}

void end_as(const ChildEnd& end)
{
    if (end.signal != 0) {
        // The command has dumped its core, where that is wanted; a second one would be ours.
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        std::signal(end.signal, SIG_DFL);
        ::raise(end.signal);
        ::_exit(128 + end.signal);
    }
    ::_exit(end.code);
}

}  // namespace hearth::cli
