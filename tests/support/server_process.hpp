#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace hearth::test {

// A port of this machine that nobody listens at. Somebody else may take it before the caller does: a server that a test
// needs is started with ServerProcess::at_a_free_port().
std::uint16_t free_port();

// A socket of this process that listens on 127.0.0.1, at the port that is written to `port`.
int listen_on_loopback(std::uint16_t& port, int backlog);

// Whether there is such a command on the PATH (or in /usr/sbin, where servers are).
bool has_command(const std::string& name);

// A server that a test has started: ended with it, at the latest when the test program ends, however that happens.
class ServerProcess {
public:
    ServerProcess() = default;
    // The first word is a command; what it says goes to the file `log`.
    ServerProcess(const std::vector<std::string>& command, const std::string& log);
    // Starts a server at a port that nobody else has, and waits until it listens there. Throws with its log.
    static ServerProcess at_a_free_port(const std::function<std::vector<std::string>(std::uint16_t port)>& command,
                                        const std::string& log, std::uint16_t& port);
    ServerProcess(ServerProcess&& other) noexcept : m_pid(std::exchange(other.m_pid, 0)) {}
    ServerProcess& operator=(ServerProcess&& other) noexcept
    {
        std::swap(m_pid, other.m_pid);
        return *this;
    }
    ~ServerProcess() { kill(); }

    bool running() const noexcept { return m_pid > 0; }
    // Waits until this very process listens there. Whether somebody answers would not do: another test's server may
    // have been faster. False: it has ended, or does not get there.
    bool listens_at(std::uint16_t port) const;
    pid_t pid() const noexcept { return m_pid; }
    void signal(int number) const;
    void kill();  // SIGKILL, and gone when it returns

private:
    pid_t m_pid = 0;
};

}  // namespace hearth::test
