#pragma once

#include "base/fork.hpp"

#include <curl/curl.h>
#include <unordered_set>

namespace hearth::tiers::http {

// The sockets that libcurl has open for one client. A forked child closes them by number, without libcurl, which would
// say goodbye on them: through TLS that is a message (close_notify), and the connection is still the parent's.
// Thread safety: all of it. Outlives every handle that it is attached to.
class SocketBook {
public:
    // From now on the handle opens and closes its sockets through this book.
    void attach(CURL* handle);
    // In a forked child.
    void close_all() noexcept;

private:
    static curl_socket_t open_one(void* book, curlsocktype purpose, curl_sockaddr* address);
    static int close_one(void* book, curl_socket_t socket);

    base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};
    std::unordered_set<curl_socket_t> m_open;
};

}  // namespace hearth::tiers::http
