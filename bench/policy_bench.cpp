// Share of compile seconds lost when a trace is served from a tier of 5 % and 20 % of its bytes.

#include "benches.hpp"
#include "trace/replay.hpp"

#include <fmt/format.h>

namespace hearth::bench {

void bench_policy(Report& report)
{
    const std::vector<TraceRow> rows = replay_traces();
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
    report.note(
        "policy.*: traces are made up (bench/trace/trace.hpp); in \"close\" a kernel's compile time nearly follows "
        "from its size, which leaves less to gain.");
}

}  // namespace hearth::bench
