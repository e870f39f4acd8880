// Takes the place of gpu/opencl_*.cpp where Hearth was built without OpenCL's header.

#include "base/error.hpp"
#include "gpu/device_memory.hpp"

namespace hearth::gpu {

namespace {

Error left_out()
{
    return error(Code::unavailable, "This Hearth was built without OpenCL. Install opencl-c-headers and build again.");
}

}  // namespace

BackendProbe probe_opencl()
{
    return {Backend::opencl, {}, left_out()};
}

Result<std::shared_ptr<DeviceMemory>> open_opencl_memory(int /*index*/)
{
    return left_out();
}

}  // namespace hearth::gpu
