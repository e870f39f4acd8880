#include "trace/replay.hpp"
#include "trace/s3_fifo_policy.hpp"

#include "policy/gdsf_policy.hpp"
#include "policy_conformance.hpp"
#include "support/scratch_directory.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace hearth::test {

namespace {

// Greedy-Dual-Size-Frequency as the literature has it: every hit ranks its entry anew, and the victim is the exact
// least. Slow, and what the lazy one is measured against.
class ExactGdsf final : public Policy {
public:
    void inserted(const Resident& entry) override { rank(entry); }
    void removed(const Resident& entry) override
    {
        const double worth = m_worth.at(&entry);
        if (m_offered == &entry)
            m_clock = std::max(m_clock, worth);
        m_offered = nullptr;
        m_order.erase({worth, &entry});
        m_worth.erase(&entry);
    }
    const Resident* victim() override { return m_offered = m_order.empty() ? nullptr : m_order.begin()->second; }
    Touches touches() const override { return Touches::each; }
    void touched(const Resident& entry) override
    {
        m_order.erase({m_worth.at(&entry), &entry});
        rank(entry);
    }

private:
    void rank(const Resident& entry)
    {
        m_worth[&entry] = m_clock + policy::GdsfPolicy::density(entry, entry.uses());
        m_order.emplace(m_worth[&entry], &entry);
    }

    double m_clock = 0;
    std::unordered_map<const Resident*, double> m_worth;
    std::set<std::pair<double, const Resident*>> m_order;
    const Resident* m_offered = nullptr;
};

}  // namespace

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

TEST(TraceReplay, a_recorded_trace_is_read_run_by_run)
{
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.trace";
    write_file(path, "cupy 0:1000:2500 1:70000:1500000 0\ntorch 1\n");
    const std::map<std::string, bench::Trace> traces = bench::read_traces(path);
    ASSERT_EQ(traces.size(), 3U);
    const bench::Trace& mixed = traces.at("mixed");
    EXPECT_EQ(mixed.requests, (std::vector<std::uint32_t>{0, 1, 0, 1}));
    ASSERT_EQ(mixed.kernels.size(), 2U);
    EXPECT_EQ(mixed.kernels[0].bytes, 1000U);
    EXPECT_EQ(mixed.kernels[0].seconds, 0.0025);
    EXPECT_EQ(traces.at("cupy").requests, (std::vector<std::uint32_t>{0, 1, 0}));
    EXPECT_EQ(traces.at("torch").requests, std::vector<std::uint32_t>{0});
    EXPECT_EQ(traces.at("torch").kernels.at(0).seconds, 1.5);
    for (const char* wrong :
         {"", "cupy\n", "cupy 1:5:5\n", "cupy 0\n", "cupy 0:5\n", "cupy 0:5:5 0:5:5\n", "cupy 0:5:5x\n"}) {
        write_file(path, wrong);
        EXPECT_TRUE(bench::read_traces(path).empty()) << wrong;
    }
}

TEST(TraceReplay, every_recorded_trace_can_be_replayed)
{
    const std::map<std::string, bench::Trace> traces = bench::recorded_traces();
    EXPECT_EQ(traces.size(), 7U);
    for (const auto& [name, trace] : traces) {
        const double at_least = bench::percent_of_first_compiles(trace);
        for (const bench::TraceRow& row : bench::replay(name, {trace})) {
            EXPECT_GE(row.percent_lost, at_least * 0.999) << row.policy << " " << name;
            EXPECT_LE(row.percent_lost, 100.001) << row.policy << " " << name;
        }
    }
}

}  // namespace hearth::test
