#pragma once

#include "hearth/stats.hpp"
#include "terminal/table.hpp"

#include <optional>

namespace hearth::cli {

// What the cache did for each compiler. None: no compiler was asked for.
std::optional<Table> compiler_table(const Stats& stats);

}  // namespace hearth::cli
