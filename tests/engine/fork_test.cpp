#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "hooked_tier.hpp"
#include "support/forks.hpp"
#include "support/scale.hpp"

#include <atomic>
#include <filesystem>
#include <thread>
#include <tuple>

#include <unistd.h>

// A host program forks when it likes: parent and child both go on, and nothing is counted twice.

namespace hearth::test {

namespace {

class Forks : public CacheTest {
protected:
    void SetUp() override { SKIP_FORKS_WITH_THREADS(); }
};

TEST_F(Forks, a_child_finds_stores_makes_and_closes)
{
    CacheOptions busy = with({memory(0), disk_here()});
    busy.maintenance = Maintenance::background;
    busy.max_parallel_compiles = 2;
    std::optional<Cache> cache = open(busy);
    put(*cache, 1, 100);
    // A worker and the maintenance thread run when the process forks; the child has neither.
    EXPECT_TRUE(cache->get_or_compile_async(numbered_key(2), [] { return "async"; }).get().ok());
    EXPECT_TRUE(in_child([&] {
        bool right = holds(*cache, 1, 100) && cache->find(numbered_key(2)).tier() == "memory";
        put(*cache, 3, 100);
        right &= cache->get_or_compile(numbered_key(4), [] { return "made by the child"; }).ok();
        right &= cache->get_or_compile_async(numbered_key(5), [] { return "async in the child"; }).get().ok();
        right &= cache->stats().compiles == 2;
        cache.reset();
        return right;
    }));
    EXPECT_TRUE(holds(*cache, 1, 100));
    EXPECT_EQ(cache->find(numbered_key(3)).tier(), "disk");
    EXPECT_EQ(cache->find(numbered_key(4))->text(), "made by the child");
    EXPECT_EQ(cache->find(numbered_key(5))->text(), "async in the child");
    EXPECT_EQ(cache->stats().compiles, 1U);
}

TEST_F(Forks, statistics_of_parent_and_child_add_up)
{
    Cache cache = open_usual();
    put(cache, 1, 10);
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(holds(cache, 1, 10));
    EXPECT_TRUE(in_child([&] {
        const bool fresh = cache.stats().lookups() == 0;
        const bool right = holds(cache, 1, 10) && holds(cache, 1, 10);
        cache.flush();
        return fresh && right && cache.stats().hits == 2;
    }));
    EXPECT_EQ(cache.stats().hits, 3U);
    EXPECT_EQ(cache.stats(Scope::directory).hits, 5U);
    cache.flush();
    EXPECT_EQ(cache.stats(Scope::directory).hits, 5U);
    EXPECT_EQ(cache.stats(Scope::directory).stores, 1U);
}

TEST_F(Forks, a_child_that_a_maker_starts_does_not_hold_the_makers_flight)
{
    const auto holds_a_flight = [] {
        for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;  // the one that lists
            if (std::filesystem::read_symlink(file, gone).string().find("/flight/") != std::string::npos)
                return true;
        }
        return false;
    };
    Cache cache = open_usual();
    const auto make = [&] {
        EXPECT_TRUE(holds_a_flight());
        EXPECT_TRUE(in_child([&] { return !holds_a_flight(); }));
        return "made";
    };
    EXPECT_TRUE(cache.get_or_compile(numbered_key(1), make).ok());
}

// Another thread may be in that tier, with a lock of the program's own.
TEST_F(Forks, a_fork_does_not_call_the_programs_own_tiers)
{
    int notes = 0;
    Cache cache = open({hooked(memory(0), {.note = [&] { ++notes; }})});
    put(cache, 1, 10);
    notes = 0;
    EXPECT_TRUE(in_child([&] { return notes == 0 && cache.stats().stores == 0 && notes > 0; }));
}

TEST_F(Forks, a_child_that_a_maker_starts_on_a_worker_may_return_from_it)
{
    SKIP_FORKS_BESIDE_THREADS();
    Cache cache = open_usual();
    pid_t child = -1;
    const auto make = [&] {
        child = ::fork();
        if (child == 0)
            ::alarm(60);
        return "made";
    };
    EXPECT_TRUE(cache.get_or_compile_async(numbered_key(1), make).get().ok());
    EXPECT_TRUE(child_was_right(child));
}

TEST_F(Forks, a_fork_in_the_middle_of_other_threads_work_leaves_the_child_working)
{
    SKIP_FORKS_BESIDE_THREADS();
    CacheOptions silent = with({memory_named("fast", 5000), disk_here(50'000)});
    silent.on_evict = {};  // the test's own lock might be held when the process forks
    silent.log = {};
    Cache cache = open(silent);
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < 4; ++thread)
        threads.emplace_back([&, thread] {
            for (std::uint64_t round = 0; !done; ++round) {
                const std::uint64_t number = (round * 7 + thread) % 50;
                put(cache, number, 100 + number);
                std::ignore = cache.find(numbered_key(number + 1));
                std::ignore = cache.get_or_compile(numbered_key(100 + round % 100), [] { return "made"; });
                cache.remove(numbered_key(100 + round % 100));
                std::ignore = cache.stats();
                if (round % 50 == 0)
                    cache.flush();
            }
        });
    for (std::uint64_t child = 0; child < scaled(40); ++child)
        EXPECT_TRUE(in_child([&] {
            put(cache, 1000 + child, 10);
            bool right = holds(cache, 1000 + child, 10);
            right &= cache.get_or_compile(numbered_key(2000 + child), [] { return "made by a child"; }).ok();
            right &= admin::verify(cache, Repair::no).corrupt == 0;
            cache.flush();
            return right;
        })) << "child "
            << child;
    done = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_TRUE(admin::verify(cache, Repair::no).accounting_exact);
}

}  // namespace

}  // namespace hearth::test
