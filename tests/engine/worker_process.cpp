#include "worker_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::test {

namespace {

[[noreturn]] void throw_error(int error, const char* what)
{
    throw std::system_error(error, std::generic_category(), what);
}

void close(int& fd)
{
    if (fd >= 0)
        ::close(fd);
    fd = -1;
}

}  // namespace

WorkerProcess::WorkerProcess(const std::string& directory, std::chrono::milliseconds flight_wait)
{
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0)
        throw_error(errno, "pipe2");
    m_to = to[1];
    m_from = from[0];

    std::string program = HEARTH_CACHE_WORKER;
    std::string where = directory;
    std::string wait = std::to_string(flight_wait.count());
    std::array<char*, 4> arguments{program.data(), where.data(), wait.data(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    const int error = ::posix_spawn(&m_process, program.c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(to[0]);
    ::close(from[1]);
    if (error != 0)
        throw_error(error, "posix_spawn");
}

WorkerProcess::~WorkerProcess()
{
    finish();
}

void WorkerProcess::tell(const std::string& line)
{
    const std::string text = line + "\n";
    if (::write(m_to, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        throw_error(errno, "write to a worker");
}

std::string WorkerProcess::hear()
{
    std::size_t end = 0;
    while ((end = m_heard.find('\n')) == std::string::npos) {
        std::array<char, 4096> buffer{};
        const ssize_t got = ::read(m_from, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return {};
        m_heard.append(buffer.data(), static_cast<std::size_t>(got));
    }
    std::string line = m_heard.substr(0, end);
    m_heard.erase(0, end + 1);
    return line;
}

void WorkerProcess::kill()
{
    ::kill(m_process, SIGKILL);
    wait();
}

int WorkerProcess::finish()
{
    close(m_to);
    const int status = wait();
    close(m_from);
    return status;
}

int WorkerProcess::wait()
{
    if (m_process < 0)
        return 0;
    int status = 0;
    while (::waitpid(m_process, &status, 0) < 0 && errno == EINTR) {
    }
    m_process = -1;
    return status;
}

WorkerProcess& WorkerProcess::first_to_speak(const std::vector<WorkerProcess*>& workers)
{
    std::vector<pollfd> watched;
    for (const WorkerProcess* worker : workers) {
        const bool ready = worker->m_heard.find('\n') != std::string::npos;
        watched.push_back({worker->m_from, POLLIN, 0});
        if (ready)
            return *workers[watched.size() - 1];
    }
    while (::poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
    }
    for (std::size_t i = 0; i < watched.size(); ++i)
        if (watched[i].revents != 0)
            return *workers[i];
    throw_error(errno, "poll");
}

}  // namespace hearth::test
