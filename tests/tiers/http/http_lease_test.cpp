#include "http_fixture.hpp"
#include "support/manual_clock.hpp"
#include "tiers/http/http_leases.hpp"
#include "tiers/http/plain_dialect.hpp"

namespace hearth::test {

namespace {

using namespace tiers::http;

WallTime at_milliseconds(std::int64_t count)
{
    return WallTime(std::chrono::milliseconds(count));
}

std::unique_ptr<HttpStore> store_with_clock(const NginxServer& server, const Clock& clock)
{
    PlainOptions plain{.base = "http://" + server.address(), .address = server.address()};
    return std::make_unique<HttpStore>(
        HttpStore::Parts{.client = {.address = server.address(), .connect_timeout = std::chrono::seconds(5)},
                         .dialect = std::make_unique<PlainDialect>(plain),
                         .max_object_bytes = 1U << 20U,
                         .clock = &clock});
}

}  // namespace

TEST(HttpLease, an_object_says_when_it_ends)
{
    EXPECT_EQ(encode_lease(as_bytes("mine"), at_milliseconds(1'700'000'000'123)), "hearth-lease 1 1700000000123\nmine");
    const auto lease = decode_lease(Bytes::copy_of("hearth-lease 1 1700000000123\nmine"));
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->content.text(), "mine");
    EXPECT_EQ(lease->expires, at_milliseconds(1'700'000'000'123));
    EXPECT_EQ(decode_lease(Bytes::copy_of("hearth-lease 1 5\n"))->content.size(), 0U);
}

TEST(HttpLease, what_is_no_lease_is_not_taken_for_one)
{
    for (const char* text :
         {"", "hearth-lease 1 ", "hearth-lease 1 \nx", "hearth-lease 1 5", "hearth-lease 2 5\nx",
          "hearth-lease 1 -5\nx", "hearth-lease 1 5x\nx", "hearth-lease 1 99999999999999999999\nx", "something else"})
        EXPECT_FALSE(decode_lease(Bytes::copy_of(text))) << text;
    // Beyond what a clock can say: as late as can be, and no overflow.
    EXPECT_GT(decode_lease(Bytes::copy_of("hearth-lease 1 9223372036854775807\nx"))->expires,
              at_milliseconds(1'700'000'000'000));
}

TEST(HttpLease, one_whose_time_has_passed_is_gone_and_may_be_taken_over)
{
    const auto server = NginxServer::start({.honours_if_none_match = true});
    if (!server)
        GTEST_SKIP() << "nginx is not installed: scripts/install-deps test";
    ManualClock clock;
    const auto store = store_with_clock(*server, clock);
    const Bytes mine = Bytes::copy_of("mine");
    const Bytes theirs = Bytes::copy_of("theirs");
    const std::chrono::milliseconds minute(60'000);
    ASSERT_TRUE(store->put_if_absent("k.lease", mine, minute, soon()).value());
    clock.advance(std::chrono::seconds(50));
    EXPECT_FALSE(store->put_if_absent("k.lease", theirs, minute, soon()).value());
    EXPECT_TRUE(store->renew("k.lease", mine, minute, soon()).value());
    clock.advance(std::chrono::seconds(50));
    EXPECT_FALSE(store->put_if_absent("k.lease", theirs, minute, soon()).value());
    clock.advance(std::chrono::seconds(11));
    EXPECT_FALSE(store->get("k.lease", soon()).value().has_value());
    EXPECT_FALSE(store->renew("k.lease", mine, minute, soon()).value());
    EXPECT_TRUE(store->put_if_absent("k.lease", theirs, minute, soon()).value());
    EXPECT_FALSE(store->remove_if("k.lease", mine, soon()).value());
    EXPECT_EQ(store->get("k.lease", soon()).value().value(), theirs);
    // The name it was tried out on is gone again.
    EXPECT_EQ(snapshot(server->files()).size(), 1U);
}

TEST(HttpLease, a_server_that_ignores_the_condition_is_found_out)
{
    NginxServer* const server = shared_nginx();
    if (!server)
        GTEST_SKIP() << "nginx is not installed: scripts/install-deps test";
    const std::string path = fresh_path();
    const auto store = open_store("http://" + server->address() + "/" + path);
    ASSERT_TRUE(store->put("other", as_bytes("x"), soon()).ok());
    for (int i = 0; i < 2; ++i) {
        const auto taken = store->put_if_absent("k.lease", as_bytes("x"), std::chrono::milliseconds(1000), soon());
        ASSERT_FALSE(taken.ok());
        EXPECT_EQ(taken.error().code, Code::other_version) << taken.error().message;
    }
    EXPECT_EQ(snapshot(server->files() + "/" + path).size(), 1U) << "what it was tried out on is gone";
    EXPECT_EQ(store->put_if_absent("k", as_bytes("x"), std::chrono::milliseconds(1), soon()).error().code,
              Code::invalid_argument);
}

}  // namespace hearth::test
