#pragma once

#include "support/scratch_directory.hpp"
#include "support/server_process.hpp"
#include "support/test_ca.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::test {

// Whether redis-server and redis-cli are on this machine.
bool has_redis();

// What redis-cli says to a command, without the line's end: at a port, or at a unix socket.
std::string redis_cli(std::uint16_t port, const std::vector<std::string>& words);
std::string redis_cli(const std::string& unix_socket, const std::vector<std::string>& words);

// A redis-server on a port of its own, which keeps nothing on disk.
class RedisServer {
public:
    struct Options {
        std::string password;
        std::string unix_socket;          // beside the port
        TestCa::Certificate tls;          // then the port speaks TLS alone
        std::string authority;            // for tls: who vouches for it, and for its clients
        std::string auth_clients = "no";  // for tls: "yes" demands certificates of them
        bool cluster = false;             // a node of a cluster, which knows nobody yet
        std::vector<std::string> others;  // words for the command line
    };

    explicit RedisServer(Options options);
    RedisServer() : RedisServer(Options{}) {}

    std::uint16_t port() const { return m_port; }
    ServerProcess& process() { return m_process; }
    void kill() { m_process.kill(); }
    void start_again();  // at the same port, with nothing in it; throws where it does not listen there

private:
    std::vector<std::string> command(std::uint16_t port) const;
    void wait_for_unix_socket() const;

    Options m_options;
    ScratchDirectory m_directory;
    std::uint16_t m_port = 0;
    std::uint16_t m_bus_port = 0;  // of a node of a cluster
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
