#include "tiers/redis/redis_settings.hpp"

#include <gtest/gtest.h>

namespace hearth::tiers::redis {

namespace {

Result<RedisSettings> settings_of(const std::string& url)
{
    remotes::StoreOptions options;
    options.url = remotes::parse_url(url).value();
    return redis_settings(options);
}

}  // namespace

TEST(RedisSettings, an_address_says_where_and_how)
{
    const RedisSettings plain = settings_of("redis://me:secret@h/4?prefix=team:").value();
    EXPECT_EQ(plain.endpoints.front(), (Endpoint{"h", 6379, {}}));
    EXPECT_EQ(plain.user, "me");
    EXPECT_EQ(plain.password, "secret");
    EXPECT_EQ(plain.database, 4U);
    EXPECT_EQ(plain.prefix, "team:");
    EXPECT_FALSE(plain.tls);
    EXPECT_EQ(settings_of("redis://h").value().prefix, "hearth:");
    EXPECT_EQ(settings_of("redis+unix:///run/redis.sock").value().endpoints.front().path, "/run/redis.sock");
    EXPECT_TRUE(settings_of("rediss://h").value().tls);
    const RedisSettings cluster = settings_of("redis+cluster://a:1,b:2,c").value();
    EXPECT_EQ(cluster.topology, Topology::cluster);
    EXPECT_EQ(cluster.endpoints.size(), 3U);
    EXPECT_TRUE(settings_of("rediss+cluster://a:1?insecure=1").value().tls);
    const std::string of_the_tier =
        "name=x&read-only=1&timeout=1s&connect-timeout=5ms&hedge=1ms&trust=a&lease=10s&queue=4";
    EXPECT_TRUE(settings_of("redis://h?" + of_the_tier).ok()) << "are left to it";
}

TEST(RedisSettings, what_cannot_be_used_is_refused_without_the_password)
{
    for (const char* url :
         {"redis://u:secret@h?colour=red", "redis://u:secret@h/x", "redis://u:secret@h/-1", "redis://u:secret@a,b",
          "redis://u:secret@h?ca=/etc/ca.pem", "rediss://u:secret@h?insecure=maybe", "rediss://u:secret@h?ca=/no/file",
          "rediss://u:secret@h?ca=", "redis+cluster://u:secret@h/1", "http://u:secret@h", "redis://u@h"}) {
        const Result<RedisSettings> settings = settings_of(url);
        ASSERT_FALSE(settings.ok()) << url;
        EXPECT_EQ(settings.error().code, Code::invalid_argument) << url;
        EXPECT_EQ(settings.error().message.find("secret"), std::string::npos) << settings.error().message;
    }
    EXPECT_NE(settings_of("redis://h?colour=red").error().message.find("are prefix,"), std::string::npos);
    EXPECT_NE(settings_of("redis://h?perfix=x").error().message.find("Did you mean prefix?"), std::string::npos);
    EXPECT_FALSE(settings_of("redis+unix:///" + std::string(200, 'a')).ok());
}

}  // namespace hearth::tiers::redis
