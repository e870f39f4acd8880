#include "redis_fixture.hpp"
#include "remote/server_conformance.hpp"
#include "remote/store_conformance.hpp"
#include "shared_cluster.hpp"

#include <fmt/format.h>
#include <functional>
#include <optional>

namespace hearth::test {

namespace {

// One of this store's own; none: there is no redis here.
std::optional<StoreServer> started(const RedisServer::Options& options, const std::function<std::string(int port)>& url)
{
    if (!has_redis())
        return std::nullopt;
    const auto server = std::make_shared<RedisServer>(options);
    return StoreServer{tiers::open_redis_store, url(server->port()), server};
}

std::optional<StoreServer> start_redis()
{
    return started({}, [](int port) { return fmt::format("redis://127.0.0.1:{}/3", port); });
}

std::optional<StoreServer> start_redis_unix()
{
    static const ScratchDirectory directory;
    RedisServer::Options options;
    options.unix_socket = directory / "redis.sock";
    return started(options, [&](int) { return "redis+unix://" + options.unix_socket; });
}

std::optional<StoreServer> start_redis_password()
{
    RedisServer::Options options;
    options.password = "a long secret";
    return started(options,
                   [](int port) { return fmt::format("redis://default:a%20long%20secret@localhost:{}", port); });
}

std::optional<StoreServer> start_redis_tls()
{
    if (!shared_ca())
        return std::nullopt;
    RedisServer::Options options;
    options.tls = shared_ca()->good();
    options.authority = shared_ca()->file();
    return started(options,
                   [](int port) { return fmt::format("rediss://127.0.0.1:{}?ca={}", port, shared_ca()->file()); });
}

std::optional<StoreServer> start_redis_cluster()
{
    const RedisCluster* cluster = shared_cluster();
    if (!cluster)
        return std::nullopt;
    return StoreServer{tiers::open_redis_store, "redis+cluster://" + cluster->hosts()};
}

OwnServer start_own(const ServerSetup& setup)
{
    RedisServer::Options options;
    if (setup.certificate) {
        options.tls = *setup.certificate;
        options.authority = shared_ca()->file();
    }
    if (!setup.clients_authority.empty()) {
        options.authority = setup.clients_authority;
        options.auth_clients = setup.insists_on_certificates ? "yes" : "optional";
    }
    if (!setup.tls_versions.empty())
        options.others = {"--tls-protocols", setup.tls_versions};
    if (setup.demands_login)
        options.password = "r1ght-hush";
    const auto server = std::make_shared<RedisServer>(options);
    return {server->port(), &server->process(), [server] { server->start_again(); }, server};
}

ServerKind own_redis()
{
    return {.name = "redis",
            .open = tiers::open_redis_store,
            .installed = has_redis,
            .url =
                [](const Place& place) {
                    return fmt::format("{}://{}{}:{}?{}", place.tls ? "rediss" : "redis", place.login, place.host,
                                       place.port, place.options);
                },
            .start = start_own,
            .right_login = ":r1ght-hush@",
            .wrong_logins = {":wr0ng-hush@", "default:wr0ng-hush@", "somebody:wr0ng-hush@", ""},
            .calls_itself = "redis ",
            .sends_a_gigabyte = "$1073741824\r\n",
            .takes_all = "+OK\r\n",
            .keeps = false};
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(redis, StoreConformance,
                         testing::Values(StoreCase{"redis", start_redis}, StoreCase{"redis_unix", start_redis_unix},
                                         StoreCase{"redis_password", start_redis_password},
                                         StoreCase{"redis_tls", start_redis_tls},
                                         StoreCase{"redis_cluster", start_redis_cluster}),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(redis, TlsConformance, testing::Values(own_redis()), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(redis, FaultConformance, testing::Values(own_redis(), over_tls(own_redis())),
                         testing::PrintToStringParamName());

}  // namespace hearth::test
