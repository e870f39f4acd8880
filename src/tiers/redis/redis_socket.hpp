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

// A connected stream, plain or encrypted, that never blocks but in wait(), and for a moment in a read() that may.
// Not thread safe; closes its descriptor.
// Raises no signal, and is not inherited by programs that are started.
class Socket {
public:
    // Tries every address of the host, within `timeout` and the deadline; the TLS handshake has until the deadline.
    // A host that is a name is looked up with getaddrinfo(), which knows no deadline: the system's resolver has its own
    // (/etc/resolv.conf). Addresses in numbers are not looked up.
    static Result<Socket> connect(const Endpoint& endpoint, const TlsContext* tls, std::chrono::milliseconds timeout,
                                  SteadyTime deadline);
    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket();

    // A read that waits saves the poll() before it, which is a tenth of what a small answer costs. It waits for
    // k_moment at most, and over TLS not at all.
    enum class Patience : std::uint8_t { none, moment };
    static constexpr std::chrono::milliseconds k_moment{4};
    // Fills as much of them as has arrived, in their order.
    Transfer read(std::span<const iovec> targets, Patience patience);
    Transfer write(std::span<const iovec> parts);
    // Until one of the events (POLLIN, POLLOUT) or an error is there; false: the deadline passed.
    bool wait(short events, SteadyTime deadline) const;
    // Of one that has no answer due: neither closed by the other side nor with bytes that nobody asked for.
    bool is_quiet() const;
    // Of one that is over: what the server had against us, where TLS has a word for it.
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
