#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "hooked_tier.hpp"
#include "support/threads.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <semaphore>

#include <unistd.h>

// What outlives the process, as the cache shows it: restart, metadata, clearing, collecting, verifying, maintenance,
// and directories that cannot be used (25, 30, 32, 33, 36, 38, 39).

namespace hearth::test {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Persistence : public CacheTest {
protected:
    Cache background(const TierHooks& hooks, std::chrono::milliseconds interval)
    {
        CacheOptions chosen = with({hooked(disk_here(), hooks)});
        chosen.maintenance = Maintenance::background;
        chosen.maintenance_interval = interval;
        return open(chosen);
    }
    // Memory over a directory that cannot be used: the program does not notice.
    void expect_memory_works(const std::string& unusable)
    {
        SCOPED_TRACE(unusable);
        const std::size_t said = warnings().size();
        CacheOptions chosen = options();
        chosen.directory = unusable;
        Cache cache = open(chosen);
        for (std::uint64_t number = 1; number <= 3; ++number) {
            put(cache, number, 10);
            EXPECT_TRUE(holds(cache, number, 10));
            EXPECT_TRUE(cache.get_or_compile(numbered_key(100 + number), [] { return "made"; }).ok());
        }
        cache.flush();
        admin::maintain(cache);
        EXPECT_EQ(cache.stats().compiles, 3U);
        EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"memory"});
        ASSERT_EQ(warnings().size(), said + 1) << "said, and said once";
        EXPECT_NE(warnings().back().find(unusable), std::string::npos) << warnings().back();
        EXPECT_NE(warnings().back().find("HEARTH_DIR"), std::string::npos) << warnings().back();
    }
};

TEST_F(Persistence, survives_a_restart_with_zero_makes)
{
    const auto bytes_of = [](std::uint64_t number) { return sample_bytes(numbered_key(number), 100 * number); };
    {
        Cache cache = open_usual();
        for (std::uint64_t number = 0; number < 50; ++number)
            ASSERT_TRUE(cache.get_or_compile(numbered_key(number), [&] { return bytes_of(number); }).ok());
    }
    Cache later = open_usual();
    for (std::uint64_t number = 0; number < 50; ++number) {
        const Result<Lookup> got = later.get_or_compile(numbered_key(number), [] { return "made again"; });
        EXPECT_EQ(text_of(got), bytes_of(number).text());
        EXPECT_EQ(got->tier(), "disk");
    }
    EXPECT_EQ(later.stats().compiles, 0U);
    EXPECT_EQ(later.stats().hits, 50U);
}

TEST_F(Persistence, rows_name_the_exact_compiler_as_the_request_does)
{
    const Request request =
        KeyBuilder("test").text("linker build", "ab12").text("compiler build", "cd34").text("source", "k").build();
    const auto build_of = [&](Cache& cache) {
        std::string build;
        admin::list(cache, [&](const EntryRow& row) {
            build = row.compiler_build;
            return true;
        });
        EXPECT_EQ(admin::info(cache, request)->compiler_build, build);
        return build;
    };
    {
        Cache cache = open_usual();
        ASSERT_TRUE(cache.insert(request, Artifact("code")).ok());
        EXPECT_EQ(build_of(cache), "ab12 cd34") << "in memory";
    }
    Cache cache = open_usual();
    EXPECT_EQ(build_of(cache), "ab12 cd34") << "on the disk";
    put(cache, 1, 10);
    EXPECT_EQ(admin::info(cache, numbered_key(1))->compiler_build, "") << "only its key is known";
}

TEST_F(Persistence, who_wrote_an_entry_first_stays_known)
{
    Cache cache = open_usual();
    Artifact artifact("of another version");
    artifact.metadata.writer = "0.1.9";
    ASSERT_TRUE(cache.insert(numbered_key(1), artifact).ok());
    const Result<Lookup> compiled = cache.get_or_compile(numbered_key(2), [] { return "compiled"; });
    ASSERT_TRUE(compiled.ok());
    EXPECT_EQ((*compiled)->metadata.writer, HEARTH_VERSION);
    admin::clear_memory(cache);
    EXPECT_EQ(cache.find(numbered_key(1))->metadata.writer, "0.1.9");
    EXPECT_EQ(cache.find(numbered_key(2))->metadata.writer, HEARTH_VERSION);
}

TEST_F(Persistence, an_open_cache_tells_its_directory)
{
    EXPECT_EQ(open_usual().directory(), directory());
    EXPECT_EQ(open({memory(0)}).directory(), "");
    EXPECT_EQ(open({disk("beside")}).directory(), (fs::current_path() / "beside").string()) << "absolute";
}

TEST_F(Persistence, clear_memory_keeps_the_disk_and_clear_clears_all)
{
    Cache cache = open({memory_named("fast", 0), memory_named("slow", 0), disk_here()});
    put(cache, 1, 10);
    put(cache, 2, 10, "slow");
    admin::clear_memory(cache);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"disk"});
    EXPECT_TRUE(admin::where(cache, numbered_key(2)).empty());
    EXPECT_TRUE(holds(cache, 1, 10));
    EXPECT_EQ(status_of(cache, "fast").usage.bytes, 0U);
    EXPECT_EQ(status_of(cache, "slow").usage.entries, 0U);
    put(cache, 3, 10);
    admin::clear(cache);
    for (const TierStatus& tier : admin::tiers(cache)) {
        EXPECT_EQ(tier.usage.bytes, 0U) << tier.name;
        EXPECT_EQ(tier.usage.entries, 0U) << tier.name;
    }
    EXPECT_FALSE(cache.find(numbered_key(1)).hit());
    EXPECT_FALSE(fs::exists(file_of(numbered_key(1))));
    EXPECT_TRUE(evictions().empty()) << "what was cleared was not evicted";
    put(cache, 1, 10);
    EXPECT_TRUE(holds(cache, 1, 10));
}

TEST_F(Persistence, gc_by_bytes_or_entries_keeps_what_was_used_last_and_leaves_memory_alone)
{
    Cache cache = open_usual();
    put_all(cache, 1, 10, 1000);
    const std::uint64_t each = status_of(cache, "disk").usage.bytes / 10;
    admin::clear_memory(cache);
    EXPECT_TRUE(holds(cache, 1, 1000));
    put(cache, 11, 10, "memory");
    EXPECT_EQ(admin::gc(cache, {}).removed_entries, 0U);
    const GcReport report = admin::gc(cache, {.max_bytes = 3 * each});
    EXPECT_EQ(report.removed_entries, 7U);
    EXPECT_EQ(report.removed_bytes, 7 * each);
    EXPECT_EQ(report.left.entries, 3U);
    EXPECT_EQ(report.left.bytes, 3 * each);
    EXPECT_EQ(evictions().size(), 7U);
    EXPECT_EQ(admin::gc(cache, {.max_entries = 2}).removed_entries, 1U);
    for (const std::uint64_t number : {1U, 10U})
        EXPECT_TRUE(holds(cache, number, 1000)) << number;
    EXPECT_EQ(status_of(cache, "disk").limits, Limits{}) << "for this run only";
    put(cache, 12, 5000);
    EXPECT_TRUE(holds(cache, 12, 5000));
    EXPECT_EQ(admin::gc(cache, {.max_entries = 0}).removed_entries, 3U);
    put(cache, 13, 100);
    const GcReport all = admin::gc(cache, {.max_bytes = 0});
    EXPECT_EQ(all.removed_entries, 1U);
    EXPECT_EQ(all.left.entries + all.left.bytes, 0U);
    for (const std::uint64_t number : {11U, 12U, 13U})
        EXPECT_EQ(admin::where(cache, numbered_key(number)), Names{"memory"}) << "memory is the program's own";
}

TEST_F(Persistence, gc_goes_down_to_a_limit_that_was_lowered_while_the_cache_was_closed_and_never_raises_one)
{
    {
        Cache cache = open({disk_here()});
        put_all(cache, 1, 5, 1000);
    }
    Cache cache = open({disk(DiskOptions{.directory = directory(), .max_bytes = 0, .max_entries = 2})});
    EXPECT_EQ(status_of(cache, "disk").usage.entries, 5U);
    EXPECT_EQ(admin::would_gc(cache, {}).size(), 3U);
    EXPECT_EQ(admin::gc(cache, {.max_entries = 4}).removed_entries, 3U) << "the lower of the two";
    EXPECT_EQ(admin::gc(cache, {.max_entries = 100}).removed_entries, 0U);
    put(cache, 6, 100);
    EXPECT_EQ(status_of(cache, "disk").usage.entries, 2U);
}

// 33
TEST_F(Persistence, what_gc_would_remove_is_said_with_its_reason_and_stays)
{
    using Why = GcCandidate::Why;
    Cache cache = open({disk_here()});
    Artifact brief("short-lived");
    brief.expires = m_clock.now() + 1h;
    brief.metadata.label = "brief";
    ASSERT_TRUE(cache.insert(numbered_key(1), brief).ok());
    const auto insert = [&](std::uint64_t number) {
        ASSERT_TRUE(cache.insert(numbered_key(number), Artifact("code")).ok());
    };
    insert(2);
    m_clock.advance(2h);
    for (std::uint64_t number = 3; number <= 6; ++number)
        insert(number);
    EXPECT_TRUE(cache.find(numbered_key(3)));

    const std::vector<GcCandidate> would_go = admin::would_gc(cache, {.max_entries = 3, .unused_for = 1h});
    ASSERT_EQ(would_go.size(), 3U);
    EXPECT_EQ(would_go[0].entry.key, numbered_key(1));
    EXPECT_EQ(would_go[0].entry.metadata.label, "brief");
    EXPECT_EQ(would_go[0].why, Why::expired);
    EXPECT_EQ(would_go[1].entry.key, numbered_key(2));
    EXPECT_EQ(would_go[1].why, Why::unused);
    EXPECT_EQ(would_go[2].entry.key, numbered_key(4)) << "used longest ago";
    EXPECT_EQ(would_go[2].why, Why::over_limit);
    EXPECT_EQ(status_of(cache, "disk").usage.entries, 6U);
    EXPECT_TRUE(evictions().empty());

    EXPECT_EQ(admin::gc(cache, {.max_entries = 3, .unused_for = 1h}).removed_entries, 3U);
    for (const std::uint64_t number : {3U, 5U, 6U})
        EXPECT_TRUE(cache.find(numbered_key(number))) << number;
    EXPECT_TRUE(admin::would_gc(cache, {}).empty());
}

TEST_F(Persistence, gc_removes_what_nobody_used_for_a_while)
{
    // What memory answers the disk must hear of, also when a count is too high to grow.
    for (const int uses : {0, 1, 300}) {
        Cache cache = open_usual();
        admin::clear(cache);
        put_all(cache, 1, 2, 100);
        for (int use = 0; use < uses; ++use)
            EXPECT_TRUE(holds(cache, 1, 100));
        cache.flush();
        m_clock.advance(10h);
        ASSERT_TRUE(cache.insert(numbered_key(3), Artifact("new")).ok());
        EXPECT_TRUE(holds(cache, 1, 100));
        const GcReport report = admin::gc(cache, {.unused_for = 1h});
        EXPECT_EQ(report.removed_entries, 1U) << uses;
        EXPECT_EQ(report.left.entries, 2U);
        admin::clear_memory(cache);
        EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"disk"});
        EXPECT_EQ(admin::where(cache, numbered_key(2)), Names{});
        EXPECT_EQ(admin::where(cache, numbered_key(3)), Names{"disk"});
    }
}

TEST_F(Persistence, gc_stops_when_its_progress_says_so)
{
    Cache cache = open({disk_here()});
    put_all(cache, 1, 200, 10);
    m_clock.advance(10h);
    const GcReport report = admin::gc(cache, {.max_entries = 1}, [](auto, auto) { return false; });
    EXPECT_EQ(report.removed_entries, 1U);
    EXPECT_EQ(report.left.entries, 199U);
    int told = 0;
    admin::gc(cache, {.unused_for = 1h}, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_LE(done, total);
        ++told;
        return false;
    });
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(admin::verify(cache, Repair::no).accounting_exact);
}

TEST_F(Persistence, verify_finds_and_repairs_damage_in_every_tier_and_tells_how_far_it_is)
{
    Cache cache = open_usual();
    put_all(cache, 1, 5, 500);
    damage(file_of(numbered_key(2)));
    write_file(file_of(numbered_key(3)), "cut");
    std::uint64_t last = 0;
    const VerifyReport found = admin::verify(cache, Repair::no, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_LE(done, total);
        last = done;
        return true;
    });
    EXPECT_EQ(last, 5U);
    EXPECT_EQ(found.checked, 10U);
    EXPECT_EQ(found.intact, 8U);
    EXPECT_EQ(found.corrupt, 2U);
    EXPECT_EQ(found.removed, 0U);
    EXPECT_TRUE(std::any_of(found.problems.begin(), found.problems.end(), [](const std::string& problem) {
        return problem.find(numbered_key(2).hex()) != std::string::npos;
    }));
    EXPECT_EQ(admin::verify(cache, Repair::yes).removed, 2U);
    const VerifyReport after = admin::verify(cache, Repair::no);
    EXPECT_EQ(after.checked, 8U);
    EXPECT_EQ(after.intact, 8U);
    EXPECT_TRUE(after.accounting_exact);
    EXPECT_TRUE(after.problems.empty());
}

TEST_F(Persistence, maintenance_evicts_what_has_expired_and_says_so_and_demotes_none_of_it)
{
    Cache cache = open_usual();
    Artifact brief("short-lived");
    brief.expires = ManualClock::k_start + 10s;
    ASSERT_TRUE(cache.insert(numbered_key(1), brief).ok());
    ASSERT_TRUE(cache.insert(numbered_key(3), brief, {.tier = "memory"}).ok());
    put(cache, 2, 10);
    admin::maintain(cache);
    EXPECT_TRUE(evictions().empty());
    m_clock.advance(10s);
    admin::maintain(cache);
    for (const std::uint64_t number : {1, 3})
        EXPECT_EQ(admin::where(cache, numbered_key(number)), Names{});
    EXPECT_EQ(admin::where(cache, numbered_key(2)), (Names{"memory", "disk"}));
    ASSERT_EQ(evictions().size(), 3U) << "once a tier";
    for (const Eviction& eviction : evictions()) {
        EXPECT_NE(eviction.key, numbered_key(2));
        EXPECT_EQ(eviction.cause, EvictionCause::age);
        EXPECT_EQ(eviction.demoted_to, "");
    }
    EXPECT_EQ(cache.stats().evictions(), 3U);
}

TEST_F(Persistence, maintenance_that_is_due_never_takes_no_thread)
{
    const std::set<std::string> before = threads();
    Cache never = background({}, 0ms);
    put(never, 1, 10);
    EXPECT_EQ(threads_since(before).size(), 0U);
    Cache hourly = background({}, 1h);
    put(hourly, 1, 10);
    EXPECT_EQ(threads_since(before).size(), 1U);
}

TEST_F(Persistence, closing_does_not_wait_for_the_next_maintenance)
{
    std::atomic<int> maintained{0};
    {
        Cache cache = background({.maintain = [&](const std::stop_token&) { ++maintained; }}, 24h);
        put(cache, 1, 10);  // which starts the thread that sleeps for a day
    }
    EXPECT_EQ(maintained, 0) << "closing brought the next maintenance forward instead of leaving it out";
    Cache later = open_usual();
    EXPECT_TRUE(holds(later, 1, 10));
}

TEST_F(Persistence, closing_stops_maintenance_that_is_running)
{
    std::binary_semaphore running(0);
    std::atomic<bool> stopped{false};
    const auto maintain = [&](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        running.release();
        wake.wait(lock, stop, [] { return false; });
        stopped = stop.stop_requested();
    };
    {
        Cache cache = background({.maintain = maintain}, 1ms);
        put(cache, 1, 10);
        running.acquire();
    }
    EXPECT_TRUE(stopped);
    Cache later = open_usual();
    EXPECT_TRUE(holds(later, 1, 10));
}

TEST_F(Persistence, a_directory_that_cannot_be_used_is_never_fatal)
{
    write_file(m_scratch / "occupied", "not a directory");
    for (const std::string& unusable : {m_scratch / "occupied", m_scratch / "occupied/below/it"})
        expect_memory_works(unusable);
    expect_memory_works("/proc/self/hearth");
    EXPECT_EQ(read_file(m_scratch / "occupied"), "not a directory");
}

TEST_F(Persistence, another_users_directory_is_refused_unless_shared)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give a directory to another user";
    fs::create_directory(directory());
    ASSERT_EQ(::chown(directory().c_str(), 12345, 12345), 0);
    expect_memory_works(directory());
    CacheOptions shared = options();
    shared.users = Users::many;
    Cache cache = open(shared);
    EXPECT_EQ(put(cache, 1, 10).tiers, (Names{"memory", "disk"}));
}

TEST_F(Persistence, a_read_only_cache_changes_nothing)
{
    {
        Cache filler = open_usual();
        put_all(filler, 1, 2, 100);
    }
    damage(file_of(numbered_key(2)));
    const auto before = snapshot(directory());
    CacheOptions reading = options();
    reading.access = Access::read_only;
    {
        Cache cache = open(reading);
        for (int i = 0; i < 5; ++i)
            EXPECT_TRUE(holds(cache, 1, 100));
        EXPECT_EQ(cache.find(numbered_key(2)).why(), Miss::corrupt);
        EXPECT_EQ(put(cache, 3, 100).tiers, Names{"memory"});
        EXPECT_TRUE(cache.get_or_compile(numbered_key(4), [] { return "made"; }).ok());
        EXPECT_FALSE(cache.remove(numbered_key(1)) && admin::where(cache, numbered_key(1)).empty());
        admin::gc(cache, {.max_bytes = 0});
        admin::verify(cache, Repair::yes);
        admin::maintain(cache);
        admin::clear(cache);
        admin::reset_stats(cache);
    }
    EXPECT_EQ(snapshot(directory()), before);
}

}  // namespace

}  // namespace hearth::test
