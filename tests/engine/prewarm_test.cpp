#include "cache_test.hpp"
#include "engine/transport/pace.hpp"
#include "hearth/admin.hpp"
#include "hearth/bundle.hpp"
#include "hearth/prewarm.hpp"
#include "hooked_tier.hpp"
#include "support/eventually.hpp"
#include "support/forks.hpp"

#include <atomic>
#include <csignal>
#include <latch>
#include <thread>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// Tiers that are filled beforehand (52).

namespace hearth::test {

namespace {

using namespace std::chrono_literals;

std::vector<Key> numbered_keys(std::uint64_t first, std::uint64_t last)
{
    std::vector<Key> keys;
    for (std::uint64_t number = first; number <= last; ++number)
        keys.push_back(numbered_key(number));
    return keys;
}

class Prewarming : public CacheTest {
protected:
    // On the disk alone, by a cache that is closed again.
    void put_on_disk(std::uint64_t first, std::uint64_t last, std::size_t size)
    {
        Cache cache = open({disk_here()});
        put_all(cache, first, last, size);
    }
    // One that rests for hours after its first entry, and has brought that.
    static Prewarm resting(Cache& cache)
    {
        Prewarm handle = prewarm(cache, numbered_keys(1, 3), {.bytes_per_second = 1});
        EXPECT_TRUE(eventually("the first has come", [&] { return handle.report().done != 0; }));
        return handle;
    }
    // To its end, which it must come to.
    static PrewarmReport finished(Prewarm prewarm)
    {
        prewarm.wait();
        PrewarmReport report = prewarm.report();
        EXPECT_TRUE(report.finished);
        EXPECT_FALSE(report.stopped);
        EXPECT_EQ(report.done, report.total);
        EXPECT_EQ(report.filled + report.already_there + report.absent + report.no_room + report.refused, report.done);
        return report;
    }
    // To its end, which is not the one that was wanted; the sentence that says why.
    static std::string refused(Prewarm prewarm)
    {
        prewarm.wait();
        const PrewarmReport report = prewarm.report();
        EXPECT_TRUE(report.stopped);
        EXPECT_FALSE(report.finished);
        EXPECT_EQ(report.done, 0U);
        EXPECT_EQ(report.problems.size(), 1U);
        return report.problems.empty() ? "" : report.problems.front();
    }
    static bool says(const PrewarmReport& report, std::string_view text)
    {
        return report.problems.size() == 1 && report.problems.front().find(text) != std::string::npos;
    }
};

TEST_F(Prewarming, afterwards_every_lookup_is_a_hit_in_memory)
{
    put_on_disk(1, 20, 1000);
    Cache cache = open_usual();
    const PrewarmReport report = finished(prewarm(cache, numbered_keys(1, 21)));
    EXPECT_EQ(report.total, 21U);
    EXPECT_EQ(report.filled, 20U);
    EXPECT_EQ(report.absent, 1U);
    EXPECT_EQ(report.bytes, status_of(cache, "memory").usage.bytes);
    EXPECT_GT(report.bytes_read, 20'000U);
    EXPECT_TRUE(report.problems.empty());
    EXPECT_EQ(cache.stats().lookups(), 0U) << "it is no lookup";
    EXPECT_EQ(admin::info(cache, numbered_key(1))->uses, 0U) << "nor a use";
    for (std::uint64_t number = 1; number <= 20; ++number) {
        EXPECT_EQ(cache.find(numbered_key(number)).tier(), "memory");
        EXPECT_TRUE(holds(cache, number, 1000));
    }
    const PrewarmReport again = finished(prewarm(cache, numbered_keys(1, 20)));
    EXPECT_EQ(again.already_there, 20U);
    EXPECT_EQ(again.bytes, 0U);
}

TEST_F(Prewarming, the_order_is_the_given_one)
{
    put_on_disk(1, 5, 100);
    std::vector<Key> peeked;  // by the one thread, and read when it has ended
    Cache cache = open({memory(0), hooked(disk_here(), {.peeked = [&](const Key& key) { peeked.push_back(key); }})});
    const std::vector<Key> keys{numbered_key(4), numbered_key(1), numbered_key(5), numbered_key(2)};
    EXPECT_EQ(finished(prewarm(cache, keys)).filled, 4U);
    EXPECT_EQ(peeked, keys);
}

TEST_F(Prewarming, what_is_there_never_has_to_go_and_a_smaller_entry_still_fits)
{
    put_on_disk(1, 10, 100);
    put_on_disk(11, 11, 20);
    Cache cache = open({memory(350), disk_here()});
    put(cache, 100, 100, "memory");
    const PrewarmReport report = finished(prewarm(cache, numbered_keys(1, 11)));
    EXPECT_EQ(report.filled, 3U);
    EXPECT_EQ(report.no_room, 8U);
    EXPECT_EQ(report.bytes, 220U);
    for (const std::uint64_t number : {100, 1, 2, 11})
        EXPECT_EQ(cache.find(numbered_key(number)).tier(), "memory") << number;
    Cache few = open({memory(MemoryOptions{.max_bytes = 0, .max_entries = 2}), disk_here()});
    EXPECT_EQ(finished(prewarm(few, numbered_keys(1, 4))).no_room, 2U);
    EXPECT_TRUE(evictions().empty());
}

TEST_F(Prewarming, it_stops_at_max_bytes)
{
    put_on_disk(1, 10, 100);
    Cache cache = open_usual();
    put(cache, 9, 100);
    const PrewarmReport report = finished(prewarm(cache, numbered_keys(1, 10), {.max_bytes = 350}));
    EXPECT_EQ(report.filled, 3U);
    EXPECT_EQ(report.already_there, 1U);
    EXPECT_EQ(report.no_room, 6U);
    EXPECT_EQ(report.bytes, 300U);
}

TEST_F(Prewarming, a_disk_is_filled_from_a_bundle_with_the_bytes_and_signatures_it_has)
{
    const SigningKey signer = SigningKey::generate().value();
    make_bundle(1, 5, 20'000, "kernels.bundle", &signer);
    Cache cache = open_usual();
    const PrewarmReport report = finished(prewarm(cache, bundle(bundle_file()), {.tier = "disk"}));
    EXPECT_EQ(report.total, 5U);
    EXPECT_EQ(report.filled, 5U);
    EXPECT_EQ(report.bytes, status_of(cache, "disk").usage.bytes);
    EXPECT_EQ(status_of(cache, "memory").usage.entries, 0U);
    const std::string whole = read_file(bundle_file());
    for (std::uint64_t number = 1; number <= 5; ++number) {
        EXPECT_NE(whole.find(read_file(file_of(numbered_key(number)))), std::string::npos);
        EXPECT_TRUE(holds(cache, number, 20'000));
    }
    EXPECT_EQ(finished(prewarm(cache, bundle(bundle_file()), {.tier = "disk"})).already_there, 5U);
}

TEST_F(Prewarming, for_a_disk_bytes_of_a_bundle_come_before_what_memory_has_unpacked)
{
    const SigningKey signer = SigningKey::generate().value();
    Cache cache = open({memory(0), disk_here(), bundle(make_bundle(1, 1, 100, "kernels.bundle", &signer))});
    ASSERT_EQ(admin::promote(cache, numbered_key(1)).to, "memory");
    put(cache, 2, 100, "memory");
    EXPECT_EQ(finished(prewarm(cache, numbered_keys(1, 2), {.tier = "disk"})).filled, 2U);
    EXPECT_NE(read_file(bundle_file()).find(read_file(file_of(numbered_key(1)))), std::string::npos);
    admin::clear_memory(cache);
    EXPECT_EQ(cache.find(numbered_key(2)).tier(), "disk");
}

TEST_F(Prewarming, a_damaged_entry_of_a_bundle_is_refused_and_the_rest_arrives)
{
    damage(make_bundle(1, 3, 1000), 100);  // in the last entry
    Cache cache = open_usual();
    const PrewarmReport report = finished(prewarm(cache, bundle(bundle_file()), {.tier = "disk"}));
    EXPECT_EQ(report.filled, 2U);
    EXPECT_EQ(report.refused, 1U);
    EXPECT_TRUE(says(report, "is corrupt; it was not taken")) << report.problems.size();
    EXPECT_EQ(status_of(cache, "disk").usage.entries, 2U);
    EXPECT_EQ(admin::verify(cache, Repair::no).corrupt, 0U);
}

TEST_F(Prewarming, a_damaged_entry_where_it_is_to_be_is_replaced)
{
    put_on_disk(1, 2, 100);
    write_file(file_of(numbered_key(1)), "damaged");
    Cache cache = open({disk_here(), bundle(make_bundle(1, 2, 100))});
    const PrewarmReport report = finished(prewarm(cache, numbered_keys(1, 2)));
    EXPECT_EQ(report.filled, 1U);
    EXPECT_EQ(report.already_there, 1U);
    EXPECT_EQ(cache.find(numbered_key(1)).tier(), "disk");
}

TEST_F(Prewarming, where_signatures_are_demanded_only_those_that_count_are_taken)
{
    const SigningKey signer = SigningKey::generate().value();
    const TierSpec source = bundle(make_bundle(1, 2, 100, "kernels.bundle", &signer));
    DiskOptions strict{.directory = directory()};
    strict.trust = {.signatures = Signatures::demanded, .trusted = {SigningKey::generate().value().public_key()}};
    Cache distrusting = open({disk(strict)});
    EXPECT_EQ(finished(prewarm(distrusting, source)).refused, 2U);
    EXPECT_EQ(status_of(distrusting, "disk").usage.entries, 0U);
    strict.trust.trusted = {signer.public_key()};
    Cache cache = open({disk(strict)});
    EXPECT_EQ(finished(prewarm(cache, source)).filled, 2U);
}

TEST_F(Prewarming, an_entry_that_is_too_old_for_the_tier_is_refused)
{
    Cache cache = open({disk(DiskOptions{.directory = directory(), .max_age = 1h})});
    const TierSpec source = bundle(make_bundle(1, 1, 100));
    m_clock.advance(2h);
    EXPECT_EQ(finished(prewarm(cache, source)).refused, 1U);
}

TEST_F(Prewarming, the_hottest_come_first)
{
    {
        Cache cache = open({disk_here()});
        put_all(cache, 1, 10, 100);
        for (std::uint64_t uses = 1; uses <= 3; ++uses)
            for (std::uint64_t number = 4; number < 4 + uses; ++number)
                EXPECT_TRUE(holds(cache, number, 100));
    }
    std::vector<Key> peeked;  // by the one thread, and read when it has ended
    Cache cache = open({memory(0), hooked(disk_here(), {.peeked = [&](const Key& key) { peeked.push_back(key); }})});
    EXPECT_EQ(finished(prewarm_hottest(cache, 3)).filled, 3U);
    EXPECT_EQ(peeked, numbered_keys(4, 6));
    EXPECT_EQ(status_of(cache, "memory").usage.entries, 3U);
    EXPECT_EQ(finished(prewarm_hottest(cache, 0)).total, 0U);
}

TEST_F(Prewarming, stopped_on_the_way_it_leaves_the_rest)
{
    put_on_disk(1, 10, 100);
    std::latch third(1);
    std::latch go_on(1);
    const auto hold = [&](const Key& key) {
        if (key == numbered_key(3)) {
            third.count_down();
            go_on.wait();
        }
    };
    Cache cache = open({memory(0), hooked(disk_here(), {.peeked = hold})});
    Prewarm handle = prewarm(cache, numbered_keys(1, 10));
    third.wait();
    EXPECT_EQ(handle.report().done, 2U) << "figures are there while it works";
    EXPECT_EQ(handle.report().total, 10U);
    EXPECT_FALSE(handle.wait_for(0ms));
    handle.stop();
    go_on.count_down();
    handle.wait();
    EXPECT_TRUE(handle.wait_for(0ms));
    const PrewarmReport report = handle.report();
    EXPECT_TRUE(report.stopped);
    EXPECT_FALSE(report.finished);
    EXPECT_EQ(report.filled, 3U) << "the one on its way arrives";
    EXPECT_EQ(status_of(cache, "memory").usage.entries, 3U);
}

TEST_F(Prewarming, a_handles_end_and_another_in_its_place_stop_it)
{
    put_on_disk(1, 3, 100);
    Cache cache = open_usual();
    // At this rate the second would come in a minute and more.
    const PrewarmOptions slow{.bytes_per_second = 1};
    {
        Prewarm handle = prewarm(cache, numbered_keys(1, 3), slow);
        handle = prewarm(cache, numbered_keys(1, 3), slow);
        Prewarm moved = std::move(handle);
        EXPECT_FALSE(moved.report().finished);
        EXPECT_EQ(Prewarm().report().total, 0U);
    }
    EXPECT_LE(status_of(cache, "memory").usage.entries, 2U);
}

TEST_F(Prewarming, after_one_entry_it_rests_as_long_as_the_rate_says)
{
    put_on_disk(1, 3, 10'000);
    Cache cache = open_usual();
    Prewarm handle = resting(cache);
    handle.stop();
    handle.wait();
    EXPECT_EQ(handle.report().done, 1U) << "the next was hours away";
    EXPECT_TRUE(handle.report().stopped);
    EXPECT_EQ(finished(prewarm(cache, numbered_keys(1, 3), {.bytes_per_second = 1'000'000'000})).filled, 2U);
}

TEST(Pace, bytes_take_the_time_that_the_rate_gives_them)
{
    const engine::Pace::Time start{100s};
    engine::Pace pace(1000);
    EXPECT_LE(pace.next(), start);
    pace.add(500, start);
    EXPECT_EQ(pace.next(), start + 500ms);
    pace.add(2000, start + 500ms);
    EXPECT_EQ(pace.next(), start + 2500ms);
    pace.add(0, start + 2500ms);
    EXPECT_EQ(pace.next(), start + 2500ms);
    pace.add(1000, start + 60s);
    EXPECT_EQ(pace.next(), start + 61s) << "what was not read for a minute is not made up for";
    pace.add(~std::uint64_t{0}, start + 61s);
    EXPECT_EQ(pace.next(), start + 61s + 24h);
    engine::Pace free(0);
    free.add(1'000'000, start);
    EXPECT_LE(free.next(), start);
}

TEST_F(Prewarming, it_takes_only_what_nobody_else_wants_unless_told_otherwise)
{
    put_on_disk(1, 1, 100);
    std::atomic<int> nice{-1};
    std::atomic<long> io{-1};
    std::atomic<bool> takes_signals{true};
    const auto look = [&](const Key&) {
        nice = ::getpriority(PRIO_PROCESS, 0);
        io = ::syscall(SYS_ioprio_get, 1, 0) >> 13;
        sigset_t blocked;
        ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        takes_signals = sigismember(&blocked, SIGTERM) == 0;
    };
    Cache cache = open({memory(0), hooked(disk_here(), {.peeked = look})});
    const int mine = ::getpriority(PRIO_PROCESS, 0);
    finished(prewarm(cache, numbered_keys(1, 1), {.priority = Priority::usual}));
    EXPECT_EQ(nice, mine);
    admin::clear_memory(cache);
    finished(prewarm(cache, numbered_keys(1, 1)));
    EXPECT_EQ(nice, 19);
    EXPECT_EQ(io, 3);
    EXPECT_FALSE(takes_signals) << "those are the program's";
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), mine) << "this thread is not its thread";
}

TEST_F(Prewarming, a_cache_that_closes_first_ends_it)
{
    put_on_disk(1, 3, 10'000);
    Prewarm slow;
    Prewarm quick;
    {
        Cache cache = open_usual();
        slow = resting(cache);
        quick = prewarm(cache, numbered_keys(1, 1), {.tier = "disk"});
        quick.wait();
    }
    EXPECT_TRUE(slow.wait_for(0ms));
    EXPECT_TRUE(slow.report().stopped);
    EXPECT_EQ(slow.report().filled, 1U);
    EXPECT_TRUE(quick.report().finished);
    slow.stop();
    slow.wait();
}

// A crash, a hang or a sanitizer says that they did not.
TEST_F(Prewarming, a_cache_and_a_handle_that_end_at_the_same_time_agree)
{
    put_on_disk(1, 3, 100);
    for (int round = 0; round < 20; ++round) {
        auto cache = std::make_unique<Cache>(open_usual());
        auto handle = std::make_unique<Prewarm>(prewarm(*cache, numbered_keys(1, 3), {.bytes_per_second = 1}));
        const std::jthread other([&] { handle.reset(); });
        cache.reset();
    }
}

TEST_F(Prewarming, a_cache_may_be_moved_while_it_works)
{
    put_on_disk(1, 50, 1000);
    Cache cache = open_usual();
    Prewarm handle = prewarm(cache, numbered_keys(1, 50));
    Cache moved = std::move(cache);
    EXPECT_EQ(finished(std::move(handle)).filled, 50U);
    EXPECT_EQ(moved.find(numbered_key(50)).tier(), "memory");
}

TEST_F(Prewarming, a_forked_child_has_a_handle_that_says_stopped)
{
    SKIP_FORKS_WITH_THREADS();
    put_on_disk(1, 3, 10'000);
    Cache cache = open_usual();
    std::optional<Prewarm> slow = resting(cache);
    std::optional<Prewarm> over = prewarm(cache, numbered_keys(1, 1), {.tier = "disk"});
    over->wait();
    EXPECT_TRUE(in_child([&] {
        slow->wait();
        bool right = slow->wait_for(1h) && slow->report().stopped && slow->report().filled == 1;
        right = right && over->report().finished && !over->report().stopped;
        slow->stop();
        slow.reset();
        over.reset();
        Prewarm again = prewarm(cache, numbered_keys(1, 3));
        again.wait();
        return right && again.report().finished && again.report().filled == 2;
    }));
    EXPECT_FALSE(slow->wait_for(0ms)) << "the parent's goes on";
}

TEST_F(Prewarming, a_child_that_leaves_with_a_handle_and_a_cache_open_ends_both)
{
    SKIP_FORKS_WITH_THREADS();
    put_on_disk(1, 3, 10'000);
    std::optional<Cache> cache = open_usual();
    std::optional<Prewarm> slow = prewarm(*cache, numbered_keys(1, 3), {.bytes_per_second = 1});
    EXPECT_TRUE(in_child([&] {
        cache.reset();
        slow.reset();
        return true;
    }));
}

TEST_F(Prewarming, a_tier_that_is_not_there_or_not_ours_to_fill_is_said)
{
    put_on_disk(1, 1, 100);
    Cache cache = open({memory(0), disk_here(), remote("redis://127.0.0.1:1")});
    EXPECT_EQ(refused(prewarm(cache, numbered_keys(1, 1), {.tier = "dsik"})),
              "There is no tier \"dsik\" to fill. There is: memory, disk, redis.");
    EXPECT_NE(refused(prewarm(cache, numbered_keys(1, 1), {.tier = "redis"})).find("hearth push"), std::string::npos);
    CacheOptions off = options();
    off.caching = Switch::off;
    Cache none = open(off);
    EXPECT_NE(refused(prewarm(none, numbered_keys(1, 1))).find("none can be written"), std::string::npos);
}

TEST_F(Prewarming, a_tier_that_is_only_read_is_read_and_checked)
{
    put_on_disk(1, 3, 100);
    write_file(file_of(numbered_key(3)), "damaged");
    const DiskOptions only_read{.directory = directory(), .access = Access::read_only};
    Cache cache = open({disk(only_read), bundle(make_bundle(4, 4, 100))});
    const PrewarmReport report = finished(prewarm(cache, numbered_keys(1, 4), {.tier = "disk"}));
    EXPECT_EQ(report.already_there, 2U);
    EXPECT_EQ(report.refused, 2U);
    ASSERT_EQ(report.problems.size(), 2U);
    EXPECT_NE(report.problems[0].find("is corrupt"), std::string::npos);
    EXPECT_EQ(report.problems[1], "Tier \"disk\" is read-only: what it lacks cannot be brought there.");
    EXPECT_EQ(report.bytes, 0U);
    EXPECT_GT(report.bytes_read, 200U);
    EXPECT_NE(refused(prewarm(cache, numbered_keys(1, 4))).find("none can be written"), std::string::npos);
}

TEST_F(Prewarming, a_source_that_cannot_be_opened_is_said)
{
    Cache cache = open_usual();
    write_file(bundle_file("text"), "not a bundle");
    for (const std::string& path : {bundle_file("missing"), bundle_file("text")})
        EXPECT_NE(refused(prewarm(cache, bundle(path))).find(path), std::string::npos);
    EXPECT_FALSE(refused(prewarm(cache, remote("redis://127.0.0.1:1"))).empty());
}

TEST_F(Prewarming, a_server_that_does_not_answer_costs_what_only_it_has)
{
    put_on_disk(1, 1, 100);
    Cache cache = open({memory(0), disk_here(), remote("redis://127.0.0.1:1")});
    const PrewarmReport report = finished(prewarm(cache, numbered_keys(1, 10)));
    EXPECT_EQ(report.filled, 1U);
    EXPECT_EQ(report.absent, 9U);
    EXPECT_TRUE(says(report, "\"redis\" does not answer")) << report.problems.size();
}

TEST_F(Prewarming, a_tier_that_fails_to_store_is_said_once)
{
    put_on_disk(1, 3, 100);
    const auto fail = [](const Key&) { return Error{Code::io, "The tier is on fire.", {}}; };
    Cache cache = open({hooked(memory(0), {.store = fail}), disk_here()});
    const PrewarmReport report = finished(prewarm(cache, numbered_keys(1, 3)));
    EXPECT_EQ(report.refused, 3U);
    EXPECT_TRUE(says(report, "on fire"));
}

}  // namespace

}  // namespace hearth::test
