#include "support/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::test {

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void throw_errno(const char* what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

class Descriptor {
public:
    explicit Descriptor(int value = -1) : m_value(value) {}
    Descriptor(Descriptor&& other) noexcept : m_value(std::exchange(other.m_value, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept
    {
        std::swap(m_value, other.m_value);
        return *this;
    }
    ~Descriptor() { close(); }

    int get() const { return m_value; }
    void close()
    {
        if (m_value >= 0)
            ::close(m_value);
        m_value = -1;
    }

private:
    int m_value;
};

// The end that is read from, and the one that is written to.
std::pair<Descriptor, Descriptor> new_pipe()
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw_errno("pipe2");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// The child's side of its three streams, and ours.
struct Streams {
    Descriptor child_in, child_out, child_err;
    Descriptor feed;  // what we write its input to
    Descriptor out;   // what we read from
    Descriptor err;
    bool close_out = false;
};

Streams on_terminal()
{
    Streams streams;
    int master = -1;
    int slave = -1;
    winsize size{};
    size.ws_col = 80;
    size.ws_row = 24;
    if (::openpty(&master, &slave, nullptr, nullptr, &size) != 0)
        throw_errno("openpty");
    streams.out = Descriptor(master);
    streams.feed = Descriptor(::fcntl(master, F_DUPFD_CLOEXEC, 3));
    streams.child_in = Descriptor(slave);
    streams.child_out = Descriptor(::fcntl(slave, F_DUPFD_CLOEXEC, 3));
    streams.child_err = Descriptor(::fcntl(slave, F_DUPFD_CLOEXEC, 3));
    ::fcntl(master, F_SETFD, FD_CLOEXEC);
    ::fcntl(slave, F_SETFD, FD_CLOEXEC);
    return streams;
}

Streams on_pipes(Output output)
{
    Streams streams;
    std::tie(streams.child_in, streams.feed) = new_pipe();
    std::tie(streams.err, streams.child_err) = new_pipe();
    if (output == Output::full_device) {
        streams.child_out = Descriptor(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    } else if (output == Output::closed) {
        streams.close_out = true;
    } else {
        auto [out, child_out] = new_pipe();
        streams.child_out = std::move(child_out);
        if (output == Output::captured)
            streams.out = std::move(out);
    }
    return streams;
}

std::vector<std::string> changed_environment(const ProcessOptions& options)
{
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text(*variable);
        if (options.environment.count(std::string(text.substr(0, text.find('=')))) == 0)
            variables.emplace_back(text);
    }
    for (const auto& [name, value] : options.environment)
        if (value)
            variables.push_back(name + "=" + *value);
    return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts)
{
    std::vector<char*> result;
    for (std::string& text : texts)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

// Between fork and exec: only what a signal handler may call.
[[noreturn]] void become(const Streams& streams, const char* directory, char** arguments, char** environment)
{
    ::signal(SIGPIPE, SIG_DFL);
    const bool ready = ::dup2(streams.child_in.get(), STDIN_FILENO) >= 0 &&
                       (streams.close_out || ::dup2(streams.child_out.get(), STDOUT_FILENO) >= 0) &&
                       ::dup2(streams.child_err.get(), STDERR_FILENO) >= 0 && ::chdir(directory) == 0;
    if (streams.close_out)
        ::close(STDOUT_FILENO);
    if (ready)
        ::execve(arguments[0], arguments, environment);
    ::_exit(127);
}

// Reads what is there; closes the descriptor at its end. A terminal ends with EIO.
void drain(Descriptor& from, std::string& into)
{
    std::array<char, 65536> buffer{};
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got > 0)
        into.append(buffer.data(), static_cast<std::size_t>(got));
    else if (got == 0 || errno != EINTR)
        from.close();
}

void feed(Descriptor& to, std::string_view& input, bool keep_open)
{
    const ssize_t put = ::write(to.get(), input.data(), std::min<std::size_t>(input.size(), 4096));
    if (put > 0)
        input.remove_prefix(static_cast<std::size_t>(put));
    else if (put < 0 && errno != EINTR)
        input = {};
    if (input.empty() && !keep_open)
        to.close();
}

// Until the child is gone and its output read, or the time is up.
bool serve(Streams& streams, Descriptor& alive, std::string_view input, bool terminal, Clock::time_point deadline,
           ProcessResult& result)
{
    if (input.empty() && !terminal)
        streams.feed.close();
    while (streams.out.get() >= 0 || streams.err.get() >= 0 || alive.get() >= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        if (left.count() <= 0)
            return false;
        std::array<pollfd, 4> watched{{{streams.out.get(), POLLIN, 0},
                                       {streams.err.get(), POLLIN, 0},
                                       {alive.get(), POLLIN, 0},
                                       {input.empty() ? -1 : streams.feed.get(), POLLOUT, 0}}};
        if (::poll(watched.data(), watched.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
            throw_errno("poll");
        if (watched[0].revents != 0)
            drain(streams.out, result.out);
        if (watched[1].revents != 0)
            drain(streams.err, result.err);
        if (watched[2].revents != 0)
            alive.close();
        if (watched[3].revents != 0)
            feed(streams.feed, input, terminal);
    }
    return true;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options)
{
    const bool terminal = options.output == Output::terminal;
    Streams streams = terminal ? on_terminal() : on_pipes(options.output);
    auto [alive, childs] = new_pipe();  // the second is the child's alone and closes with it
    std::vector<std::string> words = command;
    std::vector<std::string> variables = changed_environment(options);
    const std::vector<char*> arguments = pointers(words);
    const std::vector<char*> environment = pointers(variables);
    const std::string directory = options.directory.empty() ? "." : options.directory;
    struct sigaction ignore {};
    struct sigaction before {};
    ignore.sa_handler = SIG_IGN;  // the child may leave while we still feed it
    ::sigaction(SIGPIPE, &ignore, &before);

    const pid_t child = ::fork();
    if (child < 0)
        throw_errno("fork");
    if (child == 0) {
        ::fcntl(childs.get(), F_SETFD, 0);
        become(streams, directory.c_str(), const_cast<char**>(arguments.data()),
               const_cast<char**>(environment.data()));
    }
    childs.close();
    streams.child_in.close();
    streams.child_out.close();
    streams.child_err.close();

    ProcessResult result;
    result.timed_out = !serve(streams, alive, options.input, terminal, Clock::now() + options.limit, result);
    if (result.timed_out)
        ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ::sigaction(SIGPIPE, &before, nullptr);
    if (WIFEXITED(status))
        result.exit_code = WEXITSTATUS(status);
    else
        result.signal = WTERMSIG(status);
    return result;
}

}  // namespace hearth::test
