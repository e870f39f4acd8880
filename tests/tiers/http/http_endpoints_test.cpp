#include "http_fixture.hpp"
#include "remote/store_tier.hpp"
#include "support/manual_clock.hpp"

#include <filesystem>
#include <fmt/format.h>

// Several servers as one remote: docs/remote.md. What every store promises is shown in http_conformance.cpp for two
// that live and one that does not.

namespace hearth::test {

namespace {

std::size_t files_in(const std::string& folder)
{
    std::size_t count = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
        count += file.is_regular_file() ? 1 : 0;
    return count;
}

class HttpEndpoints : public testing::Test {
protected:
    void SetUp() override
    {
        if (!has_command("nginx"))
            GTEST_SKIP() << "nginx is not installed: scripts/install-deps test";
    }
};

}  // namespace

// Each with a folder of its own here, to see which of them was asked.
TEST_F(HttpEndpoints, requests_are_spread_over_all_of_them)
{
    const auto first = NginxServer::start();
    const auto second = NginxServer::start();
    ASSERT_TRUE(first && second);
    const auto store = open_store(fmt::format("http://{},{}/x?layout=shards", first->address(), second->address()));
    std::vector<remotes::Object> objects;
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < 64; ++i) {
        names.push_back(numbered_key(i).hex());
        objects.push_back({names.back(), as_bytes("x")});
    }
    for (const Status& put : store->put_many(objects, soon()))
        ASSERT_TRUE(put.ok()) << put.error().message;
    EXPECT_GT(files_in(first->files()), 0U);
    EXPECT_GT(files_in(second->files()), 0U);
    EXPECT_EQ(files_in(first->files()) + files_in(second->files()), 64U) << "each goes to one of them";
    for (const auto& got : store->get_many(names, soon()))
        EXPECT_TRUE(got.value().has_value()) << "and is looked for where it went";
    EXPECT_TRUE(store->description().starts_with("nginx/")) << store->description();
    EXPECT_NE(store->description().find("; nginx/"), std::string::npos) << store->description();
}

TEST_F(HttpEndpoints, a_dead_one_takes_no_hit_away_and_is_used_again_when_it_is_back)
{
    const auto first = NginxServer::start();
    const auto second = first ? NginxServer::start({.files = first->files()}) : nullptr;
    ASSERT_TRUE(first && second);
    const ScratchDirectory scratch;
    const ManualClock clock;
    std::string log;
    const TierContext context{&clock, [&](LogLevel, std::string_view line) { log += line; }, lru()};
    const RemoteOptions options{.url = fmt::format("http://{},{}/x", first->address(), second->address()),
                                .name = "http",
                                .connect_timeout = std::chrono::seconds(5),
                                .timeout = std::chrono::seconds(20),
                                .state_directory = scratch / "remotes"};
    remotes::StoreTier tier(options, remotes::parse_url(options.url).value(), context, tiers::open_http_store);
    std::vector<KeyedEntry> entries;
    for (std::uint64_t i = 0; i < 30; ++i)
        entries.push_back({numbered_key(i), sample_entry(numbered_key(i), 1000)});
    for (const Status& sent : tier.send_many(entries))
        ASSERT_TRUE(sent.ok()) << sent.error().message;

    second->process().kill();
    for (std::uint64_t i = 0; i < 30; ++i)
        EXPECT_TRUE(tier.find(numbered_key(i))) << i;
    EXPECT_EQ(tier.report().state, remotes::State::working);
    EXPECT_NE(tier.note().find("partly down: " + second->address()), std::string::npos) << tier.note();
    EXPECT_NE(log.find(second->address()), std::string::npos) << log;
    EXPECT_NE(tier.check(1).server.find(second->address() + " (down)"), std::string::npos) << tier.check(1).server;
    EXPECT_TRUE(tier.check(1).reachable.ok());

    second->start_again();
    ASSERT_TRUE(second->process().listens_at(second->port()));
    first->process().kill();
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!tier.find(numbered_key(0)) && std::chrono::steady_clock::now() < give_up)
        continue;  // it may be left alone for a moment
    for (std::uint64_t i = 0; i < 30; ++i)
        EXPECT_TRUE(tier.find(numbered_key(i))) << i << ": the other one has them all now";
}

}  // namespace hearth::test
