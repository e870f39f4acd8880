#include "terminal/times.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>
#include <string_view>

namespace hearth::cli {

std::string show_duration(std::chrono::nanoseconds duration)
{
    struct Unit {
        std::string_view name;
        double nanoseconds;
    };
    static constexpr std::array k_units{Unit{"ns", 1},         Unit{"us", 1e3},   Unit{"ms", 1e6},   Unit{"s", 1e9},
                                        Unit{"min", 60 * 1e9}, Unit{"h", 3600e9}, Unit{"d", 86400e9}};
    if (duration.count() == 0)
        return "0 s";
    const auto value = static_cast<double>(duration.count());
    std::size_t unit = 0;
    while (unit + 1 < k_units.size() && value >= k_units[unit + 1].nanoseconds)
        ++unit;
    const double scaled = value / k_units[unit].nanoseconds;
    const bool whole = scaled >= 100 || scaled == std::floor(scaled);
    return fmt::format("{:.{}f} {}", scaled, whole ? 0 : 1, k_units[unit].name);
}

std::optional<std::string> iso_time(WallTime time)
{
    if (time == WallTime{})
        return std::nullopt;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    const auto millis = std::chrono::floor<std::chrono::milliseconds>(time - seconds);
    const std::time_t count = seconds.time_since_epoch().count();
    std::tm parts{};
    gmtime_r(&count, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, millis.count());
}

std::string show_age(WallTime time, WallTime the_time_is)
{
    if (time == WallTime{})
        return "never";
    if (time > the_time_is + std::chrono::seconds(1))
        return "in the future";  // the clock has been set back since
    const auto age = the_time_is - time;
    if (age < std::chrono::seconds(1))
        return "just now";
    return show_duration(std::chrono::floor<std::chrono::seconds>(age)) + " ago";
}

WallTime now()
{
    return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
}

}  // namespace hearth::cli
