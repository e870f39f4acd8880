#include "tiers/http/transfer.hpp"

#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/of_process.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <new>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace hearth::tiers::http {

namespace {

// A fork waits for the lock: a child finds libcurl ready or untouched, never half made.
struct Curl {
    base::ForkSafeMutex mutex{base::LockLevel::counters};
    bool begun = false;
    bool ready = false;
};

constexpr long k_max_redirects = 3;
// Only the beginning of an error page is useful, and the page may never end.
constexpr std::uint64_t k_max_refusal = 65536;
// At most this much memory is reserved on the server's word for the length; more is taken as bytes arrive.
constexpr std::uint64_t k_max_reserve = 64_MiB;
// Reads a kernel of a few hundred KB in a few reads; libcurl's own 16 KB would take dozens.
constexpr long k_receive_buffer = 262144;
constexpr long k_send_buffer = 131072;

long milliseconds_until(SteadyTime deadline)
{
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    // 0 would mean no limit.
    return static_cast<long>(std::clamp<std::int64_t>(left.count(), 1, 1'000'000'000));
}

std::string header_of(CURL* curl, const char* name)
{
    curl_header* header = nullptr;
    return curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK ? header->value : "";
}

// Whether the end of the body could be told from a connection that broke.
bool has_known_end(CURL* curl)
{
    curl_off_t length = -1;
    long version = 0;
    curl_easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    curl_easy_getinfo(curl, CURLINFO_HTTP_VERSION, &version);
    return length >= 0 || version >= CURL_HTTP_VERSION_2_0 || !header_of(curl, "Transfer-Encoding").empty();
}

}  // namespace

bool curl_ready()
{
    Curl& curl = base::of_process<Curl>();
    const std::lock_guard lock(curl.mutex);
    // Never cleaned up: another user of libcurl in this process may outlive us.
    if (!std::exchange(curl.begun, true))
        curl.ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    return curl.ready;
}

void SocketBook::attach(CURL* handle)
{
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, &SocketBook::open_one);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, this);
    curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, &SocketBook::close_one);
    curl_easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, this);
}

// Opening and noting happen under the lock, so that no fork comes between them; neither of them waits.
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

std::unique_ptr<Transfer> Transfer::make(const ClientOptions& options, SocketBook& sockets, const Request& request,
                                         SteadyTime deadline)
{
    CURL* const curl = curl_ready() ? curl_easy_init() : nullptr;
    if (!curl)
        return nullptr;
    std::unique_ptr<Transfer> transfer(new Transfer(options, curl, request, deadline));
    sockets.attach(curl);
    transfer->set_up();
    transfer->set_limits();
    transfer->set(CURLOPT_URL, request.url.c_str());
    transfer->set_method(request);
    if (request.login)
        transfer->set_login(*request.login);
    transfer->set_headers(request);
    return transfer;
}

Transfer::~Transfer()
{
    curl_easy_cleanup(m_curl);
    curl_slist_free_all(m_headers);
}

void Transfer::set_up()
{
    set(CURLOPT_ERRORBUFFER, m_words.data());
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_PRIVATE, this);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, "hearth");
    set(CURLOPT_PROTOCOLS_STR, m_options.tls ? "https" : "http");
    // A request over TLS must not be redirected to an answer without TLS.
    set(CURLOPT_REDIR_PROTOCOLS_STR, m_options.tls ? "https" : "http,https");
    set(CURLOPT_MAXREDIRS, k_max_redirects);
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    set(CURLOPT_PIPEWAIT, 1L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_BUFFERSIZE, k_receive_buffer);
    set(CURLOPT_UPLOAD_BUFFERSIZE, k_send_buffer);
#if LIBCURL_VERSION_NUM >= 0x075700
    // A name server that does not answer must not hold us beyond the deadline.
    set(CURLOPT_QUICK_EXIT, 1L);
#endif
    const remotes::TlsOptions& trust = m_options.trust;
    if (!trust.ca_file.empty())
        set(CURLOPT_CAINFO, trust.ca_file.c_str());
    if (trust.verify == remotes::Verify::nothing) {
        set(CURLOPT_SSL_VERIFYPEER, 0L);
        set(CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (!trust.ours.empty()) {
        set(CURLOPT_SSLCERT, trust.ours.certificate.c_str());
        set(CURLOPT_SSLKEY, trust.ours.key.c_str());
        // Without a password OpenSSL would ask at the terminal if the key was replaced by an encrypted one.
        set(CURLOPT_KEYPASSWD, "");
    }
}

void Transfer::set_limits()
{
    const long left = milliseconds_until(m_deadline);
    set(CURLOPT_TIMEOUT_MS, left);
    set(CURLOPT_CONNECTTIMEOUT_MS,
        std::min(left, static_cast<long>(std::max<std::int64_t>(m_options.connect_timeout.count(), 1))));
    // A length beyond the limit ends the transfer at the header. HEAD receives no body, so it needs no limit.
    if (m_method == Method::get)
        set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(m_max_bytes));
}

void Transfer::set_method(const Request& request)
{
    // Only what reads: a server must not choose where this machine writes.
    set(CURLOPT_FOLLOWLOCATION, request.method == Method::get || request.method == Method::head ? 1L : 0L);
    switch (request.method) {
    case Method::get:
        break;
    case Method::head:
        set(CURLOPT_NOBODY, 1L);
        break;
    case Method::remove:
        set(CURLOPT_CUSTOMREQUEST, "DELETE");
        break;
    case Method::put:
        // Sent as a POST with the method's name changed: libcurl then reads the caller's bytes in place, sends a small
        // body together with its header.
        set(CURLOPT_POST, 1L);
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        set(CURLOPT_POSTFIELDS, request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
        set(CURLOPT_CUSTOMREQUEST, "PUT");
        break;
    }
}

void Transfer::set_login(const Login& login)
{
    switch (login.kind) {
    case Login::Kind::bearer:
        set(CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        set(CURLOPT_XOAUTH2_BEARER, login.secret.c_str());
        return;
    case Login::Kind::basic:
        set(CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        break;
    case Login::Kind::sigv4:
        set(CURLOPT_AWS_SIGV4, login.scope.c_str());
        // A signature is for one host, and the session's token is a header that would be sent to any.
        set(CURLOPT_FOLLOWLOCATION, 0L);
        break;
    }
    set(CURLOPT_USERNAME, login.user.c_str());
    set(CURLOPT_PASSWORD, login.secret.c_str());
}

void Transfer::set_headers(const Request& request)
{
    const auto add = [&](const char* header) {
        if (curl_slist* longer = curl_slist_append(m_headers, header))
            m_headers = longer;
    };
    for (const std::string& header : request.headers)
        add(header.c_str());
    if (request.method == Method::put) {
        add("Content-Type: application/octet-stream");
        // Saves the round trip that asks whether the server wants the body. Not with SigV4: libcurl 7.88 signs the
        // empty header, and the signature is wrong. There it asks only before bodies above 1 MB.
        if (!request.login || request.login->kind != Login::Kind::sigv4)
            add("Expect:");
    }
    set(CURLOPT_HTTPHEADER, m_headers);
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self)
{
    return static_cast<Transfer*>(self)->receive(as_bytes(std::string_view(data, size * count)));
}

std::size_t Transfer::receive(ByteView bytes) noexcept
{
    try {
        if (!m_receiving) {
            m_receiving = true;
            long status = 0;
            curl_off_t length = -1;
            curl_easy_getinfo(m_curl, CURLINFO_RESPONSE_CODE, &status);
            curl_easy_getinfo(m_curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
            m_limit = status >= 200 && status < 300 ? m_max_bytes : k_max_refusal;
            if (length > 0)
                m_body.reserve(std::min({static_cast<std::uint64_t>(length), m_limit, k_max_reserve}));
        }
        if (bytes.size() > m_limit - m_body.size()) {
            m_stopped = Stopped::over_limit;
            return 0;
        }
        m_body.insert(m_body.end(), bytes.begin(), bytes.end());
        return bytes.size();
    } catch (const std::bad_alloc&) {
        m_stopped = Stopped::no_memory;
        return 0;
    }
}

Result<Answer> Transfer::finish(CURLcode code)
{
    Answer answer;
    curl_easy_getinfo(m_curl, CURLINFO_RESPONSE_CODE, &answer.status);
    if (m_stopped == Stopped::no_memory)
        return error(Code::unavailable, "There is no memory for what {} answers.", m_options.address);
    const bool over_limit = m_stopped == Stopped::over_limit || code == CURLE_FILESIZE_EXCEEDED;
    // However long an error page is, its status says enough.
    const bool refused = answer.status >= 400;
    if (over_limit && !refused)
        return too_large(m_options.address, m_max_bytes);
    if (code != CURLE_OK && !(over_limit && refused))
        return error_of_transfer(code, m_words.data(), m_options, m_deadline);
    // libcurl takes "HTTP/204" for version 2 and a status of 4, and "HTTP/21000" for one of 1000.
    if (answer.status < 100 || answer.status > 999)
        return not_http(m_options.address, fmt::format("{} is no status", answer.status));
    if (m_method == Method::get && answer.ok() && !has_known_end(m_curl))
        return not_http(m_options.address, "it says neither how long the body is nor where it ends");
    answer.server = header_of(m_curl, "Server");
    answer.body = Bytes::adopt(std::move(m_body));
    return answer;
}

}  // namespace hearth::tiers::http
