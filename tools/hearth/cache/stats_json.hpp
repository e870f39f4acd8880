#pragma once

#include "hearth/stats.hpp"
#include "json/json.hpp"

namespace hearth::cli {

// What `hearth stats --json` prints, and the page shows.
Json stats_as_json(const Stats& stats);

}  // namespace hearth::cli
