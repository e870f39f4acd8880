#include "http_fixture.hpp"
#include "support/eventually.hpp"
#include "support/manual_clock.hpp"
#include "tiers/http/http_leases.hpp"
#include "tiers/http/plain_dialect.hpp"

#include <filesystem>
#include <fmt/format.h>

// What is special about servers that are plain folders: names, several of them as one remote (docs/remote.md), leases.
// What every store promises is in http_conformance.cpp.

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

std::size_t files_in(const std::string& folder)
{
    std::size_t count = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
        count += file.is_regular_file() ? 1 : 0;
    return count;
}

using HttpFolder = OnNginx;

}  // namespace

TEST_F(HttpFolder, a_server_without_webdav_does_not_accept_put)
{
    const auto server = NginxServer::start({.takes_put = false});
    const Status put = open_store("http://" + server->address())->put("name", as_bytes("x"), soon());
    ASSERT_EQ(code_of(put), "other_version");
    EXPECT_NE(put.error().message.find("WebDAV"), std::string::npos) << put.error().message;
}

TEST_F(HttpFolder, names_lie_where_the_layout_says)
{
    NginxServer* const server = shared_nginx();
    const std::string path = fresh_path();
    const std::string url = "http://" + server->address() + "/" + path + "/a%20b/";
    ASSERT_TRUE(open_store(url)->put("abcdef", as_bytes("flat"), soon()).ok());
    ASSERT_TRUE(open_store(url + "?layout=shards")->put("abcdef", as_bytes("shards"), soon()).ok());
    ASSERT_TRUE(open_store(url + "?layout=shards")->put("a", as_bytes("short"), soon()).ok());
    ASSERT_TRUE(open_store(url + "?layout=bazel")->put("abcdef", as_bytes("bazel"), soon()).ok());
    const std::string folder = server->files() + "/" + path + "/a b";
    EXPECT_EQ(read_file(folder + "/abcdef"), "flat");
    EXPECT_EQ(read_file(folder + "/ab/cd/abcdef"), "shards");
    EXPECT_EQ(read_file(folder + "/a_/__/a"), "short");
    EXPECT_EQ(read_file(folder + "/ac/abcdef"), "bazel");
}

TEST_F(HttpFolder, names_that_would_leave_their_folder_are_refused)
{
    const auto store = open_store("http://" + shared_nginx()->address() + "/" + fresh_path());
    for (const char* name : {"", "..", ".hidden", "a/b", "a?b", "a%2Fb", "a b", "a\r\nHost: x"}) {
        EXPECT_EQ(store->get(name, soon()).error().code, Code::invalid_argument) << name;
        EXPECT_EQ(store->put(name, as_bytes("x"), soon()).error().code, Code::invalid_argument) << name;
    }
    EXPECT_EQ(store->get(std::string(129, 'x'), soon()).error().code, Code::invalid_argument);
    EXPECT_TRUE(store->get(std::string(128, 'x'), soon()).ok());
}

// Each with a folder of its own here, to see which of them was asked.
TEST_F(HttpFolder, requests_are_spread_over_several_servers)
{
    const auto first = NginxServer::start();
    const auto second = NginxServer::start();
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

TEST_F(HttpFolder, a_dead_server_of_several_takes_no_hit_away_and_is_used_again_when_it_is_back)
{
    const auto first = NginxServer::start();
    const auto second = NginxServer::start({.files = first->files()});
    const ScratchDirectory scratch;
    const ManualClock clock;
    std::string log;
    remotes::StoreTier tier = open_tier({.url = fmt::format("http://{},{}/x", first->address(), second->address()),
                                         .connect_timeout = std::chrono::seconds(5),
                                         .state_directory = scratch / "remotes"},
                                        clock, log);
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
    const auto is_found = [&] { return bool(tier.find(numbered_key(0))); };
    EXPECT_TRUE(eventually("it is no longer left alone", is_found, std::chrono::minutes(2)));
    for (std::uint64_t i = 0; i < 30; ++i)
        EXPECT_TRUE(tier.find(numbered_key(i))) << i << ": the other one has them all now";
}

TEST(HttpLeaseObject, says_when_it_ends)
{
    EXPECT_EQ(encode_lease(as_bytes("mine"), at_milliseconds(1'700'000'000'123)), "hearth-lease 1 1700000000123\nmine");
    const auto lease = decode_lease(Bytes::copy_of("hearth-lease 1 1700000000123\nmine"));
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->content.text(), "mine");
    EXPECT_EQ(lease->expires, at_milliseconds(1'700'000'000'123));
    EXPECT_EQ(decode_lease(Bytes::copy_of("hearth-lease 1 5\n"))->content.size(), 0U);
}

TEST(HttpLeaseObject, what_is_no_lease_is_not_taken_for_one)
{
    for (const char* text :
         {"", "hearth-lease 1 ", "hearth-lease 1 \nx", "hearth-lease 1 5", "hearth-lease 2 5\nx",
          "hearth-lease 1 -5\nx", "hearth-lease 1 5x\nx", "hearth-lease 1 99999999999999999999\nx", "something else"})
        EXPECT_FALSE(decode_lease(Bytes::copy_of(text))) << text;
    // Beyond what a clock can say: as late as can be, and no overflow.
    EXPECT_GT(decode_lease(Bytes::copy_of("hearth-lease 1 9223372036854775807\nx"))->expires,
              at_milliseconds(1'700'000'000'000));
}

TEST_F(HttpFolder, a_lease_whose_time_has_passed_is_gone_and_may_be_taken_over)
{
    const auto server = NginxServer::start({.honours_if_none_match = true});
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

TEST_F(HttpFolder, a_server_that_ignores_the_condition_is_found_out)
{
    NginxServer* const server = shared_nginx();
    const std::string path = fresh_path();
    const auto store = open_store("http://" + server->address() + "/" + path);
    ASSERT_TRUE(store->put("other", as_bytes("x"), soon()).ok());
    for (int i = 0; i < 2; ++i) {
        const auto taken = store->put_if_absent("k.lease", as_bytes("x"), std::chrono::milliseconds(1000), soon());
        EXPECT_EQ(code_of(taken), "other_version");
    }
    EXPECT_EQ(snapshot(server->files() + "/" + path).size(), 1U) << "what it was tried out on is gone";
    EXPECT_EQ(store->put_if_absent("k", as_bytes("x"), std::chrono::milliseconds(1), soon()).error().code,
              Code::invalid_argument);
}

}  // namespace hearth::test
