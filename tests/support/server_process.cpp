#include "support/server_process.hpp"

#include "support/eventually.hpp"
#include "support/tools.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <random>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::test {

namespace {

// A socket that is bound there; -1: somebody else has the port.
int bound_socket(std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return fd;
    ::close(fd);
    return -1;
}

// The inodes of the sockets that listen at a port, whoever has them: proc_net_tcp(5).
std::vector<std::string> listeners_at(std::uint16_t port)
{
    const std::string here = fmt::format(":{:04X} ", port);
    std::vector<std::string> inodes;
    for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::ifstream lines(file);
        for (std::string line; std::getline(lines, line);) {
            if (line.find(here) == std::string::npos || line.find(" 0A ") == std::string::npos)
                continue;
            std::istringstream words(line);
            inodes.push_back(*std::next(std::istream_iterator<std::string>(words), 9));
        }
    }
    return inodes;
}

bool has_open(pid_t process, const std::string& socket_inode)
{
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", process), failed))
        if (std::filesystem::read_symlink(entry.path(), failed) == "socket:[" + socket_inode + "]")
            return true;
    return false;
}

}  // namespace

// Below those that the system gives to whoever connects: it might give one away before the server has taken it.
std::uint16_t free_port()
{
    thread_local std::mt19937 t_random{std::random_device{}()};
    std::uniform_int_distribution<std::uint16_t> below(10'000, 32'767);
    for (int tries = 0; tries < 1000; ++tries) {
        const std::uint16_t port = below(t_random);
        if (const int fd = bound_socket(port); fd >= 0) {
            ::close(fd);
            return port;
        }
    }
    throw std::runtime_error("No port of this machine is free, or no socket can be had.");
}

int listen_on_loopback(std::uint16_t& port, int backlog)
{
    const int fd = bound_socket(0);
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (::listen(fd, backlog) != 0 || ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
        throw std::runtime_error("No socket that listens can be had.");
    port = ntohs(address.sin_port);
    return fd;
}

bool has_command(const std::string& name)
{
    return !tool(name).empty();
}

ServerProcess::ServerProcess(const std::vector<std::string>& command, const std::string& log)
{
    const std::string program =
        command.front().find('/') != std::string::npos ? command.front() : tool(command.front());
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

ServerProcess ServerProcess::at_a_free_port(const std::function<std::vector<std::string>(std::uint16_t port)>& command,
                                            const std::string& log, std::uint16_t& port)
{
    for (int tries = 0; tries < 5; ++tries) {
        port = free_port();
        ServerProcess process(command(port), log);
        if (process.listens_at(port))
            return process;
    }
    std::stringstream said;
    said << std::ifstream(log).rdbuf();
    throw std::runtime_error(command(port).front() + " does not start: " + said.str());
}

bool ServerProcess::listens_at(std::uint16_t port) const
{
    bool here = false;
    const bool known = eventually("the server listens", [&] {
        siginfo_t ended{};
        const int asked = ::waitid(P_PID, static_cast<id_t>(m_pid), &ended, WEXITED | WNOHANG | WNOWAIT);
        const std::vector<std::string> inodes = listeners_at(port);
        here = std::any_of(inodes.begin(), inodes.end(), [&](const auto& one) { return has_open(m_pid, one); });
        return here || asked != 0 || ended.si_pid != 0;
    });
    return known && here;
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
