#pragma once

#include "hearth/api.hpp"

namespace hearth {

// Marks the end of start-up, for this process and, under `hearth run`, for all of the run. Compiles from here on are
// counted (Stats::compiles_after_ready) and named in the log; Compiling::forbidden_after_ready refuses them. `hearth
// ready` does the same from outside. There is no way back.
HEARTH_API void ready();
HEARTH_API bool is_ready();

}  // namespace hearth
