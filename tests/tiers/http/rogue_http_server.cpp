#include "rogue_http_server.hpp"

#include "support/server_process.hpp"

#include <cstdlib>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace hearth::test {

namespace {

std::string read_request(int fd)
{
    std::string request;
    char buffer[4096];
    std::size_t wanted = std::string::npos;
    while (request.size() < wanted) {
        const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
        if (got <= 0)
            break;
        request.append(buffer, static_cast<std::size_t>(got));
        const std::size_t end = request.find("\r\n\r\n");
        if (end == std::string::npos || wanted != std::string::npos)
            continue;
        const std::size_t length = request.find("Content-Length: ");
        wanted = end + 4 + (length < end ? std::strtoul(request.c_str() + length + 16, nullptr, 10) : 0);
    }
    return request;
}

}  // namespace

std::string RogueHttpServer::Connection::path() const
{
    const std::size_t begin = m_request.find(' ') + 1;
    return m_request.substr(begin, m_request.find(' ', begin) - begin);
}

bool RogueHttpServer::Connection::send(std::string_view bytes) const
{
    while (!bytes.empty()) {
        const ssize_t sent = ::send(m_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool RogueHttpServer::Connection::client_left_within(int milliseconds) const
{
    pollfd one{m_fd, POLLIN | POLLRDHUP, 0};
    return ::poll(&one, 1, milliseconds) > 0;
}

RogueHttpServer::RogueHttpServer(Behaviour behaviour)
    : m_behaviour(std::move(behaviour)), m_listener(listen_on_loopback(m_port, 16))
{
    m_thread = std::thread([this] { serve(); });
}

RogueHttpServer::RogueHttpServer(std::string words)
    : RogueHttpServer(Behaviour([words = std::move(words)](const Connection& connection) { connection.send(words); }))
{
}

RogueHttpServer::~RogueHttpServer()
{
    ::shutdown(m_listener, SHUT_RDWR);
    m_thread.join();
    ::close(m_listener);
}

void RogueHttpServer::serve()
{
    while (true) {
        const int fd = ::accept4(m_listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0)
            return;
        ++m_requests;
        m_behaviour(Connection(fd, read_request(fd)));
        ::close(fd);
    }
}

}  // namespace hearth::test
