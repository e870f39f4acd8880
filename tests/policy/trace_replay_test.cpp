#include "exact_gdsf.hpp"
#include "trace/replay.hpp"
#include "trace/s3_fifo_policy.hpp"

#include "policy_conformance.hpp"
#include "support/scratch_directory.hpp"

#include <filesystem>
#include <map>

namespace hearth::test {

// The rival keeps the same contract, so that the comparison is fair.
INSTANTIATE_TEST_SUITE_P(s3_fifo, PolicyConformance,
                         testing::Values(PolicyCase{"s3_fifo",
                                                    [] { return std::make_unique<bench::S3FifoPolicy>(100'000); }}));

TEST(TraceReplay, cost_aware_eviction_loses_fewer_compile_seconds_than_lru)
{
    std::map<std::string, double> lost;
    for (const bench::TraceRow& row : bench::replay_made_up(1))
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

TEST(TraceReplay, a_recorded_trace_is_read_line_by_line)
{
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.trace";
    write_file(path, "# of two kernels\n0 1000 2500\n1 70000 1500000\n0 1000 2600\n");
    const std::optional<bench::Trace> trace = bench::read_trace(path);
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->requests, (std::vector<std::uint32_t>{0, 1, 0}));
    ASSERT_EQ(trace->kernels.size(), 2U);
    EXPECT_EQ(trace->kernels[0].bytes, 1000U);
    EXPECT_EQ(trace->kernels[0].seconds, 0.0025);
    EXPECT_EQ(trace->kernels[1].seconds, 1.5);
    for (const char* wrong : {"", "1 5 5\n", "0 5\n", "a kernel\n"}) {
        write_file(path, wrong);
        EXPECT_FALSE(bench::read_trace(path)) << wrong;
    }
}

TEST(TraceReplay, every_recorded_trace_can_be_replayed)
{
    const std::map<std::string, bench::Trace> traces = bench::recorded_traces();
    for (const auto& file : std::filesystem::directory_iterator(HEARTH_RECORDED_TRACES)) {
        if (file.path().extension() != ".trace")
            continue;
        const auto found = traces.find(file.path().stem());
        ASSERT_NE(found, traces.end()) << file.path();
        const double at_least = bench::percent_of_first_compiles(found->second);
        for (const bench::TraceRow& row : bench::replay(found->first, {found->second})) {
            EXPECT_GE(row.percent_lost, at_least * 0.999) << row.policy << " " << file.path();
            EXPECT_LE(row.percent_lost, 100.001) << row.policy << " " << file.path();
        }
    }
    EXPECT_FALSE(traces.empty());
}

}  // namespace hearth::test
