#pragma once

#include "support/scale.hpp"

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

namespace hearth::test {

// Where a test's randomness starts. The same in every run, so that a failure is one anybody can have; a soak explores,
// and HEARTH_SEED repeats what a failing one printed.
inline std::uint64_t seed()
{
    const char* const text = std::getenv("HEARTH_SEED");
    std::uint64_t value = 20240229;
    if (text)
        value = std::strtoull(text, nullptr, 10);
    else if (soak_factor() > 1)
        value = std::random_device{}();
    std::cout << "seed " << value << " (HEARTH_SEED=" << value << " repeats it)" << std::endl;
    return value;
}

}  // namespace hearth::test
