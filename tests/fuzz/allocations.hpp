#pragma once

#include <cstddef>

// How much memory a decoder asks for at once: allocations.cpp replaces operator new. Not thread safe.

namespace hearth::fuzz {

inline std::size_t g_largest_allocation = 0;

// The largest single allocation since it was made.
class Allocations {
public:
    Allocations() { g_largest_allocation = 0; }
    std::size_t largest() const { return g_largest_allocation; }
};

}  // namespace hearth::fuzz
