#pragma once

#include "hearth/stats.hpp"

// Statistics beside the entries, so that another process can read them and a restart does not lose them.
//
//   note := "hearth stats 1\n" line* "sum " u64 "\n"
//   line := word ("." word)* " " u64 "\n"        for instance  tier.disk.hits 12
//         | "tier." word ".note " text "\n"                    tier.vram.note cuda: NVIDIA H200
//
// The sum is over every byte before it; a note that does not match is as good as none. Lines with unknown names are
// passed over, so that a newer Hearth may add some.

namespace hearth::engine {

Bytes encode_stats(const Stats& stats);
// Zeros when the bytes are not a note.
Stats decode_stats(ByteView note);

// Counts of `b` added to those of `a`; tiers by name. Sizes and capacities are a's, and so are notes where it has any.
void add_counts(Stats& a, const Stats& b);
// Counts of `earlier` taken from those of `later`, which come after them.
Stats counts_since(const Stats& later, const Stats& earlier);

}  // namespace hearth::engine
