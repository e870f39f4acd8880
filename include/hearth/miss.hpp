#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hearth {

// Why a lookup gave nothing. `outage` and `timeout` say nothing about whether the entry exists.
// `untrusted`: a signature is demanded, and no trusted key has signed the entry.
enum class Miss : std::uint8_t { absent, corrupt, other_version, expired, timeout, outage, past_the_cache, untrusted };
inline constexpr std::size_t k_miss_reasons = 8;

constexpr std::string_view to_string(Miss reason)
{
    switch (reason) {
    case Miss::absent:
        return "absent";
    case Miss::corrupt:
        return "corrupt";
    case Miss::other_version:
        return "other_version";
    case Miss::expired:
        return "expired";
    case Miss::timeout:
        return "timeout";
    case Miss::outage:
        return "outage";
    case Miss::past_the_cache:
        return "past_the_cache";
    case Miss::untrusted:
        return "untrusted";
    }
    return "unknown";
}

}  // namespace hearth
