#include "fuzz/fuzz.hpp"
#include "hearth/units.hpp"

#include <cmath>
#include <string_view>

namespace {

using namespace hearth;

void try_input(std::string_view text)
{
    if (const auto bytes = parse_size(text)) {
        const auto again = parse_size(format_size(*bytes));
        fuzz::require(again.has_value(), "a size that is shown can be read");
        const auto exact = static_cast<double>(*bytes);
        fuzz::require(std::abs(static_cast<double>(*again) - exact) <= 0.05 * exact, "and is about the same");
    }
    if (const auto duration = parse_duration(text)) {
        fuzz::require(duration->count() >= 0, "a duration is not negative");
        fuzz::require(parse_duration(format_duration(*duration)) == duration,
                      "a duration that is shown is read as it was");
    }
}

const fuzz::Added k_added({"units", 800'000, try_input});

}  // namespace
