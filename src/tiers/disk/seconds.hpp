#pragma once

#include "hearth/artifact.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace hearth::tiers {

// Index records keep times as whole seconds since 1970, 0 for none.
inline std::uint32_t to_seconds(WallTime time)
{
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 0, UINT32_MAX));
}

inline WallTime from_seconds(std::uint32_t seconds)
{
    return WallTime(std::chrono::seconds(seconds));
}

inline WallTime from_nanoseconds(std::uint64_t ns)
{
    return WallTime(std::chrono::nanoseconds(static_cast<std::int64_t>(ns)));
}

}  // namespace hearth::tiers
