#include "serve/listening.hpp"

#include "process/descriptor.hpp"
#include "terminal/exit.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace hearth::cli {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// A name could mean several addresses, and another one tomorrow: numbers only.
Addresses resolve_number(const std::string& address, std::uint16_t port)
{
    addrinfo wanted{};
    wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0)
        fail_usage(fmt::format("{} is no address to bind to. Give a number such as 127.0.0.1, ::1 or 0.0.0.0. 'hearth "
                               "serve --help' shows what it takes.",
                               in_quotes(address)));
    return {found, &::freeaddrinfo};
}

[[noreturn]] void could_not_listen(const std::string& address, std::uint16_t port, int error)
{
    const std::string place = with_port(address, port);
    if (error == EADDRINUSE)
        fail(fmt::format("{} is in use. Choose another port with --port, or --port 0 for any that is free.", place));
    if (error == EACCES)
        fail(fmt::format("This user may not bind to {}. Choose a port from 1024 on with --port.", place));
    if (error == EADDRNOTAVAIL)
        fail(fmt::format("This machine has no address {}. 'ip address' lists those that --bind can name.", address));
    fail(fmt::format("{} cannot be listened on: {}.", place, system_error(error)));
}

}  // namespace

bool is_loopback(const std::string& address)
{
    const Addresses found = resolve_number(address, 0);
    if (found->ai_family == AF_INET)
        return (ntohl(reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr.s_addr) >> 24U) == 127;
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(found->ai_addr)->sin6_addr) != 0;
}

int listen_on(const std::string& address, std::uint16_t port)
{
    const Addresses found = resolve_number(address, port);
    const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, found->ai_protocol);
    if (socket < 0)
        could_not_listen(address, port, errno);
    Descriptor guard(socket);
    const int on = 1;
    // A server that was stopped a moment ago leaves connections that would keep the port for a minute.
    static_cast<void>(::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
    if (::bind(socket, found->ai_addr, found->ai_addrlen) != 0 || ::listen(socket, SOMAXCONN) != 0)
        could_not_listen(address, port, errno);
    return guard.release();
}

std::uint16_t port_of(int socket)
{
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
        return 0;
    return ntohs(address.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in*>(&address)->sin_port
                                              : reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
}

std::string with_port(const std::string& address, std::uint16_t port)
{
    const bool colons = address.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", colons ? "[" : "", address, colons ? "]" : "", port);
}

}  // namespace hearth::cli
