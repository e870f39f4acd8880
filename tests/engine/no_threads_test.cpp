#include "base/own_thread.hpp"
#include "cache_test.hpp"
#include "hooked_tier.hpp"
#include "support/eventually.hpp"
#include "support/in_threads.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

// The system gives no threads, or code of the user's throws where it must not: callers get their artifacts all the
// same.

namespace hearth::test {

namespace {

using namespace std::chrono_literals;

class NoThreads : public CacheTest {
protected:
    ~NoThreads() override { base::fail_thread_starts(0); }
    // A tier that counts how often it is maintained, in the background.
    Cache open_maintained(const TierSpec& tier)
    {
        CacheOptions chosen = with({hooked(tier, {.maintain = [this](std::stop_token) { ++m_maintained; }})});
        chosen.maintenance = Maintenance::background;
        chosen.maintenance_interval = 1ms;
        return open(chosen);
    }
    std::atomic<int> m_maintained{0};
};

using ThrowingCode = CacheTest;

// Admits, promotes and evicts by throwing.
class ThrowingPolicy : public Policy {
public:
    void inserted(const Resident&) override { throw std::runtime_error("inserted"); }
    void removed(const Resident&) override { throw std::runtime_error("removed"); }
    const Resident* victim() override { throw std::runtime_error("victim"); }
    bool promote(const Resident&) const override { throw std::runtime_error("promote"); }
};

class NothingAdmitted final : public ThrowingPolicy {
public:
    bool admit(const Resident&) const override { throw std::runtime_error("admit"); }
};

class BrokenClock final : public Clock {
public:
    WallTime now() const override
    {
        if (is_broken)
            throw std::runtime_error("the clock has stopped");
        return ManualClock::k_start;
    }
    std::atomic<bool> is_broken{false};
};

TEST_F(NoThreads, three_threads_on_one_key_all_get_the_artifact)
{
    CacheOptions chosen = with({memory(0), disk_here()});
    chosen.maintenance = Maintenance::background;
    Cache cache = open(chosen);
    base::fail_thread_starts(1000);
    in_threads(3, [&](std::uint64_t) {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [&] {
            wait_for_waiters(cache, 2);
            return Artifact("compiled");
        });
        EXPECT_EQ(text_of(got), "compiled");
    });
    EXPECT_EQ(cache.stats().compiles, 1U);
}

TEST_F(NoThreads, what_runs_on_workers_runs_on_the_caller)
{
    Cache cache = open_usual();
    base::fail_thread_starts(1000);
    const auto compile = [caller = std::this_thread::get_id()] {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        return Artifact("compiled");
    };
    EXPECT_TRUE(cache.get_or_compile_async(numbered_key(1), compile).get().ok());
    EXPECT_TRUE(cache.get_or_compile(numbered_key(2), compile, {.deadline = 1h}).ok());
    bool ran = false;
    cache.run_later([&](const Status& status) { ran = status.ok(); });
    EXPECT_TRUE(ran);
}

TEST_F(NoThreads, maintenance_begins_with_a_later_store_once_a_thread_can_be_had)
{
    Cache cache = open_maintained(disk_here());
    base::fail_thread_starts(1);
    put_all(cache, 1, 2, 10);
    EXPECT_TRUE(eventually("it is maintained", [&] { return m_maintained != 0; }));
}

TEST_F(NoThreads, maintenance_begins_in_memory_too_once_something_can_expire)
{
    Cache cache = open_maintained(memory(0));
    Artifact brief("brief");
    brief.expires = ManualClock::k_start + 1h;
    EXPECT_TRUE(cache.insert(numbered_key(1), std::move(brief)).ok());
    EXPECT_TRUE(eventually("it is maintained", [&] { return m_maintained != 0; }));
}

TEST_F(ThrowingCode, a_tier_that_throws_is_a_tier_that_cannot_do_its_work)
{
    const TierHooks throwing{
        .find = [](const Key&) -> std::optional<Miss> { throw std::runtime_error("find"); },
        .store = [](const Key&) -> std::optional<Error> { throw std::runtime_error("store"); },
        .peeked = [](const Key&) { throw 42; },
        .flight_tried = [](const FlightAttempt&) { throw std::runtime_error("flight"); },
        .maintain = [](std::stop_token) { throw std::runtime_error("maintain"); },
    };
    Cache cache = open(with({hooked(memory_named("top", 0), throwing), memory(0), hooked(disk_here(), throwing)}));
    const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [] { return Artifact("compiled"); });
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"memory"});
    EXPECT_EQ(cache.find(numbered_key(1)).tier(), "memory");
    EXPECT_EQ(cache.find(numbered_key(2)).why(), Miss::outage);
    admin::maintain(cache);
    EXPECT_EQ(stats_of(cache, "top").outages, 4U);
}

TEST_F(ThrowingCode, a_tier_that_throws_when_it_is_opened_is_left_out)
{
    const TierSpec broken{"broken", [](const TierContext&) -> Result<std::unique_ptr<Tier>> { throw 42; }};
    Cache cache = open(with({broken, memory(0)}));
    put(cache, 1, 10);
    EXPECT_TRUE(holds(cache, 1, 10));
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_EQ(warnings()[0], "Tier \"broken\" could not be opened: something that is no std::exception.");
}

TEST_F(ThrowingCode, what_a_visitor_throws_is_its_callers)
{
    Cache cache = open_usual();
    put(cache, 1, 10);
    EXPECT_THROW(admin::list(cache, [](const EntryRow&) -> bool { throw std::out_of_range("mine"); }),
                 std::out_of_range);
}

TEST_F(ThrowingCode, with_a_policy_that_throws_the_limits_hold)
{
    CacheOptions chosen = with({memory(MemoryOptions{.max_bytes = 0, .max_entries = 2}), disk_here()});
    chosen.policy = [] { return std::make_unique<ThrowingPolicy>(); };
    Cache cache = open(chosen);
    for (std::uint64_t i = 0; i < 4; ++i)
        put(cache, i, 10);
    EXPECT_EQ(status_of(cache, "memory").usage.entries, 2U);
    for (int round = 0; round < 4; ++round)
        for (std::uint64_t i = 0; i < 4; ++i)
            EXPECT_TRUE(holds(cache, i, 10)) << i;
    EXPECT_EQ(warnings().size(), 1U);
}

TEST_F(ThrowingCode, a_policy_that_throws_admits_nothing)
{
    CacheOptions chosen = with({memory(0)});
    chosen.policy = [] { return std::make_unique<NothingAdmitted>(); };
    Cache cache = open(chosen);
    EXPECT_EQ(cache.insert(numbered_key(1), Artifact("refused")).error().code, Code::no_space);
    EXPECT_TRUE(cache.get_or_compile(numbered_key(1), [] { return Artifact("compiled"); }).ok());
}

TEST_F(ThrowingCode, a_log_sink_that_throws_costs_the_line)
{
    CacheOptions chosen = with({hooked(memory(0), {.find = [](const Key&) { return Miss::outage; }})});
    int lines = 0;
    chosen.log = [&](LogLevel, std::string_view) {
        ++lines;
        throw std::runtime_error("no room for a line");
    };
    Cache cache = open(chosen);
    EXPECT_TRUE(cache.get_or_compile(numbered_key(1), [] { return Artifact("compiled"); }).ok());
    EXPECT_EQ(lines, 1);
}

TEST_F(ThrowingCode, a_leader_that_fails_on_its_way_lands_an_error_for_those_who_wait)
{
    BrokenClock clock;
    CacheOptions chosen = with({memory(0)});
    chosen.clock = &clock;
    Cache cache = open(chosen);
    in_threads(3, [&](std::uint64_t) {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [&] {
            wait_for_waiters(cache, 2);
            clock.is_broken = true;
            return Artifact("compiled");
        });
        EXPECT_EQ(code_of(got), Code::unavailable);
    });
    clock.is_broken = false;
    EXPECT_TRUE(cache.get_or_compile(numbered_key(1), [] { return Artifact("compiled"); }).ok());
}

}  // namespace

}  // namespace hearth::test
