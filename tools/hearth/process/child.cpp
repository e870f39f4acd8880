#include "process/child.hpp"

#include "base/error.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string_view>
#include <tuple>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

using Handler = void (*)(int);
Handler g_sigpipe_before = SIG_DFL;
Handler g_sigchld_before = SIG_DFL;
sigset_t g_mask_before;

void close_and_forget(int& descriptor)
{
    if (descriptor >= 0)
        ::close(descriptor);
    descriptor = -1;
}

struct Pipe {
    int read = -1;
    int write = -1;

    Pipe() = default;
    ~Pipe()
    {
        close_and_forget(read);
        close_and_forget(write);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    bool open()
    {
        std::array<int, 2> ends{-1, -1};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            return false;
        read = ends[0];
        write = ends[1];
        return true;
    }
};

// In the form that exec() takes; the pointers are into `words`.
std::vector<char*> pointers_to(const std::vector<std::string>& words)
{
    std::vector<char*> all;
    all.reserve(words.size() + 1);
    for (const std::string& word : words)
        all.push_back(const_cast<char*>(word.c_str()));
    all.push_back(nullptr);
    return all;
}

std::vector<std::string> environment_with(const decltype(StartOptions::environment)& changes)
{
    std::vector<std::string> all;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        bool changed = false;
        for (const auto& [name, value] : changes)
            changed = changed || (text.starts_with(name) && text.substr(name.size()).starts_with('='));
        if (!changed)
            all.emplace_back(text);
    }
    for (const auto& [name, value] : changes)
        if (value)
            all.push_back(name + "=" + *value);
    return all;
}

// Returns only if it fails. Calls only what a child of a process with threads may call.
void become(const char* program, char* const* arguments, char* const* environment)
{
    std::signal(SIGPIPE, g_sigpipe_before);
    std::signal(SIGCHLD, g_sigchld_before);
    ::sigprocmask(SIG_SETMASK, &g_mask_before, nullptr);
    ::execvpe(program, arguments, environment);
}

std::string why_not_started(const std::string& program, int error)
{
    std::error_code ignored;
    const bool by_path = program.find('/') != std::string::npos;
    return fmt::format("{} cannot be started: {}.", in_quotes(program),
                       by_path && std::filesystem::is_directory(program, ignored) ? "it is a directory"
                       : error != ENOENT                                          ? system_error(error)
                       : by_path && std::filesystem::exists(program, ignored)
                           ? "the interpreter or loader that it names is not there"
                           : "there is no such program");
}

// Reads both at once: a program that fills one pipe waits until it is read.
void read_both(const Child& child, Captured& captured)
{
    std::array<pollfd, 2> waiting{pollfd{child.out(), POLLIN, 0}, pollfd{child.err(), POLLIN, 0}};
    std::array<char, 65536> buffer{};
    while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
        if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR)
            return;
        for (auto [from, text] : {std::tuple{&waiting[0], &captured.out}, std::tuple{&waiting[1], &captured.err}}) {
            if (from->fd < 0 || from->revents == 0)
                continue;
            const ssize_t got = ::read(from->fd, buffer.data(), buffer.size());
            if (got > 0)
                text->append(buffer.data(), static_cast<std::size_t>(got));
            else if (got == 0 || errno != EINTR)
                from->fd = -1;
        }
    }
}

}  // namespace

void set_signals()
{
    g_sigpipe_before = std::signal(SIGPIPE, SIG_IGN);
    g_sigchld_before = std::signal(SIGCHLD, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, nullptr, &g_mask_before);
}

Result<Child> Child::start(const std::vector<std::string>& command, const StartOptions& options)
{
    const std::string& program = options.program.empty() ? command[0] : options.program;
    const std::vector<char*> arguments = pointers_to(command);
    const std::vector<std::string> settings = environment_with(options.environment);
    const std::vector<char*> environment = pointers_to(settings);
    Pipe in;
    Pipe out;
    Pipe err;
    Pipe failure;  // closed when the program starts; gets the errno if it does not
    const bool pipes = (options.in == Stream::ours || in.open()) && (options.out == Stream::ours || out.open()) &&
                       (options.err == Stream::ours || err.open()) && failure.open();
    Child child;
    child.m_id = pipes ? ::fork() : -1;
    if (child.m_id == 0) {
        if ((in.read < 0 || ::dup2(in.read, STDIN_FILENO) >= 0) &&
            (out.write < 0 || ::dup2(out.write, STDOUT_FILENO) >= 0) &&
            (err.write < 0 || ::dup2(err.write, STDERR_FILENO) >= 0))
            become(program.c_str(), arguments.data(), environment.data());
        const int error = errno;
        static_cast<void>(!::write(failure.write, &error, sizeof error));
        ::_exit(127);
    }
    if (child.m_id < 0)
        return hearth::error(Code::io, "{}", why_not_started(program, errno));
    child.m_in = std::exchange(in.write, -1);
    child.m_out = std::exchange(out.read, -1);
    child.m_err = std::exchange(err.read, -1);
    close_and_forget(failure.write);
    int error = 0;
    ssize_t told = 0;
    do
        told = ::read(failure.read, &error, sizeof error);
    while (told < 0 && errno == EINTR);
    if (told <= 0)
        return child;
    static_cast<void>(child.wait().ok());
    return hearth::error(error == ENOENT ? Code::not_found : Code::unavailable, "{}", why_not_started(program, error));
}

Child::Child(Child&& other) noexcept
    : m_id(std::exchange(other.m_id, -1)), m_in(std::exchange(other.m_in, -1)), m_out(std::exchange(other.m_out, -1)),
      m_err(std::exchange(other.m_err, -1))
{
}

Child& Child::operator=(Child&& other) noexcept
{
    std::swap(m_id, other.m_id);
    std::swap(m_in, other.m_in);
    std::swap(m_out, other.m_out);
    std::swap(m_err, other.m_err);
    return *this;
}

Child::~Child()
{
    for (int* end : {&m_in, &m_out, &m_err})
        close_and_forget(*end);
}

void Child::close_in()
{
    close_and_forget(m_in);
}

Result<ChildEnd> Child::wait()
{
    for (int* end : {&m_in, &m_out, &m_err})
        close_and_forget(*end);
    int status = 0;
    while (::waitpid(m_id, &status, 0) < 0)
        if (errno != EINTR)
            return error(Code::io, "It cannot be told how process {} ended: {}.", m_id, system_error(errno));
    if (WIFSIGNALED(status))
        return ChildEnd{0, WTERMSIG(status)};
    return ChildEnd{WEXITSTATUS(status), 0};
}

Result<Captured> run_captured(const std::vector<std::string>& command, StartOptions options)
{
    options.out = Stream::piped;
    options.err = Stream::piped;
    HEARTH_TRY_SET(Child child, Child::start(command, options));
    Captured captured;
    read_both(child, captured);
    HEARTH_TRY_SET(captured.end, child.wait());
    return captured;
}

void replace_this_process(const std::vector<std::string>& command)
{
    become(command[0].c_str(), pointers_to(command).data(), environ);
    const int error = errno;
    complain(why_not_started(command[0], error));
    ::_exit(error == ENOENT ? k_not_found : k_not_executable);
}

}  // namespace hearth::cli
