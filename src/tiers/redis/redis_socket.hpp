#pragma once

#include "hearth/result.hpp"
#include "tiers/redis/redis_settings.hpp"
#include "tiers/redis/tls.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <sys/uio.h>

namespace hearth::tiers::redis {

using remotes::SteadyTime;

// A connected stream, plain or encrypted. It blocks only in wait(), and for k_moment in a read() that may.
// Not thread safe; closes its descriptor.
// Raises no signal, and is not inherited by programs that are started.
class Socket {
public:
    // Tries every address of the host, within `timeout` and the deadline; the TLS handshake has until the deadline.
    // Host names are resolved within the deadline too.
    static Result<Socket> connect(const Endpoint& endpoint, const TlsContext* tls, std::chrono::milliseconds timeout,
                                  SteadyTime deadline);
    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket();

    // A read that waits saves the poll() before it, a tenth of the cost of a small answer. It waits for at most
    // k_moment, and over TLS not at all.
    enum class Patience : std::uint8_t { none, moment };
    static constexpr std::chrono::milliseconds k_moment{4};
    // Fills the targets in order with what has arrived.
    Transfer read(std::span<const iovec> targets, Patience patience);
    Transfer write(std::span<const iovec> parts);
    // Waits for one of the events (POLLIN, POLLOUT) or an error; false: the deadline passed.
    bool wait(short events, SteadyTime deadline) const;
    // For a connection without an outstanding answer: the other side has neither closed it nor sent unexpected bytes.
    bool is_quiet() const;
    // For a connection that is over: why the server refused us, if a TLS alert says so.
    std::optional<Error> refusal(const std::string& address);
    int descriptor() const { return m_descriptor; }

private:
    explicit Socket(int descriptor) : m_descriptor(descriptor) {}
    bool allow_moments() const;
    Status start_tls(const TlsContext& context, const Endpoint& endpoint, SteadyTime deadline);

    int m_descriptor = -1;
    std::unique_ptr<TlsSession> m_tls;
};

}  // namespace hearth::tiers::redis
