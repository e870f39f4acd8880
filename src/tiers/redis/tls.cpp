#include "tiers/redis/tls.hpp"

#include "base/error.hpp"
#include "base/signal_guard.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <poll.h>

namespace hearth::tiers::redis {

using remotes::Verify;

namespace {

std::string reason_of(unsigned long error)
{
    const char* reason = ERR_reason_error_string(error);
    return reason ? reason : "the connection ended";
}

// Replaces OpenSSL's own function, which asks at the terminal.
int no_password(char* /*password*/, int /*size*/, int /*writing*/, void* /*data*/)
{
    return 0;
}

// What the other side said as it ended the connection; none: it said nothing.
std::optional<int> alert_of(unsigned long error)
{
    const int reason = ERR_GET_REASON(error);
    if (ERR_GET_LIB(error) != ERR_LIB_SSL || reason < SSL_AD_REASON_OFFSET)
        return std::nullopt;
    return reason - SSL_AD_REASON_OFFSET;
}

bool is_about_a_certificate(int alert)
{
    switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
        return true;
    default:
        return false;
    }
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const remotes::TlsOptions& options)
{
    // OpenSSL's configuration file is for the host program, not for us.
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    if (!context)
        return error(Code::unavailable, "OpenSSL could not be set up.");
    std::shared_ptr<const TlsContext> made(new TlsContext(context, options));
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(context, options.verify == Verify::peer ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_default_passwd_cb(context, &no_password);
    ERR_clear_error();
    const base::CertificateFiles& ours = options.ours;
    if (!ours.empty() && (SSL_CTX_use_certificate_chain_file(context, ours.certificate.c_str()) != 1 ||
                          SSL_CTX_use_PrivateKey_file(context, ours.key.c_str(), SSL_FILETYPE_PEM) != 1)) {
        const std::string why = reason_of(ERR_peek_last_error());
        ERR_clear_error();
        return error(Code::invalid_argument, "the certificate {} and its key {} are of no use to OpenSSL: {}.",
                     ours.certificate, ours.key, why);
    }
    if (options.verify == Verify::nothing)
        return made;
    const int loaded = options.ca_file.empty() ? SSL_CTX_set_default_verify_paths(context)
                                               : SSL_CTX_load_verify_file(context, options.ca_file.c_str());
    if (loaded != 1) {
        ERR_clear_error();
        return error(Code::invalid_argument, "the certificates in {} could not be read; ca is a file in PEM format.",
                     options.ca_file.empty() ? "the system's folder" : options.ca_file);
    }
    return made;
}

TlsContext::~TlsContext()
{
    SSL_CTX_free(m_context);
}

std::unique_ptr<TlsSession> TlsSession::make(const TlsContext& context, int socket, const std::string& host)
{
    SSL* ssl = SSL_new(context.handle());
    if (!ssl)
        return nullptr;
    std::unique_ptr<TlsSession> session(new TlsSession(ssl, context));
    SSL_set_cert_cb(
        ssl,
        [](SSL*, void* self) {
            static_cast<TlsSession*>(self)->m_asked_for_ours = true;
            return 1;
        },
        session.get());
    // The host is a numeric address, or else a name.
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) != 1 &&
        (SSL_set1_host(ssl, host.c_str()) != 1 || SSL_set_tlsext_host_name(ssl, host.c_str()) != 1))
        return nullptr;
    if (SSL_set_fd(ssl, socket) != 1)
        return nullptr;
    SSL_set_connect_state(ssl);
    return session;
}

TlsSession::~TlsSession()
{
    SSL_free(m_session);
}

template <class Call>
Transfer TlsSession::attempt(Call call)
{
    // OpenSSL writes with write(), which raises SIGPIPE if the other side has closed. Reading may write too.
    const base::SignalGuard guard(SIGPIPE);
    ERR_clear_error();
    errno = 0;
    std::size_t bytes = 0;
    const int result = call(bytes);
    if (result == 1)
        return {Transfer::State::done, bytes, 0, 0};
    const int error = errno;
    const int kind = SSL_get_error(m_session, result);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
        return {Transfer::State::again, 0, static_cast<short>(kind == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
    m_last_error = ERR_get_error();
    return {Transfer::State::over, 0, 0, kind == SSL_ERROR_SYSCALL ? error : 0};
}

Transfer TlsSession::handshake()
{
    return attempt([&](std::size_t&) { return SSL_do_handshake(m_session); });
}

Error TlsSession::handshake_error(const std::string& address) const
{
    const long verified = SSL_get_verify_result(m_session);
    if (m_context.options().verify == Verify::peer && verified != X509_V_OK)
        return error(Code::denied,
                     "The certificate of redis at {} was not accepted: {}. Name the certificates to trust with "
                     "ca=FILE, and the server as its certificate does.",
                     address, X509_verify_cert_error_string(verified));
    if (std::optional<Error> refused = alert_about_us(address))
        return *std::move(refused);
    return error(Code::unavailable,
                 "Redis at {} did not agree on an encrypted connection: {}. Check that its port is the one for "
                 "TLS.",
                 address, reason_of(m_last_error));
}

std::optional<Error> TlsSession::alert_about_us(const std::string& address) const
{
    const std::optional<int> alert = alert_of(m_last_error);
    const std::string& ours = m_context.options().ours.certificate;
    // TLS 1.2 has no other alert for a missing certificate.
    const bool wants_one = ours.empty() && alert == SSL_AD_HANDSHAKE_FAILURE;
    if (!m_asked_for_ours || !alert || !(is_about_a_certificate(*alert) || wants_one))
        return std::nullopt;
    if (ours.empty())
        return error(Code::denied,
                     "Redis at {} demands a certificate of its clients, and there is none to show. Name one with "
                     "cert=FILE and its key with key=FILE.",
                     address);
    return error(Code::denied,
                 "Redis at {} did not accept the certificate {}: {}. It should be valid today, and signed by an "
                 "authority that redis trusts (tls-ca-cert-file).",
                 address, ours, reason_of(m_last_error));
}

std::optional<Error> TlsSession::refusal(const std::string& address)
{
    // If a write failed, the server's alert may still be unread.
    std::byte unused{};
    if (!alert_of(m_last_error))
        static_cast<void>(read({&unused, 1}));
    return alert_about_us(address);
}

Transfer TlsSession::read(std::span<std::byte> target)
{
    return attempt([&](std::size_t& got) { return SSL_read_ex(m_session, target.data(), target.size(), &got); });
}

bool TlsSession::has_pending() const
{
    return SSL_pending(m_session) > 0;
}

Transfer TlsSession::write(std::span<const iovec> parts)
{
    // Small parts share a record; one that fills a record by itself is not copied.
    constexpr std::size_t k_record = 16384;
    std::array<char, k_record> record;
    const void* start = parts[0].iov_base;
    std::size_t size = parts[0].iov_len;
    if (size < k_record && parts.size() > 1) {
        size = 0;
        for (const iovec& part : parts) {
            const std::size_t taken = std::min(part.iov_len, k_record - size);
            std::memcpy(record.data() + size, part.iov_base, taken);
            size += taken;
            if (size == k_record)
                break;
        }
        start = record.data();
    }
    return attempt([&](std::size_t& sent) { return SSL_write_ex(m_session, start, size, &sent); });
}

}  // namespace hearth::tiers::redis
