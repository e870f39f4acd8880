#pragma once

#include "hearth/opencl.hpp"

#include <string>

namespace hearth::test {

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
