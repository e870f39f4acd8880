#pragma once

#include "hearth/artifact.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace hearth::cli {

// Rounded, for people: "380 us", "1.3 s", "2.5 h".
std::string show_duration(std::chrono::nanoseconds duration);

// "2026-11-15T02:01:18.250Z", or nothing for a time that was never set.
std::optional<std::string> iso_time(WallTime time);

// "3 d ago", "never".
std::string show_age(WallTime time, WallTime the_time_is);

WallTime now();

}  // namespace hearth::cli
