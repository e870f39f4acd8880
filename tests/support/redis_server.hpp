#pragma once

#include "support/scratch_directory.hpp"
#include "support/server_process.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::test {

// Whether redis-server and redis-cli are on this machine.
bool has_redis();

// What redis-cli says to a command, without the line's end.
std::string redis_cli(std::uint16_t port, const std::vector<std::string>& words);

// Certificates made on the spot: an authority and what it signed, as files in PEM format.
class TestCertificates {
public:
    TestCertificates();

    // A server's certificate for a subjectAltName such as "IP:127.0.0.1" or "DNS:localhost", valid from now for that
    // many days; with a negative number it expired that many days ago.
    struct Pair {
        std::string certificate;
        std::string key;
    };
    Pair issue(const std::string& name, const std::string& alternative_name, int days = 30) const;
    std::string authority() const { return m_directory / "ca.crt"; }

private:
    ScratchDirectory m_directory;
};

// A redis-server on a port of its own, which keeps nothing on disk.
class RedisServer {
public:
    struct Options {
        std::string password;
        std::string unix_socket;          // beside the port
        TestCertificates::Pair tls;       // then the port speaks TLS alone
        std::string authority;            // for tls
        std::vector<std::string> others;  // words for the command line
    };

    explicit RedisServer(Options options);
    RedisServer() : RedisServer(Options{}) {}

    std::uint16_t port() const { return m_port; }
    ServerProcess& process() { return m_process; }
    void kill() { m_process.kill(); }
    void start();  // again, at the same port and with nothing in it
    std::string directory() const { return m_directory.path(); }

private:
    Options m_options;
    ScratchDirectory m_directory;
    std::uint16_t m_port;
    ServerProcess m_process;
};

// Three masters, each with a replica, that fail over within a second or two.
class RedisCluster {
public:
    static constexpr std::size_t k_masters = 3;
    static constexpr std::size_t k_nodes = 6;

    RedisCluster();
    bool is_up() const { return m_up; }

    std::uint16_t port(std::size_t node) const { return m_servers[node]->port(); }
    RedisServer& server(std::size_t node) { return *m_servers[node]; }
    std::string hosts() const;  // "127.0.0.1:1,127.0.0.1:2,..."
    void flush();
    std::string id_of(std::size_t node) const;
    // The node that is master for this key now, by asking; k_nodes: none.
    std::size_t master_of(const std::string& key) const;
    // Polls until all that run agree that the cluster is whole, or the time is up.
    bool wait_until_whole() const;

private:
    std::array<std::unique_ptr<RedisServer>, k_nodes> m_servers;
    bool m_up = false;
};

}  // namespace hearth::test
