#include "support/server_process.hpp"

#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <netinet/in.h>
#include <random>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace hearth::test {

namespace {

std::string path_of(const std::string& command)
{
    if (command.find('/') != std::string::npos)
        return command;
    const char* path = std::getenv("PATH");
    std::istringstream folders(std::string(path ? path : "") + ":/usr/sbin:/usr/local/sbin");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (const std::string full = folder + "/" + command; !folder.empty() && ::access(full.c_str(), X_OK) == 0)
            return full;
    return {};
}

int local_socket(std::uint16_t port, sockaddr_in& address)
{
    address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

}  // namespace

// Below those that the system gives to whoever connects: it might give one away before the server has taken it.
std::uint16_t free_port()
{
    thread_local std::mt19937 t_random{std::random_device{}()};
    std::uniform_int_distribution<std::uint16_t> below(10'000, 32'767);
    for (int tries = 0; tries < 1000; ++tries) {
        const std::uint16_t port = below(t_random);
        sockaddr_in address{};
        const int fd = local_socket(port, address);
        const int bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        ::close(fd);
        if (bound == 0)
            return port;
    }
    throw std::runtime_error("No port of this machine is free, or no socket can be had.");
}

bool answers(std::uint16_t port, std::chrono::seconds limit)
{
    const auto end = std::chrono::steady_clock::now() + limit;
    do {
        sockaddr_in address{};
        const int fd = local_socket(port, address);
        const int connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        ::close(fd);
        if (connected == 0)
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

bool has_command(const std::string& name)
{
    return !path_of(name).empty();
}

ServerProcess::ServerProcess(const std::vector<std::string>& command, const std::string& log)
{
    const std::string program = path_of(command.front());
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const pid_t parent = ::getpid();
    m_pid = ::fork();
    if (m_pid != 0) {
        ::close(out);
        return;
    }
    // Ends with the test program, also where that is killed.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(127);
    ::dup2(::open("/dev/null", O_RDONLY), 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execv(program.c_str(), words.data());
    ::_exit(127);
}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept : m_pid(std::exchange(other.m_pid, 0)) {}

ServerProcess& ServerProcess::operator=(ServerProcess&& other) noexcept
{
    std::swap(m_pid, other.m_pid);
    return *this;
}

ServerProcess::~ServerProcess()
{
    kill();
}

void ServerProcess::signal(int number) const
{
    if (m_pid > 0)
        ::kill(m_pid, number);
}

void ServerProcess::kill()
{
    if (m_pid <= 0)
        return;
    ::kill(m_pid, SIGKILL);
    ::kill(m_pid, SIGCONT);
    ::waitpid(m_pid, nullptr, 0);
    m_pid = 0;
}

}  // namespace hearth::test
