#pragma once

#include "hearth/api.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth {

// "4096B", "10G", "1.5GiB", "512 MB": powers of 1024 whichever way they are written. Only 0 needs no unit. None when it
// is no size.
HEARTH_API std::optional<std::uint64_t> parse_size(std::string_view text);
// "30d", "12h", "90s", "250ms", "1w"; a bare number is seconds. None when it is no duration.
HEARTH_API std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// The shortest such text: "1.5 GiB", "512 B".
HEARTH_API std::string format_size(std::uint64_t bytes);
// "30d", "90s", "250ms".
HEARTH_API std::string format_duration(std::chrono::milliseconds duration);

}  // namespace hearth
