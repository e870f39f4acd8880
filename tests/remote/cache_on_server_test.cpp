// Caches on a server: fetches raced against makes (CacheOptions::race_under), and the signals of a host program.

#include "format/entry.hpp"
#include "hearth/cache.hpp"
#include "remote/scripted_store.hpp"
#include "support/isolated_environment.hpp"
#include "support/sample_entries.hpp"
#include "support/scratch_directory.hpp"
#include "support/threads.hpp"

#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <latch>

namespace hearth::remotes {

namespace {

using namespace std::chrono_literals;
using test::numbered_key;

class CacheOnServer : public testing::Test {
protected:
    Cache open(std::chrono::milliseconds race_under = 50ms, Maintenance maintenance = Maintenance::by_hand)
    {
        CacheOptions options;
        options.directory = m_scratch / "cache";
        options.race_under = race_under;
        options.maintenance = maintenance;
        options.tiers = {memory(1_MiB), test::scripted_tier(m_server)};
        return Cache::open(std::move(options)).value();
    }
    void server_has(std::uint64_t number)
    {
        const Key key = numbered_key(number);
        m_server->put(key.hex(),
                      format::encode_entry(key, Artifact(Bytes::copy_of(std::string_view("fetched")))).value());
    }

    static Result<Lookup> make_or_fetch(Cache& cache, std::uint64_t number, const GetOptions& how)
    {
        return cache.get_or_compile(
            numbered_key(number), [] { return std::string("made"); }, how);
    }
    // Nothing is made, since the server has it.
    static void expect_fetched(Cache& cache, std::uint64_t number, const GetOptions& how)
    {
        const auto must_not_run = [] {
            ADD_FAILURE() << "made although the server has it";
            return std::string("made");
        };
        EXPECT_EQ((*cache.get_or_compile(numbered_key(number), must_not_run, how))->text(), "fetched");
    }

    test::IsolatedEnvironment m_environment;
    test::ScratchDirectory m_scratch;
    std::shared_ptr<test::ScriptedServer> m_server = std::make_shared<test::ScriptedServer>();
    const GetOptions m_quick{.expected = 1ms, .captures = Captures::owned};
    const GetOptions m_slow{.expected = 10s, .captures = Captures::owned};
};

// What a thread of this process has blocked; bit 0 is signal 1.
std::uint64_t mask_of(const std::string& thread)
{
    std::ifstream status("/proc/self/task/" + thread + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("SigBlk:"))
            return std::stoull(line.substr(7), nullptr, 16);
    return 0;
}

}  // namespace

TEST_F(CacheOnServer, a_quick_make_answers_while_the_server_is_still_being_asked)
{
    server_has(1);
    std::latch let_go{1};
    m_server->on_get = [&](std::uint64_t) { let_go.wait(); };
    Cache cache = open();
    const Result<Lookup> got = make_or_fetch(cache, 1, m_quick);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ((*got)->text(), "made");
    EXPECT_TRUE(got->compiled());
    let_go.count_down();
}

TEST_F(CacheOnServer, a_server_that_is_first_answers_and_what_is_made_later_is_not_sent_again)
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

TEST_F(CacheOnServer, the_server_comes_first_unless_all_is_known_and_allowed)
{
    for (std::uint64_t number = 1; number <= 4; ++number)
        server_has(number);
    Cache cache = open();
    EXPECT_TRUE(cache.races());
    expect_fetched(cache, 1, m_slow);
    expect_fetched(cache, 2, {.expected = 1ms});  // a maker that may not outlive its caller
    Cache never = open(0ms);
    expect_fetched(never, 3, m_quick);
    Cache knows_nothing = open();
    expect_fetched(knows_nothing, 4, {.captures = Captures::owned});
}

TEST_F(CacheOnServer, what_others_took_tells_what_to_expect)
{
    std::latch let_go{1};  // the cache waits for who waits for it
    Cache cache = open(1h);
    ASSERT_TRUE(make_or_fetch(cache, 1, {}).ok());
    server_has(2);
    m_server->on_get = [&](std::uint64_t) { let_go.wait(); };
    EXPECT_EQ((*make_or_fetch(cache, 2, {.captures = Captures::owned}))->text(), "made");
    let_go.count_down();
}

TEST_F(CacheOnServer, a_make_that_misses_everywhere_is_kept_and_sent_without_a_lease)
{
    {
        Cache cache = open();
        EXPECT_EQ((*make_or_fetch(cache, 1, m_quick))->text(), "made");
        EXPECT_EQ(cache.find(numbered_key(1)).tier(), "memory");
        EXPECT_EQ(cache.stats(Scope::process).tiers[1].remote->leases, 0U);
    }
    EXPECT_TRUE(m_server->has(numbered_key(1).hex()));
}

TEST_F(CacheOnServer, a_deadline_ends_the_wait_for_both)
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

TEST_F(CacheOnServer, no_thread_of_it_takes_signals_of_its_host)
{
    const std::set<std::string> others = test::threads();  // sanitizers have some
    Cache cache = open(0ms, Maintenance::background);
    // A worker, the thread that sends, and the one that keeps order.
    ASSERT_TRUE(cache.get_or_compile_async(numbered_key(1), [] { return "made"; }).get().ok());
    cache.flush();
    const std::set<std::string> own = test::threads_since(others);
    EXPECT_EQ(own.size(), 3U);
    for (const std::string& thread : own) {
        EXPECT_NE(mask_of(thread) >> (SIGTERM - 1) & 1U, 0U);
        EXPECT_NE(mask_of(thread) >> (SIGUSR1 - 1) & 1U, 0U);
    }
}

}  // namespace hearth::remotes
