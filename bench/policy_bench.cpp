// Share of compile seconds lost when a trace is served from a tier of 5 % and 20 % of its bytes.

#include "benches.hpp"
#include "trace/replay.hpp"

#include <fmt/format.h>

namespace hearth::bench {

namespace {

void add_rows(Report& report, const std::vector<TraceRow>& rows)
{
    const auto lost = [&](const TraceRow& like, const char* policy) {
        for (const TraceRow& row : rows)
            if (row.policy == policy && row.variant == like.variant && row.share_of_bytes == like.share_of_bytes)
                return row.percent_lost;
        return 0.0;
    };
    for (const TraceRow& row : rows) {
        if (row.policy != "gdsf")
            continue;
        const std::string name = fmt::format("policy.lost.{}.{:.0f}_percent", row.variant, row.share_of_bytes * 100);
        report.add_beside(name, row.percent_lost, "%", "LRU", lost(row, "lru"));
        report.add_beside(name + ".s3_fifo", row.percent_lost, "%", "S3-FIFO", lost(row, "s3-fifo"));
    }
}

}  // namespace

void bench_policy(Report& report)
{
    add_rows(report, replay_made_up());
    for (const auto& [name, trace] : recorded_traces()) {
        add_rows(report, replay(name, {trace}));
        report.add(fmt::format("policy.lost.{}.nothing_evicted", name), percent_of_first_compiles(trace), "%");
    }
    report.note(
        "policy.*: \"loose\" and \"close\" are made up (bench/trace/trace.hpp); in \"close\" a kernel's compile time "
        "nearly follows from its size, which leaves less to gain. The others are of real programs "
        "(bench/trace/recorded.trace). nothing_evicted: the first compiles, which no policy can save.");
}

}  // namespace hearth::bench
