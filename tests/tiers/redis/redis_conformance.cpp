#include "redis_fixture.hpp"
#include "shared_cluster.hpp"

#include <functional>
#include <utility>

namespace hearth::test {

namespace {

class RedisStoreServer final : public StoreServer {
public:
    RedisStoreServer(std::unique_ptr<RedisServer> server, std::string url)
        : m_server(std::move(server)), m_url(std::move(url))
    {
    }

    Result<std::unique_ptr<remotes::RemoteStore>> open(const remotes::StoreOptions& options) override
    {
        return tiers::open_redis_store(options);
    }
    remotes::StoreOptions options() override { return options_for(m_url); }

private:
    std::unique_ptr<RedisServer> m_server;
    std::string m_url;
};

std::unique_ptr<StoreServer> start_redis()
{
    if (!has_redis())
        return nullptr;
    auto server = std::make_unique<RedisServer>();
    const std::string url = local_url(server->port()) + "/3";
    return std::make_unique<RedisStoreServer>(std::move(server), url);
}

std::unique_ptr<StoreServer> start_redis_unix()
{
    if (!has_redis())
        return nullptr;
    static const ScratchDirectory directory;
    RedisServer::Options options;
    options.unix_socket = directory / "redis.sock";
    const std::string url = "redis+unix://" + options.unix_socket;
    return std::make_unique<RedisStoreServer>(std::make_unique<RedisServer>(options), url);
}

std::unique_ptr<StoreServer> start_redis_password()
{
    if (!has_redis())
        return nullptr;
    RedisServer::Options options;
    options.password = "a long secret";
    auto server = std::make_unique<RedisServer>(options);
    const std::string url = "redis://default:a%20long%20secret@localhost:" + std::to_string(server->port());
    return std::make_unique<RedisStoreServer>(std::move(server), url);
}

std::unique_ptr<StoreServer> start_redis_tls()
{
    if (!has_redis() || !TestCa::available())
        return nullptr;
    static const TestCa ca;
    RedisServer::Options options;
    options.tls = ca.good();
    options.authority = ca.file();
    auto server = std::make_unique<RedisServer>(options);
    const std::string url = "rediss://127.0.0.1:" + std::to_string(server->port()) + "?ca=" + ca.file();
    return std::make_unique<RedisStoreServer>(std::move(server), url);
}

std::unique_ptr<StoreServer> start_redis_cluster()
{
    const RedisCluster* cluster = shared_cluster();
    if (!cluster)
        return nullptr;
    return std::make_unique<RedisStoreServer>(nullptr, "redis+cluster://" + cluster->hosts());
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(redis, StoreConformance,
                         testing::Values(StoreCase{"redis", start_redis}, StoreCase{"redis_unix", start_redis_unix},
                                         StoreCase{"redis_password", start_redis_password},
                                         StoreCase{"redis_tls", start_redis_tls},
                                         StoreCase{"redis_cluster", start_redis_cluster}),
                         name_of_store);

}  // namespace hearth::test
