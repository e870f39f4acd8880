#include "hearth/units.hpp"

#include "base/text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace hearth {

namespace {

// Takes the number at the front off `text`, and the spaces after it.
std::optional<double> take_number(std::string_view& text)
{
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc{} || number < 0 || !std::isfinite(number))
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    return number;
}

constexpr std::string_view k_prefixes = "KMGTP";

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text)
{
    const std::optional<double> number = take_number(text);
    if (!number)
        return std::nullopt;
    if (text.empty())
        return *number == 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
    double factor = 1;
    const std::size_t power = k_prefixes.find(static_cast<char>(text.front() & ~0x20));
    if (power != std::string_view::npos) {
        factor = std::pow(1024.0, static_cast<double>(power) + 1);
        text.remove_prefix(1);
        if (text.starts_with('i'))
            text.remove_prefix(1);
    }
    if (text.starts_with('B') || text.starts_with('b'))
        text.remove_prefix(1);
    const double bytes = *number * factor;
    if (!text.empty() || bytes > 9e18)
        return std::nullopt;
    return static_cast<std::uint64_t>(bytes);
}

std::optional<std::uint64_t> base::parse_size_setting(std::string_view text)
{
    const auto plain = parse_number<std::uint64_t>(text);
    return plain && *plain >= std::uint64_t{1} << 20U ? plain : parse_size(text);
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text)
{
    const std::optional<double> number = take_number(text);
    if (!number)
        return std::nullopt;
    struct Unit {
        std::string_view name;
        double milliseconds;
    };
    static constexpr std::array<Unit, 7> k_units{
        {{"", 1e3}, {"ms", 1}, {"s", 1e3}, {"m", 6e4}, {"h", 3.6e6}, {"d", 8.64e7}, {"w", 6.048e8}}};
    for (const Unit& unit : k_units)
        if (text == unit.name && *number * unit.milliseconds < 9e15)
            return std::chrono::milliseconds(static_cast<std::int64_t>(*number * unit.milliseconds));
    return std::nullopt;
}

std::string format_size(std::uint64_t bytes)
{
    if (bytes < 1024)
        return fmt::format("{} B", bytes);
    auto value = static_cast<double>(bytes);
    std::size_t power = 0;
    // 1023.95 and up would be shown as 1024.0 of the smaller unit.
    while (value >= 1023.95 && power < k_prefixes.size()) {
        value /= 1024;
        ++power;
    }
    const std::string number = fmt::format("{:.1f}", value);
    return fmt::format("{} {}iB", number.ends_with(".0") ? number.substr(0, number.size() - 2) : number,
                       k_prefixes[power - 1]);
}

std::string format_duration(std::chrono::milliseconds duration)
{
    const std::int64_t ms = duration.count();
    if (ms == 0)
        return "0";
    struct Unit {
        std::int64_t milliseconds;
        std::string_view name;
    };
    static constexpr std::array<Unit, 5> k_units{
        {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}}};
    for (const Unit& unit : k_units)
        if (ms % unit.milliseconds == 0)
            return fmt::format("{}{}", ms / unit.milliseconds, unit.name);
    return {};
}

}  // namespace hearth
