#include "http/http_fixture.hpp"
#include "redis/shared_cluster.hpp"
#include "remote/store_tier.hpp"
#include "tier_conformance.hpp"
#include "tiers/redis/redis_store.hpp"

#include <fmt/format.h>

// Tiers on real servers: one server of each kind for the whole program, and a place of its own there for every tier
// that is opened.

namespace hearth::test {

namespace {

struct Kind {
    std::string name;
    std::function<bool()> installed;
    std::function<std::string()> place;  // an address where nothing lies yet
    remotes::OpenStore* open_store;
    std::uint64_t effort;
};

std::string redis_place()
{
    static const RedisServer server;
    return fmt::format("redis://127.0.0.1:{}?prefix={}:", server.port(), fresh_path());
}

std::string cluster_place()
{
    static const RedisCluster* const cluster = shared_cluster();  // once: it is emptied whenever it is asked for
    return fmt::format("redis+cluster://{}?prefix={}:", cluster->hosts(), fresh_path());
}

std::string nginx_place()
{
    return fmt::format("http://{}/{}", shared_nginx()->address(), fresh_path());
}

std::string s3_place()
{
    return s3_url(k_bucket, fresh_path());
}

std::unique_ptr<Tier> open_remote(const Kind& kind, const TierRequest& request)
{
    // Nothing here is about time: a server under load is waited for.
    constexpr std::chrono::seconds k_patience{60};
    RemoteOptions options;
    options.url = kind.place();
    options.name = kind.name;
    options.connect_timeout = options.timeout = options.write_timeout = options.exit_wait = k_patience;
    options.queue_entries = 1'000'000;
    // What comes nearest to a budget.
    if (request.limits.max_bytes != 0)
        options.max_entry_bytes = request.limits.max_bytes;
    return std::make_unique<remotes::StoreTier>(options, remotes::parse_url(options.url).value(), request.context,
                                                kind.open_store);
}

TierCase case_of(const Kind& kind)
{
    TierCase tier;
    tier.name = kind.name;
    tier.open = [kind](const TierRequest& request) -> Result<std::unique_ptr<Tier>> {
        return open_remote(kind, request);
    };
    tier.effort = kind.effort;
    tier.absent = [kind]() -> std::string {
        return kind.installed() ? "" : "No server of this kind is installed: scripts/install-deps test";
    };
    tier.budgeted = false;
    return tier;
}

TierCase redis_case(const std::string& name, std::string (*place)())
{
    return case_of({name, has_redis, place, tiers::open_redis_store, 50});
}

TierCase nginx_case()
{
    TierCase nginx =
        case_of({"http", [] { return shared_nginx() != nullptr; }, nginx_place, tiers::open_http_store, 100});
    nginx.lists = false;
    return nginx;
}

TierCase s3_case()
{
    TierCase s3 = case_of({"s3", [] { return shared_s3() != nullptr; }, s3_place, tiers::open_http_store, 2000});
    s3.tells_one_remover = false;
    return s3;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(redis, TierConformance, testing::Values(redis_case("redis", redis_place)));
INSTANTIATE_TEST_SUITE_P(redis_cluster, TierConformance, testing::Values(redis_case("redis_cluster", cluster_place)));
INSTANTIATE_TEST_SUITE_P(http, TierConformance, testing::Values(nginx_case()));
INSTANTIATE_TEST_SUITE_P(s3, TierConformance, testing::Values(s3_case()));

}  // namespace hearth::test
