#include "captured.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

struct Pipe {
    int read = -1;
    int write = -1;

    Pipe()
    {
        std::array<int, 2> ends{-1, -1};
        if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
            read = ends[0];
            write = ends[1];
        }
    }
    ~Pipe()
    {
        close(read);
        close(write);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    static void close(int& end)
    {
        if (end >= 0)
            ::close(end);
        end = -1;
    }
};

// Both at once: a program that fills one of them waits for its reader.
void read_both(Pipe& first, std::string& to_first, Pipe& second, std::string& to_second)
{
    std::array<char, 65536> buffer{};
    while (first.read >= 0 || second.read >= 0) {
        std::array<pollfd, 2> waiting{pollfd{first.read, POLLIN, 0}, pollfd{second.read, POLLIN, 0}};
        if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR)
            return;
        for (auto [pipe, text, events] :
             {std::tuple{&first, &to_first, waiting[0].revents}, std::tuple{&second, &to_second, waiting[1].revents}}) {
            if (events == 0 || pipe->read < 0)
                continue;
            const ssize_t got = ::read(pipe->read, buffer.data(), buffer.size());
            if (got > 0)
                text->append(buffer.data(), static_cast<std::size_t>(got));
            else if (got == 0 || errno != EINTR)
                Pipe::close(pipe->read);
        }
    }
}

}  // namespace

Result<Captured> run_captured(const std::vector<std::string>& command)
{
    const std::vector<char*> arguments = as_arguments(command);
    Pipe out;
    Pipe err;
    posix_spawn_file_actions_t actions{};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.write, STDERR_FILENO);
    posix_spawnattr_t attributes{};
    posix_spawnattr_init(&attributes);
    sigset_t defaults{};
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGCHLD);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    pid_t child = 0;
    const int error = out.write < 0 || err.write < 0
                          ? EMFILE
                          : ::posix_spawn(&child, command[0].c_str(), &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return Error{Code::unavailable, fmt::format("{} cannot be started: {}.", command[0], std::strerror(error)), {}};
    Pipe::close(out.write);
    Pipe::close(err.write);
    Captured captured;
    read_both(out, captured.out, err, captured.err);
    const Result<ChildEnd> end = wait_for(child);
    if (!end)
        return end.error();
    captured.end = *end;
    return captured;
}

}  // namespace hearth::cli
