#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "support/in_threads.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <array>
#include <map>
#include <random>
#include <tuple>

// Every operation on every thread at once; what is found is right and the counts are exact (23, 41, 65). Made for
// ThreadSanitizer as much as for its own assertions.

namespace hearth::test {

namespace {

constexpr std::uint64_t k_keys = 60;
constexpr std::size_t k_threads = 8;

// What one thread did, to be compared with what the cache says.
struct Done {
    std::uint64_t lookups = 0;
    std::uint64_t hits = 0;
    std::uint64_t makes = 0;
    std::uint64_t stores = 0;
};

class Stress : public CacheTest {
protected:
    // The size is the key's own, so that whatever is found under a key has one right content.
    static std::size_t size_of(std::uint64_t number) { return 50 + number * 37 % 1000; }
    static bool right(const Artifact& artifact, std::uint64_t number)
    {
        return artifact.text() == sample_bytes(numbered_key(number), size_of(number)).text();
    }

    void work(Cache& cache, std::uint64_t thread_seed, std::uint64_t rounds, Done& done);
    static void disturb(Cache& cache, const Key& key, std::uint64_t dice);
    static void look_around(Cache& cache, std::uint64_t dice);
};

void Stress::work(Cache& cache, std::uint64_t thread_seed, std::uint64_t rounds, Done& done)
{
    std::mt19937_64 random(thread_seed);
    Lookup held;  // a lease kept over many operations
    std::uint64_t held_number = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::uint64_t number = random() % k_keys;
        const Key key = numbered_key(number);
        const std::uint64_t dice = random() % 1000;
        if (dice < 450) {
            Lookup found = cache.find(key);
            ++done.lookups;
            done.hits += found ? 1 : 0;
            EXPECT_TRUE(!found || right(*found, number));
            if (found && dice % 7 == 0) {
                held = std::move(found);
                held_number = number;
            }
        } else if (dice < 600) {
            const auto make = [&] {
                ++done.makes;
                return sample_bytes(key, size_of(number));
            };
            const Result<Lookup> got =
                dice % 5 == 0 ? cache.get_or_compile_async(key, make).get() : cache.get_or_compile(key, make);
            ++done.lookups;
            EXPECT_TRUE(got.ok() && right(**got, number));
        } else if (dice < 720) {
            const Result<InsertReport> stored = cache.insert(key, *sample_artifact(key, size_of(number)));
            EXPECT_TRUE(stored.ok() || stored.error().code == Code::no_space) << stored.error().message;
            done.stores += stored.ok() ? 1 : 0;
        } else if (dice < 900) {
            disturb(cache, key, random() % 100);
        } else {
            look_around(cache, random() % 100);
        }
        EXPECT_TRUE(!held || right(*held, held_number));
    }
}

void Stress::disturb(Cache& cache, const Key& key, std::uint64_t dice)
{
    if (dice < 30)
        cache.remove(key);
    else if (dice < 60)
        admin::promote(cache, key);
    else if (dice < 90)
        admin::demote(cache, key);
    else if (dice < 94)
        EXPECT_TRUE(admin::set_limits(cache, "fast", {.max_bytes = 2000 + dice * 100}).ok());
    else if (dice < 96)
        EXPECT_TRUE(admin::set_policy(cache, "fast", dice % 2 == 0 ? lru() : gdsf()).ok());
    else if (dice < 98)
        EXPECT_TRUE(admin::set_limits(cache, "disk", {.max_bytes = 15'000 + dice * 100}).ok());
    else
        admin::clear_memory(cache);
}

void Stress::look_around(Cache& cache, std::uint64_t dice)
{
    if (dice < 40)
        admin::where(cache, numbered_key(dice));
    else if (dice < 60)
        admin::info(cache, numbered_key(dice));
    else if (dice < 75)
        cache.stats(dice % 2 == 0 ? Scope::process : Scope::directory);
    else if (dice < 85)
        admin::tiers(cache);
    else if (dice < 90)
        cache.flush();
    else if (dice < 93)
        admin::hottest(cache, 3);
    else if (dice < 95)
        admin::verify(cache, Repair::no);
    else if (dice < 97)
        admin::maintain(cache);
    else
        admin::list(cache, [](const EntryRow&) { return true; });
}

TEST_F(Stress, eight_threads_do_everything_at_once)
{
    const std::uint64_t start = seed();
    CacheOptions chosen = with({memory_named("fast", 6000), memory_named("slow", 10'000), disk_here(25'000)});
    chosen.policy_name = "gdsf";
    chosen.max_parallel_compiles = 3;
    chosen.maintenance = Maintenance::background;
    chosen.maintenance_interval = std::chrono::milliseconds(5);
    chosen.failure_ttl = std::chrono::milliseconds(0);
    std::array<Done, k_threads> done{};
    {
        Cache cache = open(chosen);
        in_threads(k_threads, [&](std::uint64_t i) { work(cache, start + i, scaled(6000), done[i]); });
        Done all;
        for (const Done& one : done) {
            all.lookups += one.lookups;
            all.hits += one.hits;
            all.makes += one.makes;
            all.stores += one.stores;
        }
        const Stats stats = cache.stats();
        EXPECT_EQ(stats.lookups(), all.lookups);
        EXPECT_EQ(stats.compiles, all.makes);
        EXPECT_EQ(stats.stores + stats.dropped_stores, all.stores + all.makes);
        EXPECT_EQ(stats.corrupt(), 0U);
        EXPECT_EQ(stats.outages, 0U);
        EXPECT_GE(stats.hits, all.hits);
        EXPECT_TRUE(admin::verify(cache, Repair::no).accounting_exact);
        for (const TierStatus& tier : admin::tiers(cache))
            EXPECT_LE(tier.usage.bytes, tier.limits.max_bytes) << tier.name;
    }
    Cache later = open_usual();
    EXPECT_TRUE(admin::verify(later, Repair::no).accounting_exact);
    admin::list(later, [&](const EntryRow& row) {
        EXPECT_TRUE(later.find(row.key).hit());
        return true;
    });
}

TEST_F(Stress, callbacks_equal_evictions_whoever_evicts)
{
    const std::uint64_t start = seed();
    Cache cache = open({memory_named("fast", 3000), memory_named("slow", 5000), disk_here(20'000)});
    in_threads(k_threads, [&](std::uint64_t i) {
        std::mt19937_64 random(start + i);
        for (std::uint64_t round = 0; round < scaled(3000); ++round) {
            const std::uint64_t number = random() % k_keys;
            if (round % 2 == 0)
                put(cache, number, size_of(number));
            else
                std::ignore = cache.find(numbered_key(number));
            if (round % 500 == 250) {
                EXPECT_TRUE(admin::set_limits(cache, "fast", {.max_bytes = 2000 + random() % 2000}).ok());
            }
        }
    });
    std::map<std::string, std::uint64_t> told;
    for (const Eviction& eviction : evictions())
        ++told[eviction.tier];
    for (const std::string tier : {"fast", "slow", "disk"}) {
        EXPECT_EQ(told[tier], stats_of(cache, tier).evictions) << tier;
        EXPECT_GT(told[tier], 0U) << tier;
    }
    EXPECT_EQ(evictions().size(), cache.stats().evictions());
    EXPECT_TRUE(admin::verify(cache, Repair::no).accounting_exact);
}

}  // namespace

}  // namespace hearth::test
