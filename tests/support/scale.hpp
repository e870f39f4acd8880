#pragma once

#include <cstdint>
#include <cstdlib>

namespace hearth::test {

// HEARTH_SOAK=N makes the long tests N times as long; 1 when it is not set or not a number.
inline std::uint64_t soak_factor()
{
    const char* const text = std::getenv("HEARTH_SOAK");
    const std::uint64_t factor = text ? std::strtoull(text, nullptr, 10) : 1;
    return factor == 0 ? 1 : factor;
}

// How often a long test repeats itself: the plain number, fewer under a sanitizer, more in a soak.
inline std::uint64_t scaled(std::uint64_t plain)
{
#if defined(HEARTH_HAS_TSAN)
    const std::uint64_t slowdown = 10;
#elif defined(HEARTH_HAS_ASAN)
    const std::uint64_t slowdown = 4;
#else
    const std::uint64_t slowdown = 1;
#endif
    const std::uint64_t count = plain * soak_factor() / slowdown;
    return count == 0 ? 1 : count;
}

}  // namespace hearth::test
