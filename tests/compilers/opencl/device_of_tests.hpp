#pragma once

#include <cstddef>
#include <cstdlib>

namespace hearth::test {

// The OpenCL device that the tests use: the first, or HEARTH_TEST_OPENCL_DEVICE.
inline std::size_t device_of_tests()
{
    const char* const number = std::getenv("HEARTH_TEST_OPENCL_DEVICE");
    return number ? std::strtoul(number, nullptr, 10) : 0;
}

}  // namespace hearth::test
