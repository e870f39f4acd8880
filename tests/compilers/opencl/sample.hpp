#pragma once

#include "hearth/opencl.hpp"

#include <cstddef>
#include <cstdlib>

namespace hearth::test {

// The OpenCL device that the tests use: the first, or HEARTH_TEST_OPENCL_DEVICE.
inline std::size_t device_of_tests()
{
    const char* const number = std::getenv("HEARTH_TEST_OPENCL_DEVICE");
    return number ? std::strtoul(number, nullptr, 10) : 0;
}

inline opencl::Source saxpy_source()
{
    return {.text = R"(
kernel void saxpy(global float* y, global const float* x, const float a, const uint n)
{
    const size_t i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}

kernel void fill(global int* out, const int value)
{
    out[get_global_id(0)] = value;
}
)",
            .name = "saxpy.cl",
            .options = {"-DUNUSED=1"}};
}

}  // namespace hearth::test
