#include "hearth/cache.hpp"
#include "http/http_fixture.hpp"
#include "remote/store_tier.hpp"
#include "support/redis_server.hpp"
#include "support/scratch_directory.hpp"
#include "tiers/redis/redis_store.hpp"

#include <mutex>

// 68: a server that does not let us in is an outage, and said; it is not a miss.

namespace hearth::test {

namespace {

class WrongSecret : public testing::Test {
protected:
    Cache open(const std::string& url, remotes::OpenStore* open_store)
    {
        RemoteOptions remote;
        remote.url = url;
        remote.name = "server";
        remote.connect_timeout = remote.timeout = remote.write_timeout = std::chrono::seconds(60);
        CacheOptions options;
        options.directory = m_scratch / "cache";
        options.maintenance = Maintenance::by_hand;
        options.log = [this](LogLevel, std::string_view line) {
            const std::lock_guard lock(m_mutex);
            m_log.append(line).append("\n");
        };
        options.tiers = {{"server", [=](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                              return {std::make_unique<remotes::StoreTier>(
                                  remote, remotes::parse_url(remote.url).value(), context, open_store)};
                          }}};
        return Cache::open(options).value();
    }

    void expect_outage(Cache& cache, const std::string& secret)
    {
        EXPECT_EQ(cache.find(numbered_key(1)).why(), Miss::outage);
        const Result<Lookup> made = cache.get_or_compile(numbered_key(2), [] { return "made"; });
        ASSERT_TRUE(made.ok()) << "the program goes on";
        EXPECT_TRUE(made->compiled());
        cache.flush();
        const Stats stats = cache.stats();
        EXPECT_EQ(stats.outages, 2U);
        EXPECT_EQ(stats.misses_in_all(), 0U);
        EXPECT_EQ(stats.tiers.at(0).misses, 0U);
        EXPECT_GE(stats.tiers.at(0).outages, 2U);
        EXPECT_EQ(stats.tiers.at(0).stores, 0U);
        const remotes::Report& report = stats.tiers.at(0).remote.value();
        EXPECT_FALSE(report.problem.empty());
        const std::lock_guard lock(m_mutex);
        EXPECT_FALSE(m_log.empty());
        for (const std::string& text : {m_log, report.problem, report.server})
            EXPECT_EQ(text.find(secret), std::string::npos) << text;
    }

    ScratchDirectory m_scratch;
    std::mutex m_mutex;
    std::string m_log;
};

}  // namespace

TEST_F(WrongSecret, of_redis_is_an_outage_and_said_without_it)
{
    if (!has_redis())
        GTEST_SKIP() << "redis-server is not installed";
    RedisServer::Options options;
    options.password = "right-secret";
    const RedisServer server(options);
    const std::string host = "@127.0.0.1:" + std::to_string(server.port());
    {
        Cache right = open("redis://:right-secret" + host, tiers::open_redis_store);
        EXPECT_EQ(right.find(numbered_key(1)).why(), Miss::absent) << "with the right one it is a miss";
        EXPECT_EQ(right.stats().tiers.at(0).misses, 1U);
    }
    Cache wrong = open("redis://:wr0ng-hush" + host, tiers::open_redis_store);
    expect_outage(wrong, "wr0ng-hush");
}

TEST_F(WrongSecret, of_s3_is_an_outage_and_said_without_it)
{
    if (shared_s3() == nullptr)
        GTEST_SKIP() << "No S3 server is installed: scripts/install-deps test";
    const std::string url = s3_url(k_bucket, fresh_path());
    {
        Cache right = open(url, tiers::open_http_store);
        EXPECT_EQ(right.find(numbered_key(1)).why(), Miss::absent) << "with the right one it is a miss";
    }
    const ScopedVariable secret("AWS_SECRET_ACCESS_KEY", "wr0ng-hush");
    Cache wrong = open(url, tiers::open_http_store);
    expect_outage(wrong, "wr0ng-hush");
}

}  // namespace hearth::test
