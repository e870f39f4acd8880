#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "support/in_threads.hpp"

#include <atomic>

// Compiles that fail: their log comes back, they are remembered for a while and are never a success (44).

namespace hearth::test {

namespace {

using namespace std::chrono_literals;

class Failures : public CacheTest {
protected:
    // A compiler that says no, and counts how often it was asked.
    auto failing()
    {
        return [this]() -> Result<Artifact> {
            ++m_makes;
            return failed_compile();
        };
    }
    static void expect_the_compilers_words(const Result<Lookup>& got)
    {
        ASSERT_FALSE(got.ok());
        EXPECT_EQ(got.error().code, Code::compile_failed);
        EXPECT_EQ(got.error().message, failed_compile().message);
        EXPECT_EQ(got.error().log, failed_compile().log);
    }

    std::atomic<int> m_makes{0};
};

TEST_F(Failures, the_same_error_and_log_replay_without_a_second_make_and_across_a_restart)
{
    {
        Cache cache = open_usual();
        for (int round = 0; round < 3; ++round)
            expect_the_compilers_words(cache.get_or_compile(numbered_key(1), failing()));
        expect_the_compilers_words(cache.get_or_compile_async(numbered_key(1), failing()).get());
        expect_the_compilers_words(cache.get_or_compile(numbered_key(1), failing(), {.deadline = 1h}));
        const Stats stats = cache.stats();
        EXPECT_EQ(stats.compiles, 1U);
        EXPECT_EQ(stats.compile_failures, 1U);
        EXPECT_EQ(stats.failures_replayed, 4U);
    }
    Cache later = open_usual();
    expect_the_compilers_words(later.get_or_compile(numbered_key(1), failing()));
    EXPECT_EQ(m_makes, 1);
}

TEST_F(Failures, a_remembered_failure_expires)
{
    CacheOptions brief = with({memory(0), disk_here()});
    brief.failure_ttl = 10s;
    Cache cache = open(brief);
    expect_the_compilers_words(cache.get_or_compile(numbered_key(1), failing()));
    m_clock.advance(10s - 1ns);
    expect_the_compilers_words(cache.get_or_compile(numbered_key(1), failing()));
    EXPECT_EQ(m_makes, 1);
    m_clock.advance(1ns);
    EXPECT_EQ(text_of(cache.get_or_compile(numbered_key(1), [] { return "compiles now"; })), "compiles now");
    EXPECT_EQ(misses(cache.stats(), Miss::expired), 1U);
    m_clock.advance(1h);
    EXPECT_TRUE(cache.get_or_compile(numbered_key(1), failing()).ok()) << "a success does not expire with the failure";
    EXPECT_EQ(m_makes, 1);
}

TEST_F(Failures, a_failure_is_never_stored_as_a_success)
{
    Cache cache = open_usual();
    expect_the_compilers_words(cache.get_or_compile(numbered_key(1), failing()));
    const Lookup found = cache.find(numbered_key(1));
    ASSERT_TRUE(found.hit());
    EXPECT_TRUE(found->failed());
    EXPECT_EQ(found->text("log"), failed_compile().log);
    EXPECT_EQ(admin::info(cache, numbered_key(1))->status, 1);
    EXPECT_EQ(found->expires, ManualClock::k_start + 1min);
}

TEST_F(Failures, an_inserted_success_takes_the_failures_place)
{
    Cache cache = open_usual();
    expect_the_compilers_words(cache.get_or_compile(numbered_key(1), failing()));
    put(cache, 1, 10);
    EXPECT_TRUE(cache.get_or_compile(numbered_key(1), failing()).ok());
    EXPECT_EQ(m_makes, 1);
}

TEST_F(Failures, errors_that_may_pass_are_not_remembered)
{
    Cache cache = open_usual();
    int makes = 0;
    for (const Code code : {Code::io, Code::no_space, Code::unavailable, Code::timeout, Code::not_found}) {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [&]() -> Result<Artifact> {
            ++makes;
            return Error{code, "may well succeed next time", "log"};
        });
        ASSERT_FALSE(got.ok());
        EXPECT_EQ(got.error().code, code);
        EXPECT_EQ(got.error().log, "log");
        EXPECT_TRUE(admin::where(cache, numbered_key(1)).empty());
    }
    EXPECT_EQ(makes, 5);
    EXPECT_TRUE(cache.get_or_compile(numbered_key(1), [] { return Artifact("at last"); }).ok());
}

TEST_F(Failures, with_a_time_of_zero_no_failure_is_remembered)
{
    CacheOptions forgetful = with({memory(0), disk_here()});
    forgetful.failure_ttl = 0ms;
    Cache cache = open(forgetful);
    for (int round = 0; round < 2; ++round)
        expect_the_compilers_words(cache.get_or_compile(numbered_key(1), failing()));
    EXPECT_EQ(m_makes, 2);
    EXPECT_TRUE(admin::where(cache, numbered_key(1)).empty());
}

TEST_F(Failures, a_failed_artifact_is_an_answer_with_every_section_and_is_replayed_as_one)
{
    Artifact broken;
    broken.status = 6;
    broken.sections = {{"log", Bytes::copy_of("k.cu(3): error")}, {"ptx", Bytes::copy_of("partial")}};
    broken.metadata.label = "k";
    Cache cache = open_usual();
    int makes = 0;
    for (int round = 0; round < 3; ++round) {
        if (round == 2)
            admin::clear_memory(cache);
        const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [&] {
            ++makes;
            return broken;
        });
        ASSERT_TRUE(got.ok());
        EXPECT_EQ((*got)->status, 6);
        EXPECT_EQ((*got)->sections, broken.sections);
        EXPECT_EQ((*got)->metadata.label, "k");
        EXPECT_EQ(got->tier(), (Names{"", "memory", "disk"}[static_cast<std::size_t>(round)]));
    }
    EXPECT_EQ(makes, 1);
    EXPECT_EQ(cache.stats().failures_replayed, 2U);
    m_clock.advance(1h);
    EXPECT_FALSE(cache.find(numbered_key(1)).hit());
}

TEST_F(Failures, all_who_waited_for_a_make_that_failed_get_its_error)
{
    Cache cache = open_usual();
    in_threads(16, [&](std::uint64_t) {
        expect_the_compilers_words(cache.get_or_compile(numbered_key(1), [&] {
            wait_for_waiters(cache, 15);
            return failing()();
        }));
    });
    EXPECT_EQ(m_makes, 1);
}

TEST_F(Failures, a_long_log_comes_back_to_the_last_byte)
{
    std::string log;
    for (int line = 0; line < 20'000; ++line)
        log += "k.cu(" + std::to_string(line) + "): warning \xE2\x80\x98x\xE2\x80\x99 unused\r\n";
    log += std::string("\0end", 4);
    Cache cache = open_usual();
    for (int round = 0; round < 2; ++round) {
        const Result<Lookup> got = cache.get_or_compile(
            numbered_key(1), [&]() -> Result<Artifact> { return failed_compile("too much", log); });
        EXPECT_EQ(got.error().log, log);
        admin::clear_memory(cache);
    }
    EXPECT_EQ(cache.stats().compiles, 1U);
}

}  // namespace

}  // namespace hearth::test
