#pragma once

#include "hearth/api.hpp"
#include "hearth/key.hpp"
#include "hearth/lookup.hpp"

namespace hearth {

class Cache;

// For compilers: what a tier gave is an entry, but no result of the question that it was asked. Counted there as
// corrupt, and logged, once.
HEARTH_API void refuse(Cache& cache, const Lookup& found, const Key& key);

}  // namespace hearth
