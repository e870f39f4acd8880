#include "tiers/redis/redis_socket.hpp"

#include "base/error.hpp"
#include "tiers/redis/redis_addresses.hpp"
#include "tiers/redis/redis_errors.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace hearth::tiers::redis {

namespace {

using std::chrono::steady_clock;

// What poll() returns for one descriptor; 0: the deadline passed.
int poll_until(int descriptor, short events, SteadyTime deadline)
{
    while (true) {
        const auto left = std::max(deadline - steady_clock::now(), steady_clock::duration::zero());
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
        const timespec limit{static_cast<time_t>(seconds.count()),
                             static_cast<long>(std::chrono::nanoseconds(left - seconds).count())};
        pollfd one{descriptor, events, 0};
        const int ready = ::ppoll(&one, 1, &limit, nullptr);
        if (ready > 0)
            return one.revents;
        if (ready == 0 && steady_clock::now() >= deadline)
            return 0;
        if (ready < 0 && errno != EINTR)
            return POLLERR;
    }
}

// 0 or errno; ETIMEDOUT: the deadline passed.
int connect_until(int descriptor, const Address& address, SteadyTime deadline)
{
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0)
        return 0;
    // A unix socket whose queue is full gives EAGAIN, and poll() cannot wait for it.
    if (errno != EINPROGRESS && errno != EINTR)
        return errno;
    if (poll_until(descriptor, POLLOUT, deadline) == 0)
        return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace

Socket::Socket(Socket&& other) noexcept
    : m_descriptor(std::exchange(other.m_descriptor, -1)), m_tls(std::move(other.m_tls))
{
}

Socket& Socket::operator=(Socket&& other) noexcept
{
    std::swap(m_descriptor, other.m_descriptor);
    std::swap(m_tls, other.m_tls);
    return *this;
}

Socket::~Socket()
{
    m_tls.reset();
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

Result<Socket> Socket::connect(const Endpoint& endpoint, const TlsContext* tls, std::chrono::milliseconds timeout,
                               SteadyTime deadline)
{
    HEARTH_TRY_SET(const std::vector<Address> addresses, addresses_of(endpoint, deadline));
    const SteadyTime limit = std::min(deadline, steady_clock::now() + timeout);
    int error = ETIMEDOUT;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const Address& address = addresses[i];
        Socket made(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (made.m_descriptor < 0) {
            error = errno;
            continue;
        }
        if (endpoint.path.empty()) {
            const int on = 1;
            ::setsockopt(made.m_descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        }
        // An address that does not answer takes only its share of the time.
        const SteadyTime now = steady_clock::now();
        const auto share = std::max(limit - now, steady_clock::duration::zero()) / (addresses.size() - i);
        error = connect_until(made.m_descriptor, address, now + share);
        if (error == 0 && !tls && !made.allow_moments())
            error = errno;
        if (error != 0)
            continue;
        if (tls)
            HEARTH_TRY(made.start_tls(*tls, endpoint, deadline));
        return made;
    }
    if (error == ETIMEDOUT && steady_clock::now() >= deadline)
        return passed_deadline(endpoint.shown());
    return hearth::error(Code::unavailable,
                         "Redis at {} could not be reached: {}. Check that it runs, and the address.", endpoint.shown(),
                         error == ETIMEDOUT ? fmt::format("no connection within {} ms", timeout.count())
                                            : std::generic_category().message(error));
}

Status Socket::start_tls(const TlsContext& context, const Endpoint& endpoint, SteadyTime deadline)
{
    m_tls = TlsSession::make(context, m_descriptor, endpoint.host);
    if (!m_tls)
        return broke_off(endpoint.shown(), "OpenSSL could not be set up for it");
    while (true) {
        const Transfer step = m_tls->handshake();
        if (step.state == Transfer::State::done)
            return {};
        if (step.state == Transfer::State::over)
            return m_tls->handshake_error(endpoint.shown());
        if (!wait(step.wants, deadline))
            return passed_deadline(endpoint.shown());
    }
}

// From here on every call but one asks not to wait (MSG_DONTWAIT).
bool Socket::allow_moments() const
{
    const timeval moment{0, static_cast<suseconds_t>(std::chrono::microseconds(k_moment).count())};
    const int flags = ::fcntl(m_descriptor, F_GETFL);
    return ::setsockopt(m_descriptor, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment) == 0 &&
           ::fcntl(m_descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

Transfer Socket::read(std::span<const iovec> targets, Patience patience)
{
    if (m_tls)
        return m_tls->read({static_cast<std::byte*>(targets[0].iov_base), targets[0].iov_len});
    const int flags = patience == Patience::none ? MSG_DONTWAIT : 0;
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(targets.data());
    message.msg_iovlen = targets.size();
    const ssize_t got = targets.size() == 1 ? ::recv(m_descriptor, targets[0].iov_base, targets[0].iov_len, flags)
                                            : ::recvmsg(m_descriptor, &message, flags);
    if (got > 0)
        return {Transfer::State::done, static_cast<std::size_t>(got), 0, 0};
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return {Transfer::State::again, 0, POLLIN, 0};
    return {Transfer::State::over, 0, 0, got == 0 ? 0 : errno};
}

Transfer Socket::write(std::span<const iovec> parts)
{
    if (m_tls)
        return m_tls->write(parts);
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    const ssize_t sent = ::sendmsg(m_descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0)
        return {Transfer::State::done, static_cast<std::size_t>(sent), 0, 0};
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return {Transfer::State::again, 0, POLLOUT, 0};
    return {Transfer::State::over, 0, 0, errno};
}

bool Socket::wait(short events, SteadyTime deadline) const
{
    return poll_until(m_descriptor, events, deadline) != 0;
}

std::optional<Error> Socket::refusal(const std::string& address)
{
    return m_tls ? m_tls->refusal(address) : std::nullopt;
}

bool Socket::is_quiet() const
{
    char byte = 0;
    const ssize_t got = ::recv(m_descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    // Over TLS, bytes may be internal messages of the server (new session tickets).
    return m_tls ? got != 0 && !m_tls->has_pending() : got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace hearth::tiers::redis
