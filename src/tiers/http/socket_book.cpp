#include "tiers/http/socket_book.hpp"

#include <mutex>
#include <new>
#include <sys/socket.h>
#include <unistd.h>

namespace hearth::tiers::http {

void SocketBook::attach(CURL* handle)
{
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, &SocketBook::open_one);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, this);
    curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, &SocketBook::close_one);
    curl_easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, this);
}

// Both under the lock, so that no fork comes between a socket and its entry here; neither of them waits for anything.
curl_socket_t SocketBook::open_one(void* book, curlsocktype, curl_sockaddr* address)
{
    auto& self = *static_cast<SocketBook*>(book);
    const std::lock_guard lock(self.m_mutex);
    const int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    try {
        self.m_open.insert(fd);
    } catch (const std::bad_alloc&) {
        ::close(fd);
        return CURL_SOCKET_BAD;
    }
    return fd;
}

int SocketBook::close_one(void* book, curl_socket_t socket)
{
    auto& self = *static_cast<SocketBook*>(book);
    const std::lock_guard lock(self.m_mutex);
    self.m_open.erase(socket);
    return ::close(socket);
}

void SocketBook::close_all() noexcept
{
    const std::lock_guard lock(m_mutex);
    for (const curl_socket_t socket : m_open)
        ::close(socket);
    m_open.clear();
}

}  // namespace hearth::tiers::http
