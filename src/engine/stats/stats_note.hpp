#pragma once

#include "hearth/stats.hpp"

// Statistics beside the entries, so that another process can read them and a restart does not lose them.
//
//   note := "hearth stats 1\n" line* "sum " u64 "\n"
//   line := word ("." word)* " " u64 "\n"        for instance  tier.disk.hits 12
//         | "tier." word ".note " text "\n"                    tier.vram.note cuda: NVIDIA H200
//         | "tier." word ".miss_buckets " bucket ("," bucket)* "\n"    bucket := u64 ":" u64
//         | "compile_buckets " bucket ("," bucket)* "\n"
//         | "compiler." word (" " word ":" u64)* "\n"                  compiler.nvcc hits:12 compiles:3
//         | "hour " u64 "\n"              since 1970, of the last write: when it is another, history.hpp takes note
//
// The sum is over every byte before it; a note that does not match counts as none. Lines with unknown names are
// skipped, so that a newer Hearth may add some.

namespace hearth::engine {

Bytes encode_stats(const Stats& stats, std::uint64_t hour = 0);
// Zeros when the bytes are not a note.
Stats decode_stats(ByteView note, std::uint64_t* hour = nullptr);

// What an older Hearth counted, without compilers, is others'.
void settle_compilers(Stats& stats);

// Adds the counts of `b` to those of `a`; tiers match by name. Sizes and capacities stay a's, and so do its notes, if
// it has any.
void add_counts(Stats& a, const Stats& b);
// The counts of `later` less those of `earlier`.
Stats counts_since(const Stats& later, const Stats& earlier);

}  // namespace hearth::engine
