#pragma once

#include "hearth/history.hpp"
#include "hearth/stats.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

// How the counts of a directory have grown, beside the entries. Whoever is the first to write statistics in an hour
// puts down what was counted until then. So it costs a process nothing, but one in an hour.
//
//   note := "HRTHHST1" row*                   in the order of their hours
//   row  := hour:u32 lookups hits compiles spent_ns saved_ns:u64      hour: since 1970; counts: until it began

namespace hearth::engine {

inline constexpr std::string_view k_history_note = "history";

struct Milestone {
    std::uint32_t hour = 0;
    Period until{};  // only its counts
};

std::uint64_t hour_of(WallTime time);

// The note with what was counted until this hour began. Of rows older than a week one a day is kept, for half a year.
Bytes add_milestone(ByteView note, std::uint64_t hour, const Stats& until);
std::vector<Milestone> decode_history(ByteView note);
// What was counted between the milestones, and since the last. Counts that went down were reset between.
std::vector<Period> periods(const std::vector<Milestone>& milestones, const Stats& now_counted, WallTime now);

}  // namespace hearth::engine
