#include "tiers/http/errors.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::tiers::http {

namespace {

constexpr std::size_t k_max_words = 200;

Error certificate_error(const ClientOptions& options, std::string_view words)
{
    return {Code::denied,
            fmt::format("The certificate of {} is not trusted: {}. Name its authority with ca=FILE, or take any "
                        "certificate with insecure=1.",
                        options.address, words),
            {}};
}

}  // namespace

const char* name_of(Method method)
{
    switch (method) {
    case Method::get:
        return "GET";
    case Method::head:
        return "HEAD";
    case Method::put:
        return "PUT";
    case Method::remove:
        return "DELETE";
    }
    return "?";
}

std::string printable(std::string_view words)
{
    std::string text(words.substr(0, k_max_words));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return text;
}

Error passed_deadline(const std::string& address)
{
    return {Code::timeout, fmt::format("{} did not answer in the time it was given.", address), {}};
}

Error too_large(const std::string& address, std::uint64_t limit)
{
    return {Code::too_large,
            fmt::format("{} answers with more than the {} bytes that are taken from a remote. Raise max_entry_bytes.",
                        address, limit),
            {}};
}

Error not_http(const std::string& address, std::string_view why)
{
    return {Code::corrupt, fmt::format("What {} answers cannot be used: {}.", address, why), {}};
}

Error error_of_transfer(CURLcode code, std::string_view words, const ClientOptions& options, SteadyTime deadline)
{
    const std::string said = printable(words.empty() ? curl_easy_strerror(code) : words);
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        // Where the deadline has not passed it was the limit on connecting.
        if (std::chrono::steady_clock::now() + std::chrono::milliseconds(1) >= deadline)
            return passed_deadline(options.address);
        return {Code::unavailable,
                fmt::format("{} could not be reached within {} ms.", options.address, options.connect_timeout.count()),
                {}};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        return certificate_error(options, said);
    case CURLE_SSL_CACERT_BADFILE:
        return {Code::denied,
                fmt::format("The certificates that {} is checked with cannot be read: {}. See ca=FILE.",
                            options.address, said),
                {}};
    case CURLE_LOGIN_DENIED:
    case CURLE_AUTH_ERROR:
        return {Code::denied, fmt::format("{} refused us: {}.", options.address, said), {}};
    case CURLE_UNSUPPORTED_PROTOCOL:  // no HTTP, or a redirect to another protocol
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_URL_MALFORMAT:  // of a redirect: ours are well-formed
        return not_http(options.address, said);
    case CURLE_TOO_MANY_REDIRECTS:
        return {Code::unavailable, fmt::format("{} redirects without end.", options.address), {}};
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        return {Code::unavailable, fmt::format("{} broke off: {}.", options.address, said), {}};
    default:
        return {Code::unavailable, fmt::format("{} could not be reached: {}.", options.address, said), {}};
    }
}

Error error_of_status(long status, Method method, const std::string& address, std::string_view reason)
{
    const std::string what = reason.empty() ? std::to_string(status) : fmt::format("{} {}", status, printable(reason));
    switch (status) {
    case 401:
    case 403:
        return {Code::denied,
                fmt::format("{} refused {} with {}: user, password, key or permissions are not what it wants.", address,
                            name_of(method), what),
                {}};
    case 405:
    case 501:
        return {Code::incompatible,
                fmt::format("{} does not accept {} ({}){}", address, name_of(method), what,
                            method == Method::put ? "; is WebDAV on?" : "."),
                {}};
    case 409:
        return {Code::unavailable,
                fmt::format("{} answered {} with {}{}", address, name_of(method), what,
                            method == Method::put ? ": is the folder missing? For nginx say create_full_put_path on."
                                                  : "."),
                {}};
    case 413:
        return {Code::too_large,
                fmt::format("{} refused an object as too large ({}). Raise its limit on the size of a request.",
                            address, what),
                {}};
    case 507:
        return {Code::no_space, fmt::format("{} has no space left ({}).", address, what), {}};
    default:
        return {Code::unavailable, fmt::format("{} answered {} with {}.", address, name_of(method), what), {}};
    }
}

}  // namespace hearth::tiers::http
