// Prints what each policy loses on the traces: the share of compile seconds that a cache of a share of the bytes does
// not save.
#include "trace/replay.hpp"

#include <cstdio>

int main()
{
    std::printf("%-8s  %-7s  %8s  %8s\n", "policy", "variant", "of bytes", "lost");
    for (const hearth::bench::TraceRow& row : hearth::bench::replay_traces())
        std::printf("%-8s  %-7s  %6.0f %%  %6.1f %%\n", row.policy.c_str(), row.variant.c_str(),
                    100 * row.share_of_bytes, row.percent_lost);
}
