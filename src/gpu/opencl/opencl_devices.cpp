#include "gpu/opencl/opencl_devices.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

namespace hearth::gpu::cl {

Result<std::vector<cl_device_id>> all_devices(const Api& api)
{
    cl_uint count = 0;
    const cl_int listed = api.get_platforms(0, nullptr, &count);
    std::vector<cl_platform_id> platforms(listed == CL_SUCCESS ? count : 0);
    if (!platforms.empty())
        api.get_platforms(count, platforms.data(), nullptr);
    std::vector<cl_device_id> found;
    for (cl_platform_id platform : platforms) {
        cl_uint here = 0;
        if (api.get_devices(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &here) != CL_SUCCESS || here == 0)
            continue;
        const std::size_t before = found.size();
        found.resize(before + here);
        if (api.get_devices(platform, CL_DEVICE_TYPE_ALL, here, found.data() + before, nullptr) != CL_SUCCESS)
            found.resize(before);
    }
    if (found.empty())
        return error(Code::unavailable,
                     "OpenCL lists no device here{}. Install a driver, such as pocl-opencl-icd for this "
                     "machine's CPU.",
                     listed == CL_SUCCESS ? "" : ": " + error_name(listed));
    return found;
}

}  // namespace hearth::gpu::cl
