#pragma once

#include "base/fork.hpp"
#include "tiers/http/http_errors.hpp"
#include "tiers/http/request.hpp"

#include <array>
#include <curl/curl.h>
#include <memory>
#include <unordered_set>
#include <vector>

namespace hearth::tiers::http {

// Initializes libcurl, once per process. False if that failed.
bool curl_ready();

// The sockets that libcurl has open for one client. A forked child closes them by number and not through libcurl. Over
// TLS libcurl would send a message (close_notify), and the connection is still the parent's.
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

// One request, on a libcurl handle of its own.
// Thread safety: one thread at a time. Ownership: options and book outlive it; what a Request names outlives finish().
// Cost: some 2 us for the handle. No copy of what is sent; one of what is received, out of libcurl's buffer into the
// answer's.
class Transfer {
public:
    // The deadline must be in the future. Null if there is no memory.
    static std::unique_ptr<Transfer> make(const ClientOptions& options, SocketBook& sockets, const Request& request,
                                          SteadyTime deadline);
    ~Transfer();
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    CURL* handle() const noexcept { return m_curl; }
    // The result, after libcurl is done with it.
    Result<Answer> finish(CURLcode code);

private:
    Transfer(const ClientOptions& options, CURL* curl, const Request& request, SteadyTime deadline)
        : m_options(options), m_curl(curl), m_method(request.method), m_max_bytes(request.max_bytes),
          m_deadline(deadline)
    {
    }
    template <class Value>
    void set(CURLoption option, Value value)
    {
        curl_easy_setopt(m_curl, option, value);
    }
    void set_up();
    void set_limits();
    void set_method(const Request& request);
    void set_login(const Login& login);
    void set_headers(const Request& request);
    // Returns how many were taken; fewer than all ends the transfer.
    std::size_t receive(ByteView bytes) noexcept;
    static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);

    enum class Stopped : std::uint8_t { no, over_limit, no_memory };

    const ClientOptions& m_options;
    CURL* const m_curl;
    curl_slist* m_headers = nullptr;
    const Method m_method;
    const std::uint64_t m_max_bytes;
    const SteadyTime m_deadline;
    bool m_receiving = false;
    std::uint64_t m_limit = 0;  // of the body that is being received
    std::vector<std::byte> m_body;
    Stopped m_stopped = Stopped::no;
    std::array<char, CURL_ERROR_SIZE> m_words{};
};

}  // namespace hearth::tiers::http
