#include "remote/remote_options.hpp"

#include <gtest/gtest.h>

namespace hearth::remotes {

namespace {

using namespace std::chrono_literals;

TEST(RemoteOptions, the_address_sets_what_stands_behind_its_question_mark)
{
    const Resolved all = resolve_options({.url = "redis://h?name=fleet&read-only=1&timeout=50ms&connect-timeout=1s&"
                                                 "hedge=20ms&lease=off&queue=1M&trust=signed&prefix=x"})
                             .value();
    EXPECT_EQ(all.options.name, "fleet");
    EXPECT_EQ(all.options.access, Access::read_only);
    EXPECT_EQ(all.options.timeout, 50ms);
    EXPECT_EQ(all.options.connect_timeout, 1s);
    EXPECT_EQ(all.options.hedge_after, 20ms);
    EXPECT_EQ(all.options.lease, FleetLease::off);
    EXPECT_EQ(all.options.queue_bytes, 1_MiB);
    EXPECT_EQ(all.options.trust.signatures, Signatures::demanded);
    EXPECT_EQ(all.url.options, (std::map<std::string, std::string>{{"prefix", "x"}})) << "the rest is the store's";
}

TEST(RemoteOptions, without_a_name_it_is_the_kind_of_server)
{
    EXPECT_EQ(resolve_options({.url = "redis+cluster://a,b"}).value().options.name, "redis");
    EXPECT_EQ(resolve_options({.url = "https://h/x"}).value().options.name, "http");
    EXPECT_EQ(resolve_options({.url = "s3://bucket"}).value().options.name, "s3");
}

TEST(RemoteOptions, a_value_that_cannot_be_used_is_named)
{
    for (const char* url :
         {"redis://h?timeout=x", "redis://h?timeout=0s", "redis://h?read-only=maybe", "redis://h?lease=2",
          "redis://h?queue=big", "redis://h?hedge=soon", "redis://h?trust=all"}) {
        const Result<Resolved> resolved = resolve_options({.url = url});
        ASSERT_FALSE(resolved.ok()) << url;
        EXPECT_NE(resolved.error().message.find("cannot be used"), std::string::npos);
    }
}

TEST(RemoteOptions, to_demand_signatures_and_trust_nobody_leaves_the_tier_out)
{
    const Result<std::unique_ptr<Tier>> opened = remote("redis://h?trust=signed").open({});
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.error().message.find("HEARTH_TRUSTED_KEYS"), std::string::npos);
}

}  // namespace

}  // namespace hearth::remotes
