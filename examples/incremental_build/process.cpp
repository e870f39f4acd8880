#include "process.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace demo {

hearth::Result<std::string> run_self(const std::vector<std::string>& arguments)
{
    const std::string program = "/proc/self/exe";
    const auto failed = [&](const std::string& why) {
        return hearth::Error{hearth::Code::io, "The program could not be run in a fresh process: " + why + ".", {}};
    };
    std::vector<char*> words{const_cast<char*>("incremental_build")};
    for (const std::string& argument : arguments)
        words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);

    std::array<int, 2> pipe_ends{};
    if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0)
        return failed(std::strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    pid_t child = -1;
    const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);

    std::string said;
    std::array<char, 4096> buffer{};
    while (error == 0) {
        const ssize_t got = read(pipe_ends[0], buffer.data(), buffer.size());
        if (got > 0)
            said.append(buffer.data(), static_cast<std::size_t>(got));
        else if (got == 0 || errno != EINTR)
            break;
    }
    close(pipe_ends[0]);
    if (error != 0)
        return failed(std::strerror(error));
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return failed(std::strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return failed(WIFEXITED(status) ? "it ended with " + std::to_string(WEXITSTATUS(status))
                                        : "signal " + std::to_string(WTERMSIG(status)) + " ended it");
    return said;
}

}  // namespace demo
