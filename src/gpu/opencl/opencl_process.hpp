#pragma once

#include "base/of_process.hpp"
#include "gpu/driver_process.hpp"

namespace hearth::gpu {

struct OpenClProcess : DriverProcess {};

// For whoever calls an OpenCL driver, to compile or for its memory.
inline DriverProcess& opencl_process()
{
    return base::of_process<OpenClProcess>();
}

}  // namespace hearth::gpu
