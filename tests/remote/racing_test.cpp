// Fetches raced against makes: CacheOptions::race_under.

#include "format/entry.hpp"
#include "hearth/cache.hpp"
#include "remote/scripted_store.hpp"
#include "remote/store_tier.hpp"
#include "support/isolated_environment.hpp"
#include "support/sample_entries.hpp"
#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>
#include <latch>

namespace hearth::remotes {

namespace {

using namespace std::chrono_literals;
using test::numbered_key;

class Racing : public testing::Test {
protected:
    Cache open(std::chrono::milliseconds race_under = 50ms)
    {
        CacheOptions options;
        options.directory = m_scratch / "cache";
        options.race_under = race_under;
        options.maintenance = Maintenance::by_hand;
        options.tiers = {memory(1_MiB), {"redis", [this](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                                             RemoteOptions remote{.url = "redis://cache:6379", .name = "redis"};
                                             return {std::make_unique<StoreTier>(
                                                 remote, parse_url(remote.url).value(), context,
                                                 [this](const StoreOptions&) -> Result<std::unique_ptr<RemoteStore>> {
                                                     return {std::make_unique<test::ScriptedStore>(m_server)};
                                                 })};
                                         }}};
        return Cache::open(std::move(options)).value();
    }
    void server_has(std::uint64_t number)
    {
        const Key key = numbered_key(number);
        m_server->put(key.hex(),
                      format::encode_entry(key, Artifact(Bytes::copy_of(std::string_view("fetched")))).value());
    }

    test::IsolatedEnvironment m_environment;
    test::ScratchDirectory m_scratch;
    std::shared_ptr<test::ScriptedServer> m_server = std::make_shared<test::ScriptedServer>();
    const GetOptions m_quick{.expected = 1ms, .captures = Captures::owned};
    const GetOptions m_slow{.expected = 10s, .captures = Captures::owned};
};

}  // namespace

TEST_F(Racing, a_quick_make_answers_while_the_server_is_still_being_asked)
{
    server_has(1);
    std::latch let_go{1};
    m_server->on_get = [&](std::uint64_t) { let_go.wait(); };
    Cache cache = open();
    const Result<Lookup> got = cache.get_or_compile(
        numbered_key(1), [] { return std::string("made"); }, m_quick);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ((*got)->text(), "made");
    EXPECT_TRUE(got->compiled());
    let_go.count_down();
}

TEST_F(Racing, a_server_that_is_first_answers_and_what_is_made_later_is_not_sent_again)
{
    server_has(1);
    std::latch begun{1};
    std::latch let_go{1};
    m_server->on_get = [&](std::uint64_t) { begun.wait(); };
    {
        Cache cache = open();
        const Result<Lookup> got = cache.get_or_compile(
            numbered_key(1),
            [&] {
                begun.count_down();
                let_go.wait();
                return std::string("made");
            },
            m_quick);
        ASSERT_TRUE(got.ok());
        EXPECT_EQ((*got)->text(), "fetched");
        EXPECT_EQ(got->tier(), "redis");
        let_go.count_down();
    }
    const std::lock_guard lock(m_server->mutex);
    const format::DecodedEntry there =
        format::decode_entry(m_server->objects.at(numbered_key(1).hex()), numbered_key(1));
    EXPECT_EQ(there.artifact->text(), "fetched");
}

TEST_F(Racing, what_is_expected_to_take_long_waits_for_the_server)
{
    server_has(1);
    Cache cache = open();
    const Result<Lookup> got = cache.get_or_compile(
        numbered_key(1),
        [] {
            ADD_FAILURE() << "made although the server has it";
            return std::string("made");
        },
        m_slow);
    EXPECT_EQ((*got)->text(), "fetched");
}

TEST_F(Racing, without_being_asked_for_or_without_anything_known_the_server_comes_first)
{
    server_has(1);
    server_has(2);
    const auto must_not_run = [] {
        ADD_FAILURE() << "made although the server has it";
        return std::string("made");
    };
    Cache never = open(0ms);
    EXPECT_EQ((*never.get_or_compile(numbered_key(1), must_not_run, m_quick))->text(), "fetched");
    Cache knows_nothing = open();
    EXPECT_EQ((*knows_nothing.get_or_compile(numbered_key(2), must_not_run, {.captures = Captures::owned}))->text(),
              "fetched");
}

TEST_F(Racing, a_maker_that_may_not_outlive_its_caller_is_not_raced)
{
    server_has(1);
    Cache cache = open();
    EXPECT_TRUE(cache.races());
    const Result<Lookup> got = cache.get_or_compile(numbered_key(1),
                                                    [] {
                                                        ADD_FAILURE() << "made although the server has it";
                                                        return std::string("made");
                                                    },
                                                    {.expected = 1ms});
    EXPECT_EQ((*got)->text(), "fetched");
}

TEST_F(Racing, what_others_took_tells_what_to_expect)
{
    Cache cache = open(1h);
    ASSERT_TRUE(cache.get_or_compile(numbered_key(1), [] { return std::string("made"); }).ok());
    server_has(2);
    std::latch let_go{1};
    m_server->on_get = [&](std::uint64_t) { let_go.wait(); };
    const Result<Lookup> got =
        cache.get_or_compile(numbered_key(2), [] { return std::string("made"); }, {.captures = Captures::owned});
    EXPECT_EQ((*got)->text(), "made");
    let_go.count_down();
}

TEST_F(Racing, a_make_that_misses_everywhere_is_kept_and_sent_without_a_lease)
{
    {
        Cache cache = open();
        const Result<Lookup> got = cache.get_or_compile(
            numbered_key(1), [] { return std::string("made"); }, m_quick);
        EXPECT_EQ((*got)->text(), "made");
        EXPECT_EQ(cache.find(numbered_key(1)).tier(), "memory");
        EXPECT_EQ(cache.stats(Scope::process).tiers[1].remote->leases, 0U);
    }
    EXPECT_TRUE(m_server->has(numbered_key(1).hex()));
}

TEST_F(Racing, a_deadline_ends_the_wait_for_both)
{
    std::latch let_go{1};
    m_server->on_get = [&](std::uint64_t) { let_go.wait(); };
    Cache cache = open();
    const Result<Lookup> got = cache.get_or_compile(numbered_key(1),
                                                    [&] {
                                                        let_go.wait();
                                                        return std::string("made");
                                                    },
                                                    {.deadline = 5ms, .expected = 1ms, .captures = Captures::owned});
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::timeout);
    let_go.count_down();
}

}  // namespace hearth::remotes
