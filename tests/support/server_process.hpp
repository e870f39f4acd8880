#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace hearth::test {

// A port of this machine that nobody listens at; tests may take it, and usually get it.
std::uint16_t free_port();

// Waits until somebody accepts connections there.
bool answers(std::uint16_t port, std::chrono::seconds limit = std::chrono::seconds(20));

// Whether there is such a command on the PATH (or in /usr/sbin, where servers are).
bool has_command(const std::string& name);

// A server that a test has started: ended with it, at the latest when the test program ends, however that happens.
class ServerProcess {
public:
    ServerProcess() = default;
    // The first word is a command; what it says goes to the file `log`.
    ServerProcess(const std::vector<std::string>& command, const std::string& log);
    ServerProcess(ServerProcess&& other) noexcept;
    ServerProcess& operator=(ServerProcess&& other) noexcept;
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;
    ~ServerProcess();

    bool running() const noexcept { return m_pid > 0; }
    pid_t pid() const noexcept { return m_pid; }
    void signal(int number) const;
    void kill();  // SIGKILL, and gone when it returns

private:
    pid_t m_pid = 0;
};

}  // namespace hearth::test
