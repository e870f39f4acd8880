// Prints what each policy loses on the traces: the share of compile seconds that a cache of a share of the bytes does
// not save.
#include "trace/replay.hpp"

#include <cstdio>

namespace {

void print(const std::vector<hearth::bench::TraceRow>& rows)
{
    for (const hearth::bench::TraceRow& row : rows)
        std::printf("%-8s  %-14s  %6.0f %%  %6.1f %%\n", row.policy.c_str(), row.variant.c_str(),
                    100 * row.share_of_bytes, row.percent_lost);
}

}  // namespace

int main()
{
    std::printf("%-8s  %-14s  %8s  %8s\n", "policy", "trace", "of bytes", "lost");
    print(hearth::bench::replay_made_up());
    for (const auto& [name, trace] : hearth::bench::recorded_traces()) {
        print(hearth::bench::replay(name, {trace}));
        std::printf("%-8s  %-14s  %6.0f %%  %6.1f %%\n", "any", name.c_str(), 100.0,
                    hearth::bench::percent_of_first_compiles(trace));
    }
}
