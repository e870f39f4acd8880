#pragma once

#include "hearth/cache.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

// What a cache directory remembers of the past, for those who look at it later: how much was hit and compiled when, the
// slowest compiles, the last compiles and faults. Both are bounded, and shared by all processes that use the directory.

namespace hearth {

// What was counted between two times. The last week is told by hours, half a year before that by days.
struct Period {
    WallTime start{};
    WallTime end{};  // of the last one: now
    std::uint64_t lookups = 0;
    std::uint64_t hits = 0;
    std::uint64_t compiles = 0;
    std::uint64_t compile_ns_spent = 0;
    std::uint64_t compile_ns_saved = 0;
};

struct Event {
    enum class Kind : std::uint8_t { compile, fault } kind = Kind::compile;
    WallTime when{};     // it ended
    std::string text{};  // of a fault: the sentence

    // Of a compile:
    Key key{};  // all zeros: it went past the cache
    std::string label{};
    std::string compiler{};
    std::string target{};
    Miss why = Miss::absent;
    std::chrono::nanoseconds took{0};
    bool failed = false;
    bool after_ready = false;  // hearth/ready.hpp
};

namespace admin {

// Oldest first. Empty for a cache without a directory.
HEARTH_API std::vector<Period> history(Cache& cache);
// In the order in which they were noted. What another process noted within the last second may not be there yet.
HEARTH_API std::vector<Event> events(Cache& cache);

}  // namespace admin

}  // namespace hearth
