#include "support/redis_server.hpp"

#include "support/eventually.hpp"
#include "support/process.hpp"

#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace hearth::test {

namespace {

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

std::string answer_of(std::vector<std::string> command, const std::vector<std::string>& words)
{
    command.insert(command.end(), words.begin(), words.end());
    std::string out = run_process(command).out;
    while (!out.empty() && (out.back() == '\n' || out.back() == '\r'))
        out.pop_back();
    return out;
}

}  // namespace

bool has_redis()
{
    return has_command("redis-server") && has_command("redis-cli");
}

std::string redis_cli(std::uint16_t port, const std::vector<std::string>& words)
{
    return answer_of({"/usr/bin/redis-cli", "-p", std::to_string(port)}, words);
}

std::string redis_cli(const std::string& unix_socket, const std::vector<std::string>& words)
{
    return answer_of({"/usr/bin/redis-cli", "-s", unix_socket}, words);
}

RedisServer::RedisServer(Options options) : m_options(std::move(options))
{
    const auto command = [this](std::uint16_t port) {
        m_bus_port = m_options.cluster ? free_port() : 0;
        return this->command(port);
    };
    m_process = ServerProcess::at_a_free_port(command, m_directory / "log", m_port);
    wait_for_unix_socket();
}

void RedisServer::start_again()
{
    m_process = ServerProcess(command(m_port), m_directory / "log");
    if (!m_process.listens_at(m_port))
        throw std::runtime_error("redis-server does not start again: " + read_file(m_directory / "log"));
    wait_for_unix_socket();
}

std::vector<std::string> RedisServer::command(std::uint16_t port) const
{
    const bool tls = !m_options.tls.file.empty();
    std::vector<std::string> command;
    const auto add = [&](std::initializer_list<std::string> words) { command.insert(command.end(), words); };
    add({"redis-server", "--port", tls ? "0" : std::to_string(port), "--bind", "127.0.0.1", "--save", "",
         "--appendonly", "no", "--dir", m_directory.path(), "--daemonize", "no"});
    if (tls)
        add({"--tls-port", std::to_string(port), "--tls-cert-file", m_options.tls.file, "--tls-key-file",
             m_options.tls.key, "--tls-ca-cert-file", m_options.authority, "--tls-auth-clients",
             m_options.auth_clients});
    if (!m_options.password.empty())
        add({"--requirepass", m_options.password});
    if (!m_options.unix_socket.empty())
        add({"--unixsocket", m_options.unix_socket});
    if (m_options.cluster)
        add({"--cluster-enabled", "yes", "--cluster-port", std::to_string(m_bus_port)});
    command.insert(command.end(), m_options.others.begin(), m_options.others.end());
    return command;
}

// It comes after the port.
void RedisServer::wait_for_unix_socket() const
{
    if (!m_options.unix_socket.empty() &&
        !eventually("it listens at its unix socket", [&] { return accepts(m_options.unix_socket); }))
        throw std::runtime_error("redis-server did not start: " + read_file(m_directory / "log"));
}

RedisCluster::RedisCluster()
{
    std::vector<std::string> create = {"/usr/bin/redis-cli", "--cluster", "create"};
    for (std::unique_ptr<RedisServer>& server : m_servers) {
        RedisServer::Options options;
        options.cluster = true;
        options.others.assign({"--cluster-node-timeout", "500", "--cluster-config-file", "nodes.conf",
                               "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0",
                               "--repl-ping-replica-period", "1"});
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
    return eventually("the cluster is whole", [&] {
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
