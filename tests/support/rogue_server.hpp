#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace hearth::test {

// A server on loopback that answers whatever it is sent with the same bytes, and then closes or says no more.
class RogueServer {
public:
    enum class Then : std::uint8_t { close, stay };

    RogueServer(std::string answer, Then then);
    // One that answers what it is asked. On the server's thread.
    RogueServer(std::function<std::string(std::string_view asked)> answer, Then then);
    ~RogueServer();
    RogueServer(const RogueServer&) = delete;
    RogueServer& operator=(const RogueServer&) = delete;

    std::uint16_t port() const { return m_port; }
    int connections() const { return m_connections.load(); }
    // That one connection has sent, as far as they came one by one.
    int most_requests() const { return m_most_requests.load(); }

private:
    void serve();

    const std::function<std::string(std::string_view asked)> m_answer;
    const Then m_then;
    std::uint16_t m_port = 0;
    int m_listener = -1;
    std::atomic<int> m_connections{0};
    std::atomic<int> m_most_requests{0};
    std::thread m_thread;
};

}  // namespace hearth::test
