#pragma once

#include "tiers/http/errors.hpp"
#include "tiers/http/request.hpp"
#include "tiers/http/socket_book.hpp"

#include <array>
#include <curl/curl.h>
#include <memory>
#include <vector>

namespace hearth::tiers::http {

// One request on a handle of libcurl's.
// Thread safety: one thread at a time. Ownership: options and book outlive it; what a Request names outlives finish().
// Cost: no copy of what is sent; one of what is received, out of libcurl's buffer into the answer's.
class Transfer {
public:
    // None where there is no memory for it.
    static std::unique_ptr<Transfer> make(const ClientOptions& options, SocketBook& sockets);
    ~Transfer();
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    CURL* handle() const noexcept { return m_curl; }
    // The deadline is still to come.
    void prepare(const Request& request, SteadyTime deadline);
    // What came of it, after libcurl has done it.
    Result<Answer> finish(CURLcode code);

private:
    Transfer(const ClientOptions& options, CURL* curl) : m_options(options), m_curl(curl) {}
    void set_up(SocketBook& sockets);
    void set_method(const Request& request);
    void set_login(const std::shared_ptr<const Login>& login);
    void set_headers(const Request& request);
    // How many of them are taken; fewer than all ends the transfer.
    std::size_t receive(ByteView bytes) noexcept;
    static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);

    enum class Stopped : std::uint8_t { no, over_limit, no_memory };

    const ClientOptions& m_options;
    CURL* m_curl;
    curl_slist* m_headers = nullptr;
    std::shared_ptr<const Login> m_login;  // what the handle is set to
    Method m_method = Method::get;
    std::uint64_t m_max_bytes = 0;
    SteadyTime m_deadline;
    bool m_receiving = false;
    std::uint64_t m_limit = 0;  // of the body that is being received
    std::vector<std::byte> m_body;
    Stopped m_stopped = Stopped::no;
    std::array<char, CURL_ERROR_SIZE> m_words{};
};

}  // namespace hearth::tiers::http
