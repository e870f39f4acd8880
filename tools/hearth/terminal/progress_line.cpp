#include "terminal/progress_line.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hearth::cli {

namespace {

constexpr std::size_t k_longest_bar = 30;
constexpr std::size_t k_shortest_bar = 5;  // a shorter bar tells nothing

std::string bar_of(double share, std::size_t width)
{
    const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
    return fmt::format("[{:#<{}}{:.<{}}] ", "", filled, "", width - filled);
}

}  // namespace

std::string progress_line(std::string_view what, std::uint64_t done, std::uint64_t total, std::size_t columns)
{
    if (total == 0)
        return fmt::format("{} {}", what, done).substr(0, columns);
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const std::string numbers = fmt::format("{:3.0f} %  {} of {}", share * 100, done, total);
    const std::size_t taken = what.size() + numbers.size() + std::string_view(" [] ").size();
    const std::size_t room = columns > taken ? columns - taken : 0;
    const std::string bar = room < k_shortest_bar ? "" : bar_of(share, std::min(room, k_longest_bar));
    return fmt::format("{} {}{}", what, bar, numbers).substr(0, columns);
}

}  // namespace hearth::cli
