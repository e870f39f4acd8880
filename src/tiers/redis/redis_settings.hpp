#pragma once

#include "hearth/result.hpp"
#include "remote/remote_store.hpp"

#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// Addresses:
//
//   redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]         rediss:// the same over TLS
//   redis+unix:///PATH/OF/SOCKET
//   redis+cluster://HOST[:PORT],HOST[:PORT]                rediss+cluster:// the same over TLS,
//                                                         to nodes that run with tls-cluster yes
//
//   ?prefix=TEXT   what names begin with in redis; "hearth:" when none is given
//   and those of TLS: remote/tls_options.hpp

namespace hearth::tiers::redis {

class TlsContext;

// Where one server listens: a host and a port, or the path of a socket on this machine.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
    std::string path;  // of a unix socket; then there is no host

    std::string shown() const { return path.empty() ? remotes::HostPort{host, port}.shown() : path; }

    friend bool operator==(const Endpoint&, const Endpoint&) = default;
    friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

enum class Topology : std::uint8_t { single, cluster };

// The settings from an address and its options. Immutable, and shared by everything that serves one store.
struct RedisSettings {
    Topology topology = Topology::single;
    std::vector<Endpoint> endpoints;
    std::string user;
    std::string password;
    std::uint32_t database = 0;
    std::string prefix = "hearth:";
    std::shared_ptr<const TlsContext> tls;  // none: in the clear
    std::chrono::milliseconds connect_timeout{100};
    std::uint64_t max_object_bytes = 0;
    std::size_t max_connections = 8;
    std::string state_file;  // as in StoreOptions
    Users state_users{};
};

// Reads the certificates that are named, if any; makes no connection.
Result<RedisSettings> redis_settings(const remotes::StoreOptions& options);

}  // namespace hearth::tiers::redis
