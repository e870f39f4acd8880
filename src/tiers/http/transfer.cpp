#include "tiers/http/transfer.hpp"

#include "tiers/http/curl_library.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <new>

namespace hearth::tiers::http {

namespace {

constexpr long k_max_redirects = 3;
// Of an error only the beginning is of use; of one that does not end, nothing.
constexpr std::uint64_t k_max_refusal = 65536;
// A server's word for its length is enough to reserve this much; more is taken as it comes.
constexpr std::uint64_t k_max_reserve = 64_MiB;
// A kernel of a few hundred KB in a few reads; libcurl's own 16 KB would take dozens.
constexpr long k_receive_buffer = 262144;
constexpr long k_send_buffer = 131072;

long milliseconds_until(SteadyTime deadline)
{
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    // 0 would be no limit at all.
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

std::unique_ptr<Transfer> Transfer::make(const ClientOptions& options, SocketBook& sockets)
{
    CURL* const curl = curl_ready() ? curl_easy_init() : nullptr;
    if (!curl)
        return nullptr;
    std::unique_ptr<Transfer> transfer(new Transfer(options, curl));
    transfer->set_up(sockets);
    return transfer;
}

Transfer::~Transfer()
{
    curl_easy_cleanup(m_curl);
    curl_slist_free_all(m_headers);
}

void Transfer::set_up(SocketBook& sockets)
{
    sockets.attach(m_curl);
    curl_easy_setopt(m_curl, CURLOPT_ERRORBUFFER, m_words.data());
    curl_easy_setopt(m_curl, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    curl_easy_setopt(m_curl, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(m_curl, CURLOPT_PRIVATE, this);
    curl_easy_setopt(m_curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(m_curl, CURLOPT_USERAGENT, "hearth");
    curl_easy_setopt(m_curl, CURLOPT_PROTOCOLS_STR, m_options.tls ? "https" : "http");
    // What was asked for through TLS does not come back without.
    curl_easy_setopt(m_curl, CURLOPT_REDIR_PROTOCOLS_STR, m_options.tls ? "https" : "http,https");
    curl_easy_setopt(m_curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(m_curl, CURLOPT_MAXREDIRS, k_max_redirects);
    // Else a redirected PUT would lose its body and store nothing under the name.
    curl_easy_setopt(m_curl, CURLOPT_POSTREDIR, CURL_REDIR_POST_ALL);
    curl_easy_setopt(m_curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(m_curl, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(m_curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(m_curl, CURLOPT_BUFFERSIZE, k_receive_buffer);
    curl_easy_setopt(m_curl, CURLOPT_UPLOAD_BUFFERSIZE, k_send_buffer);
#if LIBCURL_VERSION_NUM >= 0x075700
    // A name server that does not answer must not hold us beyond the deadline.
    curl_easy_setopt(m_curl, CURLOPT_QUICK_EXIT, 1L);
#endif
    const remotes::TlsOptions& trust = m_options.trust;
    if (!trust.ca_file.empty())
        curl_easy_setopt(m_curl, CURLOPT_CAINFO, trust.ca_file.c_str());
    if (trust.verify == remotes::Verify::nothing) {
        curl_easy_setopt(m_curl, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(m_curl, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (!trust.ours.empty()) {
        curl_easy_setopt(m_curl, CURLOPT_SSLCERT, trust.ours.certificate.c_str());
        curl_easy_setopt(m_curl, CURLOPT_SSLKEY, trust.ours.key.c_str());
        // Without one OpenSSL would ask at the terminal, should the key have been replaced by one that wants it.
        curl_easy_setopt(m_curl, CURLOPT_KEYPASSWD, "");
    }
}

void Transfer::prepare(const Request& request, SteadyTime deadline)
{
    m_method = request.method;
    m_max_bytes = request.max_bytes;
    m_deadline = deadline;
    m_receiving = false;
    m_body = {};
    m_stopped = Stopped::no;
    m_words[0] = '\0';
    curl_easy_setopt(m_curl, CURLOPT_URL, request.url.c_str());
    set_method(request);
    set_login(request.login);
    set_headers(request);
    const long left = milliseconds_until(deadline);
    curl_easy_setopt(m_curl, CURLOPT_TIMEOUT_MS, left);
    curl_easy_setopt(m_curl, CURLOPT_CONNECTTIMEOUT_MS,
                     std::min(left, static_cast<long>(std::max<std::int64_t>(m_options.connect_timeout.count(), 1))));
    // A length beyond the limit ends it at the header. HEAD takes none of those bytes.
    curl_easy_setopt(m_curl, CURLOPT_MAXFILESIZE_LARGE,
                     m_method == Method::get ? static_cast<curl_off_t>(m_max_bytes) : curl_off_t{0});
}

void Transfer::set_method(const Request& request)
{
    curl_easy_setopt(m_curl, CURLOPT_CUSTOMREQUEST, nullptr);
    curl_easy_setopt(m_curl, CURLOPT_HTTPGET, 1L);
    switch (request.method) {
    case Method::get:
        break;
    case Method::head:
        curl_easy_setopt(m_curl, CURLOPT_NOBODY, 1L);
        break;
    case Method::remove:
        curl_easy_setopt(m_curl, CURLOPT_CUSTOMREQUEST, "DELETE");
        break;
    case Method::put:
        // As a POST by another name: libcurl then reads the caller's bytes from where they are, sends a small body
        // together with its header, and can send it again after a redirect.
        curl_easy_setopt(m_curl, CURLOPT_POST, 1L);
        curl_easy_setopt(m_curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        curl_easy_setopt(m_curl, CURLOPT_POSTFIELDS,
                         request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
        curl_easy_setopt(m_curl, CURLOPT_CUSTOMREQUEST, "PUT");
        break;
    }
}

void Transfer::set_login(const std::shared_ptr<const Login>& login)
{
    if (login == m_login)
        return;
    m_login = login;
    const bool bearer = login && login->kind == Login::Kind::bearer;
    const bool sigv4 = login && login->kind == Login::Kind::sigv4;
    curl_easy_setopt(m_curl, CURLOPT_USERNAME, login && !bearer ? login->user.c_str() : nullptr);
    curl_easy_setopt(m_curl, CURLOPT_PASSWORD, login && !bearer ? login->secret.c_str() : nullptr);
    curl_easy_setopt(m_curl, CURLOPT_XOAUTH2_BEARER, bearer ? login->secret.c_str() : nullptr);
    curl_easy_setopt(m_curl, CURLOPT_AWS_SIGV4, sigv4 ? login->scope.c_str() : nullptr);
    if (!sigv4)
        curl_easy_setopt(m_curl, CURLOPT_HTTPAUTH, bearer ? CURLAUTH_BEARER : CURLAUTH_BASIC);
}

void Transfer::set_headers(const Request& request)
{
    curl_slist* headers = nullptr;
    const auto add = [&](const char* header) {
        if (curl_slist* longer = curl_slist_append(headers, header))
            headers = longer;
    };
    for (const std::string& header : request.headers)
        add(header.c_str());
    if (request.method == Method::put) {
        add("Content-Type: application/octet-stream");
        // No round trip to ask whether the body is welcome. Not with SigV4: libcurl 7.88 signs the empty header, and
        // the signature is wrong; it asks only before bodies above 1 MB.
        if (!request.login || request.login->kind != Login::Kind::sigv4)
            add("Expect:");
    }
    curl_easy_setopt(m_curl, CURLOPT_HTTPHEADER, headers);
    curl_slist_free_all(m_headers);
    m_headers = headers;
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
        return Error{Code::unavailable, "There is no memory for what " + m_options.address + " answers.", {}};
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
