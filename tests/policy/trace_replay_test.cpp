#include "exact_gdsf.hpp"
#include "trace/replay.hpp"
#include "trace/s3_fifo_policy.hpp"

#include "policy_conformance.hpp"

#include <map>

namespace hearth::test {

// The rival keeps the same contract, so that the comparison is fair.
INSTANTIATE_TEST_SUITE_P(s3_fifo, PolicyConformance,
                         testing::Values(PolicyCase{"s3_fifo",
                                                    [] { return std::make_unique<bench::S3FifoPolicy>(100'000); }}));

TEST(TraceReplay, cost_aware_eviction_loses_fewer_compile_seconds_than_lru)
{
    std::map<std::string, double> lost;
    for (const bench::TraceRow& row : bench::replay_traces(1))
        lost[row.policy + (row.share_of_bytes < 0.1 ? " 5 " : " 20 ") + row.variant] = row.percent_lost;
    EXPECT_LT(lost.at("gdsf 5 loose"), 0.65 * lost.at("lru 5 loose"));
    EXPECT_LT(lost.at("gdsf 20 loose"), 0.5 * lost.at("lru 20 loose"));
    EXPECT_LT(lost.at("gdsf 5 close"), 0.9 * lost.at("lru 5 close"));
    EXPECT_LT(lost.at("gdsf 20 close"), 0.85 * lost.at("lru 20 close"));
    EXPECT_LT(lost.at("gdsf 5 loose"), 0.75 * lost.at("s3-fifo 5 loose"));
    EXPECT_LT(lost.at("gdsf 20 loose"), 0.6 * lost.at("s3-fifo 20 loose"));
}

TEST(TraceReplay, lazy_ranking_loses_no_more_than_exact_ranking)
{
    for (const bench::Variant variant : {bench::Variant::loose, bench::Variant::close}) {
        const bench::Trace trace = bench::make_trace(bench::trace_options(variant, 1));
        for (const std::uint64_t divisor : {20U, 5U}) {
            const std::uint64_t capacity = bench::total_bytes(trace) / divisor;
            ExactGdsf exact;
            const double exact_lost = bench::percent_lost(trace, capacity, exact);
            const double lazy_lost = bench::percent_lost(trace, capacity, *gdsf()());
            EXPECT_LT(lazy_lost, exact_lost * 1.05);
        }
    }
}

TEST(TraceReplay, the_same_seed_gives_the_same_trace)
{
    const bench::Trace first = bench::make_trace({.seed = 7, .requests = 10'000});
    const bench::Trace again = bench::make_trace({.seed = 7, .requests = 10'000});
    const bench::Trace other = bench::make_trace({.seed = 8, .requests = 10'000});
    EXPECT_EQ(first.requests, again.requests);
    EXPECT_NE(first.requests, other.requests);
    EXPECT_EQ(first.requests.size(), 10'000U);
    for (const bench::Kernel& kernel : first.kernels) {
        ASSERT_GE(kernel.bytes, 1000U);
        ASSERT_LE(kernel.bytes, 100'000'000U);
        ASSERT_GE(kernel.seconds, 0.03);
        ASSERT_LE(kernel.seconds, 60.0001);
    }
}

}  // namespace hearth::test
