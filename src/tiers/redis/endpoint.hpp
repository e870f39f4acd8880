#pragma once

#include <compare>
#include <cstdint>
#include <fmt/format.h>
#include <string>

namespace hearth::tiers::redis {

// Where one server listens: a host and a port, or the path of a socket on this machine.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
    std::string path;  // of a unix socket; then there is no host

    std::string shown() const
    {
        if (!path.empty())
            return path;
        return host.find(':') != std::string::npos ? fmt::format("[{}]:{}", host, port)
                                                   : fmt::format("{}:{}", host, port);
    }

    friend bool operator==(const Endpoint&, const Endpoint&) = default;
    friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

}  // namespace hearth::tiers::redis
