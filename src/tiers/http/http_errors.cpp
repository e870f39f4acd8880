#include "tiers/http/http_errors.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

namespace hearth::tiers::http {

namespace {

Error certificate_error(const ClientOptions& options, std::string_view words)
{
    return error(Code::denied,
                 "The certificate of {} is not trusted: {}. Name its authority with ca=FILE, or take any "
                 "certificate with insecure=1.",
                 options.address, words);
}

Error ours_is_wanted(const ClientOptions& options)
{
    return error(Code::denied,
                 "{} demands a certificate of its clients, and there is none to show. Name one with cert=FILE "
                 "and its key with key=FILE.",
                 options.address);
}

Error ours_is_refused(const ClientOptions& options, std::string_view why)
{
    return error(Code::denied,
                 "{} did not accept the certificate {}: {}. It should be valid today, and signed by an "
                 "authority that the server trusts.",
                 options.address, options.trust.ours.certificate, why);
}

// libcurl's code for a missing certificate covers only some of the ways in which a server may ask for one. For the
// others its message tells: it quotes OpenSSL's words for what the server said when it ended the connection.
bool is_about_our_certificate(CURLcode code, std::string_view words)
{
    if (code == CURLE_SSL_CLIENTCERT)
        return true;
    const std::size_t alert = words.find("alert ");
    if (alert == std::string_view::npos)
        return false;
    const std::string_view said = words.substr(alert);
    return said.find("certificate") != std::string_view::npos || said.find("unknown ca") != std::string_view::npos ||
           said.find("access denied") != std::string_view::npos;
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

Error passed_deadline(const std::string& address)
{
    return error(Code::timeout, "{} did not answer in the time it was given.", address);
}

Error too_large(const std::string& address, std::uint64_t limit)
{
    return error(Code::too_large,
                 "{} answers with more than the {} bytes that are taken from a remote. Raise max_entry_bytes.", address,
                 limit);
}

Error not_http(const std::string& address, std::string_view why)
{
    return error(Code::corrupt, "What {} answers cannot be used: {}.", address, why);
}

Error error_of_transfer(CURLcode code, std::string_view words, const ClientOptions& options, SteadyTime deadline)
{
    const std::string said = base::printable(words.empty() ? curl_easy_strerror(code) : words);
    if (options.tls && is_about_our_certificate(code, said))
        return options.trust.ours.empty() ? ours_is_wanted(options) : ours_is_refused(options, said);
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        // If the deadline has not passed, it was the limit on connecting.
        if (std::chrono::steady_clock::now() + std::chrono::milliseconds(1) >= deadline)
            return passed_deadline(options.address);
        return error(Code::unavailable, "{} could not be reached within {} ms.", options.address,
                     options.connect_timeout.count());
    case CURLE_SSL_CERTPROBLEM:  // the certificate was good when the remote was opened
        return error(Code::denied, "The certificate {} cannot be shown to {}: {}. See cert=FILE and key=FILE.",
                     options.trust.ours.certificate, options.address, said);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        return certificate_error(options, said);
    case CURLE_SSL_CONNECT_ERROR:
        // TLS 1.2 has no other alert for a missing certificate.
        return error(Code::unavailable,
                     "{} did not agree on an encrypted connection: {}. Check that its port is one for TLS; if "
                     "it demands a certificate of its clients, see cert=FILE and key=FILE.",
                     options.address, said);
    case CURLE_SSL_CACERT_BADFILE:
        return error(Code::denied, "The certificates that {} is checked with cannot be read: {}. See ca=FILE.",
                     options.address, said);
    case CURLE_LOGIN_DENIED:
    case CURLE_AUTH_ERROR:
        return error(Code::denied, "{} refused us: {}.", options.address, said);
    case CURLE_UNSUPPORTED_PROTOCOL:  // not HTTP, or a redirect to another protocol
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_URL_MALFORMAT:          // from a redirect: our own are well-formed
    case CURLE_BAD_FUNCTION_ARGUMENT:  // a continuation line without a header before it
        return not_http(options.address, said);
    case CURLE_TOO_MANY_REDIRECTS:
        return error(Code::unavailable, "{} redirects without end.", options.address);
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        return error(Code::unavailable, "{} broke off: {}.", options.address, said);
    default:
        return error(Code::unavailable, "{} could not be reached: {}.", options.address, said);
    }
}

// nginx accepts a connection with any certificate or none, and then refuses every request with a page that says why.
std::optional<Error> certificate_refusal(const Answer& answer, Method method, const ClientOptions& options)
{
    if (!options.tls || answer.status != 400)
        return std::nullopt;
    const std::string_view page = answer.body.text();
    if (page.find("No required SSL certificate was sent") != std::string_view::npos)
        return ours_is_wanted(options);
    if (page.find("The SSL certificate error") != std::string_view::npos)
        return ours_is_refused(options, "it could not be verified");
    // An answer to HEAD has no page.
    if (method != Method::head || !answer.server.starts_with("nginx"))
        return std::nullopt;
    return error(Code::denied,
                 "{} answered HEAD with 400, as nginx does where it wants another certificate of its "
                 "clients, or one at all: see cert=FILE and key=FILE.",
                 options.address);
}

Error error_of_status(long status, Method method, const std::string& address, std::string_view reason)
{
    const std::string what =
        reason.empty() ? std::to_string(status) : fmt::format("{} {}", status, base::printable(reason));
    switch (status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
        return error(Code::unavailable,
                     "{} redirects {} elsewhere ({}), which is not followed. Use the address that it redirects to.",
                     address, name_of(method), what);
    case 401:
    case 403:
        return error(Code::denied, "{} refused {} with {}: user, password, key or permissions are not what it wants.",
                     address, name_of(method), what);
    case 405:
    case 501:
        return error(Code::other_version, "{} does not accept {} ({}){}", address, name_of(method), what,
                     method == Method::put ? "; is WebDAV on?" : ".");
    case 409:
        return error(Code::unavailable, "{} answered {} with {}{}", address, name_of(method), what,
                     method == Method::put ? ": is the folder missing? For nginx say create_full_put_path on." : ".");
    case 413:
        return error(Code::too_large,
                     "{} refused an object as too large ({}). Raise its limit on the size of a request.", address,
                     what);
    case 507:
        return error(Code::no_space, "{} has no space left ({}).", address, what);
    default:
        return error(Code::unavailable, "{} answered {} with {}.", address, name_of(method), what);
    }
}

}  // namespace hearth::tiers::http
