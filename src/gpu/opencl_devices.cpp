#include "gpu/opencl_devices.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

namespace hearth::gpu::cl {

Result<std::vector<DeviceId>> all_devices(const Api& api)
{
    UInt count = 0;
    const Int listed = api.get_platforms(0, nullptr, &count);
    std::vector<PlatformId> platforms(listed == k_success ? count : 0);
    if (!platforms.empty())
        api.get_platforms(count, platforms.data(), nullptr);
    std::vector<DeviceId> found;
    for (PlatformId platform : platforms) {
        UInt here = 0;
        if (api.get_devices(platform, k_device_type_all, 0, nullptr, &here) != k_success || here == 0)
            continue;
        const std::size_t before = found.size();
        found.resize(before + here);
        if (api.get_devices(platform, k_device_type_all, here, found.data() + before, nullptr) != k_success)
            found.resize(before);
    }
    if (found.empty())
        return error(Code::unavailable,
                     "OpenCL lists no device here{}. Install a driver, such as pocl-opencl-icd for this "
                     "machine's CPU.",
                     listed == k_success ? "" : ": " + error_name(listed));
    return found;
}

}  // namespace hearth::gpu::cl
