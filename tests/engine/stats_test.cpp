#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "hooked_tier.hpp"
#include "support/forged_entry.hpp"
#include "support/in_threads.hpp"
#include "support/scale.hpp"

#include <latch>
#include <thread>
#include <tuple>

// Counts that equal what happened, per tier and in all, across threads, restarts and processes (69, 70).

namespace hearth::test {

namespace {

using namespace std::chrono_literals;

class Statistics : public CacheTest {
protected:
    Result<InsertReport> insert(Cache& cache, std::uint64_t number, std::size_t size, std::chrono::seconds cost,
                                const std::string& tier = {})
    {
        Artifact artifact = *sample_artifact(numbered_key(number), size);
        artifact.cost = cost;
        return cache.insert(numbered_key(number), artifact, {.tier = tier});
    }
    // What a process has counted and what lies in the directory, to be compared across restarts.
    static void expect_equal_counts(const Stats& a, const Stats& b)
    {
        for (const auto count : {&Stats::hits, &Stats::outages, &Stats::stores, &Stats::compiles,
                                 &Stats::compile_failures, &Stats::failures_replayed, &Stats::waited, &Stats::forbidden,
                                 &Stats::dropped_stores, &Stats::compile_ns_spent, &Stats::compile_ns_saved})
            EXPECT_EQ(a.*count, b.*count);
        EXPECT_EQ(a.misses, b.misses);
        ASSERT_EQ(a.tiers.size(), b.tiers.size());
        for (std::size_t i = 0; i < a.tiers.size(); ++i) {
            const TierStats& one = a.tiers[i];
            const TierStats& other = b.tiers[i];
            EXPECT_EQ(one.name, other.name);
            for (const auto count :
                 {&TierStats::hits, &TierStats::misses, &TierStats::stores, &TierStats::evictions,
                  &TierStats::demotions, &TierStats::promotions, &TierStats::corrupt, &TierStats::outages})
                EXPECT_EQ(one.*count, other.*count) << one.name;
            for (const auto latency : {&TierStats::latency, &TierStats::miss_latency}) {
                EXPECT_EQ((one.*latency).buckets, (other.*latency).buckets);
                EXPECT_EQ((one.*latency).samples, (other.*latency).samples);
                EXPECT_EQ((one.*latency).total_ns, (other.*latency).total_ns);
            }
        }
    }
};

TEST_F(Statistics, every_128th_hit_of_each_thread_is_timed_and_no_time_is_lost)
{
    constexpr std::uint64_t k_threads = 4;
    constexpr std::uint64_t k_hits = 1280;
    CacheOptions chosen = with({memory(1_MiB)});
    chosen.policy_name = "gdsf";  // whose hits take no lock
    Cache cache = open(chosen);
    put(cache, 1, 100);
    in_threads(k_threads, [&](std::uint64_t) {
        for (std::uint64_t hit = 0; hit < k_hits; ++hit)
            EXPECT_TRUE(cache.find(numbered_key(1)).hit());
    });
    const TierStats stats = cache.stats().tiers.at(0);
    EXPECT_EQ(stats.hits, k_threads * k_hits);
    EXPECT_EQ(stats.latency.samples, k_threads * k_hits / 128);
    EXPECT_GT(stats.latency.total_ns, 0U);
}

TEST_F(Statistics, are_exact_against_a_scripted_history_and_survive_a_restart)
{
    bool disk_is_down = false;
    const auto down = [&](const Key&) { return disk_is_down ? std::optional(Miss::outage) : std::nullopt; };
    const std::vector tiers{memory_named("fast", 100), hooked(disk_here(), {.find = down})};
    std::optional<Cache> opened = open(tiers);
    Cache& cache = *opened;

    EXPECT_FALSE(cache.find(numbered_key(1)).hit());  // absent
    const auto make = [] {
        Artifact artifact = *sample_artifact(numbered_key(1), 60);
        artifact.cost = 2s;
        return artifact;
    };
    ASSERT_TRUE(cache.get_or_compile(numbered_key(1), make).ok());  // absent, made, stored in both
    EXPECT_TRUE(holds(cache, 1, 60));                               // saves 2 s
    EXPECT_TRUE(holds(cache, 1, 60));                               // saves 2 s
    ASSERT_TRUE(insert(cache, 2, 60, 1s).ok());                     // evicts 1, which the disk has
    EXPECT_TRUE(holds(cache, 1, 60));                               // from disk: saves 2 s
    ASSERT_TRUE(insert(cache, 3, 60, 1s, "fast").ok());             // evicts 2, which the disk has
    ASSERT_TRUE(insert(cache, 4, 60, 1s).ok());                     // evicts 3, which goes to the disk

    damage(file_of(numbered_key(1)));
    EXPECT_EQ(cache.find(numbered_key(1)).why(), Miss::corrupt);

    Artifact brief(std::string(10, 'x'));
    brief.expires = m_clock.now() + 10s;
    ASSERT_TRUE(cache.insert(numbered_key(5), brief).ok());
    m_clock.advance(10s);
    EXPECT_EQ(cache.find(numbered_key(5)).why(), Miss::expired);

    std::string bytes = read_file(file_of(numbered_key(2)));
    set_number<std::uint16_t>(bytes, k_version_at, 2);
    reseal(bytes);
    write_file(file_of(numbered_key(2)), bytes);
    EXPECT_EQ(cache.find(numbered_key(2)).why(), Miss::other_version);
    EXPECT_EQ(admin::where(cache, numbered_key(2)), Names{"disk"}) << "another version's entry is left alone";

    disk_is_down = true;
    EXPECT_EQ(cache.find(numbered_key(6)).why(), Miss::outage);
    disk_is_down = false;

    const std::uint64_t spent_before = cache.stats().compile_ns_spent;
    const auto failing = []() -> Result<Artifact> { return failed_compile("no", "log"); };
    EXPECT_FALSE(cache.get_or_compile(numbered_key(7), failing).ok());  // absent, made, failed, stored
    const std::uint64_t spent_on_failure = cache.stats().compile_ns_spent - spent_before;
    EXPECT_FALSE(cache.get_or_compile(numbered_key(7), failing).ok());  // a hit that replays the failure
    const auto failing_once = []() -> Result<Artifact> { return Error{Code::io, "not remembered", {}}; };
    EXPECT_FALSE(cache.get_or_compile(numbered_key(8), failing_once).ok());  // absent, made, failed

    const Stats stats = cache.stats();
    const std::array<std::uint64_t, k_miss_reasons> expected_misses{4, 1, 1, 1, 0, 0, 0};
    EXPECT_EQ(stats.misses, expected_misses);
    EXPECT_EQ(stats.misses_in_all(), 7U);
    EXPECT_EQ(stats.outages, 1U) << "an outage is not a miss";
    EXPECT_EQ(stats.hits, 4U);
    EXPECT_EQ(stats.lookups(), 12U);
    EXPECT_DOUBLE_EQ(stats.hit_rate(), 4.0 / 12);
    EXPECT_EQ(stats.stores, 6U);
    EXPECT_EQ(stats.compiles, 3U);
    EXPECT_EQ(stats.compile_failures, 2U);
    EXPECT_EQ(stats.failures_replayed, 1U);
    EXPECT_EQ(stats.waited, 0U);
    EXPECT_EQ(stats.forbidden, 0U);
    EXPECT_EQ(stats.dropped_stores, 0U);
    EXPECT_EQ(stats.evictions(), 3U);
    EXPECT_EQ(stats.demotions(), 1U);
    EXPECT_EQ(stats.corrupt(), 1U);
    EXPECT_EQ(stats.compile_ns_saved, 6'000'000'000U + spent_on_failure);
    EXPECT_EQ(spent_on_failure, static_cast<std::uint64_t>(admin::info(cache, numbered_key(7))->cost.count()));
    EXPECT_GT(stats.compile_ns_spent, spent_on_failure);

    ASSERT_EQ(stats.tiers.size(), 2U);
    const TierStats& fast = stats.tiers[0];
    EXPECT_EQ(fast.name, "fast");
    EXPECT_EQ(fast.capacity_bytes, 100U);
    EXPECT_EQ(fast.used_bytes, 60U + 5);
    EXPECT_EQ(fast.entries, 2U);
    EXPECT_EQ(fast.hits, 3U);
    EXPECT_EQ(fast.misses, 9U) << "all other lookups";
    EXPECT_EQ(fast.miss_latency.samples, 2U) << "those before its first hit, and before each 128th";
    EXPECT_EQ(fast.stores, 6U);
    EXPECT_EQ(fast.evictions, 3U);
    EXPECT_EQ(fast.demotions, 1U);
    EXPECT_EQ(fast.promotions, 0U);
    EXPECT_EQ(fast.corrupt, 0U);
    EXPECT_EQ(fast.outages, 0U);
    EXPECT_EQ(fast.latency.samples, 1U) << "of a memory tier every 128th hit is timed, the first one included";
    const TierStats& disk = stats.tiers[1];
    EXPECT_EQ(disk.name, "disk");
    EXPECT_EQ(disk.capacity_bytes, 0U);
    EXPECT_EQ(disk.entries, 4U);
    EXPECT_EQ(disk.hits, 1U);
    EXPECT_EQ(disk.misses, 7U) << "of nine lookups one was a hit and one an outage";
    EXPECT_EQ(disk.miss_latency.samples, 7U);
    EXPECT_GT(disk.miss_latency.mean_us(), 0.0);
    EXPECT_GT(disk.miss_latency.percentile_us(0.99), 0.0);
    EXPECT_EQ(disk.stores, 6U);
    EXPECT_EQ(disk.evictions, 0U);
    EXPECT_EQ(disk.corrupt, 1U);
    EXPECT_EQ(disk.outages, 1U);
    EXPECT_EQ(disk.latency.samples, 1U);
    EXPECT_GT(disk.latency.percentile_us(0.5), 0.0);
    EXPECT_GT(disk.latency.mean_us(), 0.0);
    ASSERT_EQ(warnings().size(), 1U) << "the outage, once";

    expect_equal_counts(cache.stats(Scope::directory), stats);
    cache.flush();
    expect_equal_counts(cache.stats(Scope::directory), stats);
    expect_equal_counts(cache.stats(), stats);
    opened.reset();
    opened = open(tiers);
    EXPECT_EQ(opened->stats().lookups(), 0U) << "of this process since it opened the cache";
    expect_equal_counts(opened->stats(Scope::directory), stats);
    EXPECT_TRUE(holds(*opened, 4, 60));
    EXPECT_EQ(opened->stats(Scope::directory).hits, 5U);
    EXPECT_EQ(stats_of(*opened, "fast", Scope::directory).hits, 3U);
    EXPECT_EQ(stats_of(*opened, "disk", Scope::directory).hits, 2U);
}

TEST_F(Statistics, a_miss_tells_the_most_telling_reason_of_its_tiers)
{
    std::optional<Miss> upper;
    std::optional<Miss> lower;
    Cache cache = open({hooked(memory_named("upper", 0), {.find = [&](const Key&) { return upper; }}),
                        hooked(memory_named("lower", 0), {.find = [&](const Key&) { return lower; }})});
    const auto why = [&](Miss in_upper, Miss in_lower) {
        upper = in_upper;
        lower = in_lower;
        return cache.find(numbered_key(1)).why();
    };
    EXPECT_EQ(why(Miss::absent, Miss::absent), Miss::absent);
    EXPECT_EQ(why(Miss::absent, Miss::outage), Miss::outage);
    EXPECT_EQ(why(Miss::outage, Miss::absent), Miss::outage);
    EXPECT_EQ(why(Miss::expired, Miss::absent), Miss::expired);
    EXPECT_EQ(why(Miss::expired, Miss::corrupt), Miss::corrupt);
    EXPECT_EQ(why(Miss::outage, Miss::other_version), Miss::other_version);
    EXPECT_EQ(why(Miss::timeout, Miss::absent), Miss::timeout);
    EXPECT_EQ(why(Miss::corrupt, Miss::untrusted), Miss::untrusted);
    const Stats stats = cache.stats();
    EXPECT_EQ(stats.outages, 3U) << "of what did not answer in time nothing is known either";
    EXPECT_EQ(misses(stats, Miss::outage), 0U);
    EXPECT_EQ(misses(stats, Miss::timeout), 0U);
    EXPECT_EQ(stats.lookups(), 8U);
    EXPECT_EQ(stats_of(cache, "upper").outages, 3U) << "a tier that could not answer in time was out as well";
}

TEST_F(Statistics, a_hit_below_a_tier_that_is_out_is_a_hit)
{
    const auto out = [](const Key&) { return Miss::outage; };
    Cache cache = open({hooked(memory_named("upper", 0), {.find = out}), memory_named("lower", 0)});
    put(cache, 1, 10, "lower");
    EXPECT_TRUE(holds(cache, 1, 10));
    EXPECT_EQ(cache.stats().hits, 1U);
    EXPECT_EQ(cache.stats().outages, 0U);
    EXPECT_EQ(stats_of(cache, "upper").outages, 1U);
}

TEST_F(Statistics, of_caches_that_share_a_directory_add_up)
{
    Cache one = open_usual();
    Cache other = open_usual();
    put(one, 1, 10);
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(holds(one, 1, 10));
    EXPECT_TRUE(holds(other, 1, 10));
    EXPECT_EQ(other.stats(Scope::directory).hits, 1U) << "what one has not written down yet only one knows";
    one.flush();
    EXPECT_EQ(other.stats(Scope::directory).hits, 4U);
    other.flush();
    EXPECT_EQ(one.stats(Scope::directory).hits, 4U);
    EXPECT_EQ(one.stats().hits, 3U);
    for (int again = 0; again < 3; ++again) {
        one.flush();
        admin::maintain(other);
    }
    EXPECT_EQ(one.stats(Scope::directory).hits, 4U) << "nothing is written twice";
}

TEST_F(Statistics, of_tiers_only_others_have_are_shown_after_ones_own)
{
    {
        Cache with_more = open({memory_named("pinned", 0), disk_here()});
        put(with_more, 1, 10);
        EXPECT_TRUE(holds(with_more, 1, 10));
    }
    Cache cache = open_usual();
    const Stats stats = cache.stats(Scope::directory);
    ASSERT_EQ(stats.tiers.size(), 3U);
    EXPECT_EQ(stats.tiers[0].name, "memory");
    EXPECT_EQ(stats.tiers[1].name, "disk");
    EXPECT_EQ(stats.tiers[1].entries, 1U);
    EXPECT_EQ(stats.tiers[2].name, "pinned");
    EXPECT_EQ(stats.tiers[2].hits, 1U);
}

TEST_F(Statistics, can_be_reset)
{
    Cache cache = open_usual();
    put(cache, 1, 10);
    EXPECT_TRUE(holds(cache, 1, 10));
    cache.flush();
    EXPECT_TRUE(holds(cache, 1, 10));
    admin::reset_stats(cache);
    for (const Scope scope : {Scope::process, Scope::directory}) {
        const Stats stats = cache.stats(scope);
        EXPECT_EQ(stats.lookups(), 0U);
        EXPECT_EQ(stats.stores, 0U);
        EXPECT_EQ(stats.hit_rate(), 0.0);
        EXPECT_EQ(stats.tiers[0].hits, 0U);
        EXPECT_EQ(stats.tiers[0].latency.samples, 0U);
        EXPECT_EQ(stats.tiers[0].latency.percentile_us(0.99), 0.0);
        EXPECT_EQ(stats.tiers[0].latency.mean_us(), 0.0);
        EXPECT_EQ(stats.tiers[0].entries, 1U) << "what is there stays there";
    }
    EXPECT_TRUE(holds(cache, 1, 10));
    cache.flush();
    EXPECT_EQ(cache.stats().hits, 1U);
    EXPECT_EQ(cache.stats(Scope::directory).hits, 1U);
}

TEST_F(Statistics, a_damaged_note_counts_from_zero)
{
    {
        Cache cache = open_usual();
        put(cache, 1, 10);
    }
    const std::string note = directory() + "/v1/notes/stats.slots";
    std::string text = read_file(note);
    text[text.find("stores") + 7] = '7';
    write_file(note, text);
    Cache cache = open_usual();
    EXPECT_EQ(cache.stats(Scope::directory).stores, 0U);
    EXPECT_TRUE(holds(cache, 1, 10));
    cache.flush();
    EXPECT_EQ(cache.stats(Scope::directory).hits, 1U);
}

TEST_F(Statistics, directory_scope_without_a_directory_is_the_processs_own)
{
    Cache cache = open({memory(0)});
    put(cache, 1, 10);
    EXPECT_TRUE(holds(cache, 1, 10));
    EXPECT_EQ(cache.stats(Scope::directory).hits, 1U);
    admin::reset_stats(cache);
    EXPECT_EQ(cache.stats(Scope::directory).hits, 0U);
}

TEST_F(Statistics, totals_are_exact_after_many_threads)
{
    // More threads at once than there are counters of a thread's own, so that some share one.
    constexpr std::uint64_t k_threads = 300;
    const std::uint64_t rounds = scaled(400);
    Cache cache = open({memory(0)});
    put(cache, 0, 10);
    const std::uint64_t cost = static_cast<std::uint64_t>(cache.find(numbered_key(0))->cost.count());
    admin::reset_stats(cache);
    std::latch all_there(k_threads);
    in_threads(k_threads, [&](std::uint64_t thread) {
        std::ignore = cache.find(numbered_key(1 + thread));
        all_there.arrive_and_wait();
        for (std::uint64_t round = 0; round < rounds; ++round) {
            std::ignore = cache.find(numbered_key(0));
            std::ignore = cache.find(numbered_key(1'000'000));
            if (round % 10 == 0)
                put(cache, 1 + thread, 1);
        }
    });
    const Stats stats = cache.stats();
    EXPECT_EQ(stats.hits, k_threads * rounds);
    EXPECT_EQ(misses(stats, Miss::absent), k_threads * (rounds + 1));
    EXPECT_EQ(stats.compile_ns_saved, k_threads * rounds * cost);
    EXPECT_EQ(stats.stores, k_threads * ((rounds + 9) / 10));
    EXPECT_EQ(stats.tiers[0].stores, stats.stores);
    EXPECT_EQ(stats.tiers[0].entries, k_threads + 1);
}

TEST_F(Statistics, are_exact_while_others_read_write_down_and_maintain)
{
    const std::uint64_t rounds = scaled(2000);
    {
        Cache cache = open_usual();
        put(cache, 0, 10);
        std::jthread reader([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                cache.flush();
                const Stats seen = cache.stats(Scope::directory);
                EXPECT_LE(seen.hits, 4 * rounds);
                admin::maintain(cache);
                std::this_thread::yield();
            }
        });
        in_threads(4, [&](std::uint64_t) {
            for (std::uint64_t round = 0; round < rounds; ++round)
                std::ignore = cache.find(numbered_key(0));
        });
        reader = {};  // stops it
        EXPECT_EQ(cache.stats().hits, 4 * rounds);
    }
    Cache later = open_usual();
    EXPECT_EQ(later.stats(Scope::directory).hits, 4 * rounds);
}

}  // namespace

}  // namespace hearth::test
