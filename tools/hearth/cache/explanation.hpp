#pragma once

#include "hearth/cache.hpp"
#include "hearth/explain.hpp"
#include "json/json.hpp"

namespace hearth::cli {

// Whether a compile would hit, and if not, what is different from the nearest entry. Each returns the exit code that
// says so.
int tell_why(Cache& cache, const Explanation& why);
// `asked` is what the object begins with.
int tell_why_as_json(Cache& cache, const Explanation& why, Json asked);

}  // namespace hearth::cli
