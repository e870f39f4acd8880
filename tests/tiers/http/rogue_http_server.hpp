#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace hearth::test {

// A server that answers whatever a test wants it to. One connection after another: each gets one request read, is
// answered, and is closed.
class RogueHttpServer {
public:
    class Connection {
    public:
        Connection(int fd, std::string request) : m_fd(fd), m_request(std::move(request)) {}
        // The request with its header and body: "PUT /x HTTP/1.1\r\n...".
        const std::string& request() const { return m_request; }
        std::string path() const;
        // False: the client has left.
        bool send(std::string_view bytes) const;
        // Returns when the client has left, or after that many milliseconds.
        bool client_left_within(int milliseconds) const;

    private:
        int m_fd;
        std::string m_request;
    };

    using Behaviour = std::function<void(const Connection&)>;

    explicit RogueHttpServer(Behaviour behaviour);
    // What to say to everybody.
    explicit RogueHttpServer(std::string words);
    ~RogueHttpServer();
    RogueHttpServer(const RogueHttpServer&) = delete;
    RogueHttpServer& operator=(const RogueHttpServer&) = delete;

    std::string address() const { return "127.0.0.1:" + std::to_string(m_port); }
    std::string url() const { return "http://" + address(); }
    int requests() const { return m_requests.load(); }

private:
    void serve();

    const Behaviour m_behaviour;
    std::uint16_t m_port = 0;
    int m_listener = -1;
    std::atomic<int> m_requests = 0;
    std::thread m_thread;
};

}  // namespace hearth::test
