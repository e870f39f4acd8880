#pragma once

#include "hearth/result.hpp"
#include "remote/tls_options.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <sys/uio.h>

struct ssl_ctx_st;
struct ssl_st;

namespace hearth::tiers::redis {

// The result of one attempt to read or write without waiting.
struct Transfer {
    enum class State : std::uint8_t { done, again, over };
    State state = State::over;
    std::size_t bytes = 0;  // done: how many
    short wants = 0;        // again: what to poll for
    int error = 0;          // over: errno; 0 if the other side closed
};

// Certificates and rules for connections over TLS: version 1.2 or later. The server's certificate is verified with its
// name or address, unless that is turned off. Our certificate, if one is configured, is shown when the server asks.
// Immutable: shared by all connections of a store.
class TlsContext {
public:
    // Reads the files. An Error's message is the end of a sentence.
    static Result<std::shared_ptr<const TlsContext>> make(const remotes::TlsOptions& options);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    ssl_ctx_st* handle() const { return m_context; }
    const remotes::TlsOptions& options() const { return m_options; }

private:
    TlsContext(ssl_ctx_st* context, remotes::TlsOptions options) : m_context(context), m_options(std::move(options)) {}

    ssl_ctx_st* m_context;
    const remotes::TlsOptions m_options;
};

// One encrypted connection over a socket that belongs to the caller and does not block. Not thread safe. The context
// must outlive it. Raises no SIGPIPE, and sends nothing when it ends: the socket may belong to a parent process.
class TlsSession {
public:
    // Null: no memory.
    static std::unique_ptr<TlsSession> make(const TlsContext& context, int socket, const std::string& host);
    ~TlsSession();
    TlsSession(const TlsSession&) = delete;
    TlsSession& operator=(const TlsSession&) = delete;

    Transfer handshake();
    // After a failed handshake: denied if the certificate was not accepted, else unavailable.
    Error handshake_error(const std::string& address) const;
    // For a connection that is over: says that the server wants a certificate from us, or another one. None otherwise.
    // In TLS 1.3 a server says so only after our side of the handshake is done.
    std::optional<Error> refusal(const std::string& address);
    Transfer read(std::span<std::byte> target);
    Transfer write(std::span<const iovec> parts);
    bool has_pending() const;  // bytes that arrived with others and were not read

private:
    TlsSession(ssl_st* session, const TlsContext& context) : m_session(session), m_context(context) {}
    template <class Call>
    Transfer attempt(Call call);
    std::optional<Error> alert_about_us(const std::string& address) const;

    ssl_st* m_session;
    const TlsContext& m_context;
    bool m_asked_for_ours = false;
    unsigned long m_last_error = 0;
};

}  // namespace hearth::tiers::redis
