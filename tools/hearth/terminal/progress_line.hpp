#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::cli {

// "Exporting [######..............]  30 %  3 of 10", at most `columns` wide: the bar shrinks first, then it goes, and
// then the end is cut. A total of 0 is not known yet.
std::string progress_line(std::string_view what, std::uint64_t done, std::uint64_t total, std::size_t columns);

}  // namespace hearth::cli
