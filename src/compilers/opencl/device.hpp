#pragma once

#include "gpu/opencl/opencl_devices.hpp"
#include "hearth/opencl.hpp"

namespace hearth::opencl {

namespace cl = gpu::cl;

// All but its index.
Device describe(const cl::Api& api, cl_device_id id);

}  // namespace hearth::opencl
