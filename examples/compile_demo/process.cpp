#include "process.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace demo {

hearth::Result<Finished> run(const std::vector<std::string>& arguments, const std::string& folder)
{
    const auto failed = [&](int error) {
        return hearth::Error{hearth::Code::io, arguments.front() + " could not be run: " + std::strerror(error), {}};
    };

    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (const std::string& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    const char* path = std::getenv("PATH");
    std::string path_setting = std::string("PATH=") + (path ? path : "/usr/bin:/bin");
    std::string locale_setting = "LC_ALL=C";
    std::array<char*, 3> environment{path_setting.data(), locale_setting.data(), nullptr};

    std::array<int, 2> pipe_ends{};
    if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0)
        return failed(errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
    pid_t child = -1;
    const int error = posix_spawn(&child, argv.front(), &actions, nullptr, argv.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);

    Finished finished;
    std::array<char, 65536> buffer{};
    for (ssize_t got = 0; error == 0;) {
        got = read(pipe_ends[0], buffer.data(), buffer.size());
        if (got > 0)
            finished.said.append(buffer.data(), static_cast<std::size_t>(got));
        else if (got == 0 || errno != EINTR)
            break;
    }
    close(pipe_ends[0]);
    if (error != 0)
        return failed(error);

    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return failed(errno);
    finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return finished;
}

}  // namespace demo
