#include "support/redis_server.hpp"

#include "support/process.hpp"

#include <chrono>
#include <functional>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace hearth::test {

namespace {

constexpr std::chrono::seconds k_patience{30};

bool poll_until(const std::function<bool()>& is_so)
{
    const auto end = std::chrono::steady_clock::now() + k_patience;
    while (!is_so()) {
        if (std::chrono::steady_clock::now() >= end)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
}

bool accepts(const std::string& unix_socket)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    unix_socket.copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::close(fd);
    return connected == 0;
}

}  // namespace

bool has_redis()
{
    return has_command("redis-server") && has_command("redis-cli");
}

std::string redis_cli(std::uint16_t port, const std::vector<std::string>& words)
{
    std::vector<std::string> command = {"/usr/bin/redis-cli", "-p", std::to_string(port)};
    command.insert(command.end(), words.begin(), words.end());
    std::string out = run_process(command).out;
    while (!out.empty() && (out.back() == '\n' || out.back() == '\r'))
        out.pop_back();
    return out;
}

RedisServer::RedisServer(Options options) : m_options(std::move(options)), m_port(free_port())
{
    start();
}

void RedisServer::start()
{
    const std::string port = std::to_string(m_port);
    const bool tls = !m_options.tls.file.empty();
    std::vector<std::string> command = {
        "redis-server", "--port", tls ? "0" : port, "--bind",    "127.0.0.1",   "--save", "",
        "--appendonly", "no",     "--dir",          directory(), "--daemonize", "no"};
    if (tls)
        command.insert(command.end(),
                       {"--tls-port", port, "--tls-cert-file", m_options.tls.file, "--tls-key-file", m_options.tls.key,
                        "--tls-ca-cert-file", m_options.authority, "--tls-auth-clients", m_options.auth_clients});
    if (!m_options.password.empty())
        command.insert(command.end(), {"--requirepass", m_options.password});
    if (!m_options.unix_socket.empty())
        command.insert(command.end(), {"--unixsocket", m_options.unix_socket});
    command.insert(command.end(), m_options.others.begin(), m_options.others.end());
    m_process = ServerProcess(command, m_directory / "log");
    // The unix socket comes after the port.
    if (!answers(m_port) ||
        (!m_options.unix_socket.empty() && !poll_until([&] { return accepts(m_options.unix_socket); })))
        throw std::runtime_error("redis-server did not start: " + read_file(m_directory / "log"));
}

RedisCluster::RedisCluster()
{
    std::vector<std::string> create = {"/usr/bin/redis-cli", "--cluster", "create"};
    for (std::unique_ptr<RedisServer>& server : m_servers) {
        RedisServer::Options options;
        const std::string bus = std::to_string(free_port());
        options.others = {"--cluster-enabled",
                          "yes",
                          "--cluster-port",
                          bus,
                          "--cluster-node-timeout",
                          "500",
                          "--cluster-config-file",
                          "nodes.conf",
                          "--cluster-replica-validity-factor",
                          "0",
                          "--repl-diskless-sync-delay",
                          "0",
                          "--repl-ping-replica-period",
                          "1"};
        server = std::make_unique<RedisServer>(options);
        create.push_back("127.0.0.1:" + std::to_string(server->port()));
    }
    create.insert(create.end(), {"--cluster-replicas", "1", "--cluster-yes"});
    const ProcessResult created = run_process(create);
    m_up = created.exit_code == 0 && wait_until_whole();
}

std::string RedisCluster::hosts() const
{
    std::string all;
    for (std::size_t i = 0; i < k_masters; ++i)
        all += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port(i));
    return all;
}

void RedisCluster::flush()
{
    for (std::size_t i = 0; i < k_nodes; ++i)
        if (m_servers[i]->process().running())
            redis_cli(port(i), {"FLUSHALL"});
}

std::string RedisCluster::id_of(std::size_t node) const
{
    return redis_cli(port(node), {"CLUSTER", "MYID"});
}

std::size_t RedisCluster::master_of(const std::string& key) const
{
    for (std::size_t i = 0; i < k_nodes; ++i)
        if (m_servers[i]->process().running() && redis_cli(port(i), {"EXISTS", key}).find("MOVED") == std::string::npos)
            return i;
    return k_nodes;
}

bool RedisCluster::wait_until_whole() const
{
    return poll_until([&] {
        for (std::size_t i = 0; i < k_nodes; ++i) {
            if (!m_servers[i]->process().running())
                continue;
            if (redis_cli(port(i), {"CLUSTER", "INFO"}).find("cluster_state:ok") == std::string::npos)
                return false;
            const std::string replication = redis_cli(port(i), {"INFO", "replication"});
            if (replication.find("role:slave") != std::string::npos &&
                replication.find("master_link_status:up") == std::string::npos)
                return false;
        }
        return true;
    });
}

}  // namespace hearth::test
