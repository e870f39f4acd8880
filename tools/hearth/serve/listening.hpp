#pragma once

#include <cstdint>
#include <string>

namespace hearth::cli {

// Whether a numeric address, IPv4 or IPv6, leads to this machine alone. Fails, as wrong usage, if it is no address.
bool is_loopback(const std::string& address);

// A socket that listens on a numeric address; port 0: any that is free. Fails with a sentence.
int listen_on(const std::string& address, std::uint16_t port);
std::uint16_t port_of(int socket);

// "127.0.0.1:8417", "[::1]:8417".
std::string with_port(const std::string& address, std::uint16_t port);

}  // namespace hearth::cli
