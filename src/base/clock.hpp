#pragma once

#include "hearth/tier.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace hearth::base {

// The machine's wall clock.
const Clock& system_clock();

// The same, up to some milliseconds late: it costs a fifth, since the kernel keeps it ready.
WallTime coarse_time();

// The time `age` before `now`. No age overflows: more than a century is as good as never.
inline WallTime time_before(WallTime now, std::chrono::seconds age)
{
    static constexpr std::chrono::seconds k_never{std::chrono::years(150)};
    return now - std::min(age, k_never);
}

// For measuring spans; never jumps.
inline std::uint64_t monotonic_ns()
{
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

}  // namespace hearth::base
