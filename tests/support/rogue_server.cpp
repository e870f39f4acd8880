#include "support/rogue_server.hpp"

#include "support/server_process.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace hearth::test {

RogueServer::RogueServer(std::string answer, Then then)
    : RogueServer([answer = std::move(answer)](std::string_view) { return answer; }, then)
{
}

RogueServer::RogueServer(std::function<std::string(std::string_view asked)> answer, Then then)
    : m_answer(std::move(answer)), m_then(then), m_listener(listen_on_loopback(m_port, 64))
{
    m_thread = std::thread([this] { serve(); });
}

RogueServer::~RogueServer()
{
    ::shutdown(m_listener, SHUT_RDWR);  // its thread is told by POLLHUP
    m_thread.join();
    ::close(m_listener);
}

void RogueServer::serve()
{
    std::vector<pollfd> all = {{m_listener, POLLIN, 0}};
    std::map<int, int> requests;  // by descriptor
    while (::poll(all.data(), all.size(), -1) >= 0 && (all[0].revents & POLLHUP) == 0) {
        if (all[0].revents != 0) {
            all.push_back({::accept4(m_listener, nullptr, nullptr, SOCK_CLOEXEC), POLLIN, 0});
            requests[all.back().fd] = 0;
            m_connections.fetch_add(1);
        }
        for (std::size_t i = 1; i < all.size(); ++i) {
            if (all[i].revents == 0)
                continue;
            std::array<char, 65536> asked;
            const ssize_t got = ::recv(all[i].fd, asked.data(), asked.size(), 0);
            if (got > 0) {
                m_most_requests = std::max(m_most_requests.load(), ++requests[all[i].fd]);
                const std::string answer = m_answer({asked.data(), static_cast<std::size_t>(got)});
                ::send(all[i].fd, answer.data(), answer.size(), MSG_NOSIGNAL);
            }
            if (got > 0 && m_then == Then::stay)
                continue;
            ::close(all[i].fd);
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
            --i;
        }
    }
    for (std::size_t i = 1; i < all.size(); ++i)
        ::close(all[i].fd);
}

}  // namespace hearth::test
