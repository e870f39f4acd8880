#pragma once

#include "hearth/api.hpp"

namespace hearth {

class Cache;

// For objects that keep a cache which its owner may move: the same cache, at an address that stays as long as it is
// open, wherever it is moved to. Do not move from it.
HEARTH_API Cache& lasting(Cache& cache) noexcept;

}  // namespace hearth
