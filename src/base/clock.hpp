#pragma once

#include "hearth/tier.hpp"

#include <chrono>
#include <cstdint>

namespace hearth::base {

// The machine's wall clock.
const Clock& system_clock();

// For measuring spans; never jumps.
inline std::uint64_t monotonic_ns()
{
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

}  // namespace hearth::base
