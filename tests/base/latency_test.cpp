#include "hearth/stats.hpp"

#include "support/scale.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace hearth::test {

namespace {

// The sample a percentile means: the smallest that at least this share of all samples do not exceed.
double exact_percentile_us(std::vector<std::uint64_t> samples, double share)
{
    std::sort(samples.begin(), samples.end());
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(samples.size())));
    return static_cast<double>(samples[std::max<std::size_t>(rank, 1) - 1]) / 1000;
}

}  // namespace

TEST(Latency, buckets_follow_each_other_without_a_gap)
{
    std::size_t before = Latency::bucket_of(0);
    EXPECT_EQ(before, 0U);
    for (std::uint64_t ns = 1; ns < 100000; ++ns) {
        const std::size_t bucket = Latency::bucket_of(ns);
        ASSERT_TRUE(bucket == before || bucket == before + 1) << ns;
        before = bucket;
    }
    for (unsigned power = 17; power < 41; ++power) {
        const std::uint64_t ns = std::uint64_t{1} << power;
        EXPECT_EQ(Latency::bucket_of(ns), Latency::bucket_of(ns - 1) + 1) << ns;
    }
}

TEST(Latency, times_beyond_the_last_bucket_are_counted_in_it)
{
    EXPECT_EQ(Latency::bucket_of(UINT64_MAX), Latency::k_buckets - 1);
    Latency latency;
    latency.add(UINT64_MAX);
    EXPECT_EQ(latency.samples, 1U);
    EXPECT_GT(latency.percentile_us(0.5), 1e9);
}

TEST(Latency, one_sample_is_every_percentile_to_within_19_percent)
{
    for (std::uint64_t ns = 1; ns < (std::uint64_t{1} << 41U); ns += 1 + ns / 37) {
        Latency latency;
        latency.add(ns);
        const double exact = static_cast<double>(ns) / 1000;
        for (const double share : {0.01, 0.5, 0.99, 1.0})
            ASSERT_NEAR(latency.percentile_us(share), exact, 0.19 * exact) << ns << " ns";
        EXPECT_DOUBLE_EQ(latency.mean_us(), exact);
    }
}

TEST(Latency, percentiles_of_many_samples_are_right_to_within_19_percent)
{
    std::mt19937_64 random(seed());
    std::lognormal_distribution<double> usual(9, 2);
    for (std::uint64_t round = 0; round < scaled(20); ++round) {
        Latency latency;
        std::vector<std::uint64_t> samples;
        for (int i = 0; i < 5000; ++i) {
            samples.push_back(1 + static_cast<std::uint64_t>(usual(random)));
            latency.add(samples.back());
        }
        for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
            const double exact = exact_percentile_us(samples, share);
            ASSERT_NEAR(latency.percentile_us(share), exact, 0.19 * exact) << share;
        }
    }
}

TEST(Latency, a_count_is_as_good_as_that_many_samples_and_without_any_everything_is_zero)
{
    EXPECT_EQ(Latency{}.percentile_us(0.5), 0);
    EXPECT_EQ(Latency{}.percentile_us(0.99), 0);
    EXPECT_EQ(Latency{}.mean_us(), 0);
    Latency one_by_one;
    for (int i = 0; i < 1000; ++i)
        one_by_one.add(1500);
    Latency at_once;
    at_once.add(1500, 1000);
    EXPECT_EQ(one_by_one.buckets, at_once.buckets);
    EXPECT_EQ(one_by_one.samples, at_once.samples);
    EXPECT_EQ(one_by_one.total_ns, at_once.total_ns);
}

}  // namespace hearth::test
