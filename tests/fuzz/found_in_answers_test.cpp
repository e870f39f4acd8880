// What fuzzing found in the readers of servers' answers, which are in libraries of their own.

#include "fuzz/redis_wire.hpp"
#include "tiers/http/http_client.hpp"
#include "tiers/http/rogue_http_server.hpp"
#include "tiers/http/s3_answers.hpp"
#include "tiers/redis/redis_answers.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using tiers::http::Answer;
using tiers::http::HttpClient;

Result<Answer> get(HttpClient& client, const RogueHttpServer& server)
{
    return client.perform({.url = server.url(), .max_bytes = 100},
                          std::chrono::steady_clock::now() + std::chrono::seconds(10));
}

}  // namespace

// libcurl before 8.1 takes a line that begins with a blank for more of the last header that the handle has seen, also
// where that was another request's, and is freed (curl issue 11101).
TEST(HttpAnswer, a_header_that_continues_none_does_not_continue_the_last_request_s)
{
    const RogueHttpServer server([turn = 0](const RogueHttpServer::Connection& one) mutable {
        one.send(turn++ % 2 == 0 ? "HTTP/1.1 200 OK\r\nServer: first\r\nContent-Length: 1\r\n\r\na"
                                 : "HTTP/1.1 200 OK\r\n more: of it\r\nContent-Length: 1\r\n\r\nb");
    });
    HttpClient client({.address = server.address(), .connect_timeout = std::chrono::seconds(10)});
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(get(client, server).value().server, "first");
        // Some versions pass over it, others refuse the answer.
        const Result<Answer> second = get(client, server);
        EXPECT_TRUE(second.ok() ? second->server.empty() : second.error().code == Code::corrupt);
    }
}

TEST(HttpAnswer, with_a_status_of_one_digit_or_of_four_is_none)
{
    for (const char* line : {"HTTP/204 No Content", "HTTP/21000 OK"}) {
        const RogueHttpServer server(std::string(line) + "\r\nContent-Length: 0\r\n\r\n");
        HttpClient client({.address = server.address(), .connect_timeout = std::chrono::seconds(10)});
        const Result<Answer> answer = get(client, server);
        ASSERT_FALSE(answer.ok()) << line;
        EXPECT_EQ(answer.error().code, Code::corrupt) << line;
    }
}

// libcurl takes no URL of that length, and would have asked for the one before it again.
TEST(S3Answer, a_token_that_fits_into_no_request_is_corrupt)
{
    const auto page = [](std::size_t bytes) {
        return tiers::http::parse_listing("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>" +
                                          std::string(bytes, '%') + "</NextContinuationToken></ListBucketResult>");
    };
    EXPECT_TRUE(page(8192).ok());
    ASSERT_FALSE(page(8193).ok());
    EXPECT_EQ(page(8193).error().code, Code::corrupt);
}

TEST(ClusterAnswer, a_master_whose_host_is_not_known_serves_nothing_and_the_others_do)
{
    using namespace tiers::redis;
    const auto reply = fuzz::first_reply("*2\r\n*3\r\n:0\r\n:99\r\n*2\r\n$1\r\n?\r\n:7000\r\n"
                                         "*4\r\n:100\r\n:199\r\n*2\r\n$1\r\nh\r\n:7001\r\n*2\r\n$1\r\n?\r\n:7002\r\n");
    ASSERT_TRUE(reply);
    const Result<SlotMap> map = parse_slots(*reply, {"asked", 7000, {}});
    ASSERT_TRUE(map.ok()) << map.error().message;
    EXPECT_EQ(map->owner[0], SlotMap::k_nobody);
    EXPECT_EQ(map->owner[100], 0);
    EXPECT_EQ(map->masters, (std::vector<Endpoint>{{"h", 7001, {}}}));
    EXPECT_TRUE(map->replicas.empty());
}

}  // namespace hearth::test
