#pragma once

#include <cstdint>
#include <limits>

#include <sys/stat.h>
#include <unistd.h>

namespace hearth::cli::carry {

// A time beyond what nanoseconds since 1970 can say becomes one of these: before 1677, after 2262.
inline constexpr std::int64_t k_first_time = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t k_last_time = std::numeric_limits<std::int64_t>::max();

inline std::int64_t nanoseconds_of(const timespec& time)
{
    std::int64_t all = 0;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(time.tv_sec), std::int64_t{1'000'000'000}, &all) ||
        __builtin_add_overflow(all, static_cast<std::int64_t>(time.tv_nsec), &all))
        return time.tv_sec < 0 ? k_first_time : k_last_time;
    return all;
}

// Neither this user nor root: somebody who may have put anything there, and may still change it. In /tmp anybody can
// make a directory before its tool does.
inline bool is_of_another_user(const struct stat& status)
{
    return status.st_uid != ::geteuid() && status.st_uid != 0;
}

}  // namespace hearth::cli::carry
