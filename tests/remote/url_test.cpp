#include "remote/url.hpp"

#include <gtest/gtest.h>

namespace hearth::remotes {

namespace {

TEST(RemoteUrl, its_parts_are_found_and_what_is_shown_holds_no_secret)
{
    const Url url = parse_url("redis://ann:p%40ss@cache.local:6380/3?timeout=50&read-only=1").value();
    EXPECT_EQ(url.scheme, "redis");
    EXPECT_EQ(url.user, "ann");
    EXPECT_EQ(url.password, "p@ss");
    EXPECT_EQ(url.hosts, (std::vector<HostPort>{{"cache.local", 6380}}));
    EXPECT_EQ(url.path, "3");
    EXPECT_EQ(url.option("timeout"), "50");
    EXPECT_EQ(url.option("read-only"), "1");
    EXPECT_EQ(url.option("none"), std::nullopt);
    EXPECT_EQ(parse_url("http://user:hunter2@host/x").value().shown(), "http://host/x");
    EXPECT_EQ(parse_url("s3://bucket/prefix?access-key=AKIA&secret-key=abc&endpoint=http://x").value().shown(),
              "s3://bucket/prefix");
    const Url socket = parse_url("redis+unix:///run/redis/redis.sock").value();
    EXPECT_TRUE(socket.hosts.empty());
    EXPECT_EQ(socket.path, "/run/redis/redis.sock");
}

TEST(RemoteUrl, hosts_may_be_many_and_of_any_kind)
{
    const Url url = parse_url("redis+cluster://a:1,10.0.0.1,[fd00::1]:7").value();
    EXPECT_EQ(url.hosts, (std::vector<HostPort>{{"a", 1}, {"10.0.0.1", 0}, {"fd00::1", 7}}));
    EXPECT_EQ(url.shown(), "redis+cluster://a:1,10.0.0.1,[fd00::1]:7");
    const Url endpoints = parse_url("https://ann:hush@a:1,b/some/path?layout=shards").value();
    EXPECT_EQ(endpoints.hosts, (std::vector<HostPort>{{"a", 1}, {"b", 0}}));
    EXPECT_EQ(endpoints.shown(), "https://a:1,b/some/path");
    EXPECT_EQ(parse_url("s3://x?endpoint=http://a:1,b:1").value().option("endpoint"), "http://a:1,b:1");
}

TEST(RemoteUrl, what_is_none_is_refused_without_being_repeated)
{
    const auto expect_refused = [](std::initializer_list<std::string> texts) {
        for (const std::string& text : texts) {
            const Result<Url> url = parse_url(text);
            ASSERT_FALSE(url.ok()) << text;
            EXPECT_EQ(url.error().code, Code::invalid_argument);
            EXPECT_EQ(url.error().message.find("hunter2"), std::string::npos);
        }
    };
    expect_refused({"", "redis", "redis:/x", "://x", "redis://", "redis://:99", "redis://h:", "redis://h:0",
                    "redis://h:99999", "redis://h:1x", "redis://[fd00::1", "redis://[::1]x", "redis://a,,b",
                    "redis+unix://", "redis+unix://host/x", "redis://secret:hunter2@", "redis://us%er:hunter2@h"});
    expect_refused({"http://a,http://b", "http://h/%zz", "http://h/%4", "http://h?%=1", "http://h?=1", "http://h/a b",
                    "http://h/\x01", "http://" + std::string(5000, 'x')});
}

}  // namespace

}  // namespace hearth::remotes
