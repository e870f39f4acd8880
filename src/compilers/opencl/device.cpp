#include "compilers/opencl/device.hpp"

#include "base/error.hpp"
#include "gpu/opencl/opencl_process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth::opencl {

namespace {

DeviceType type_of(const cl::Api& api, cl_device_id id)
{
    const auto type = cl::number_of<cl_ulong>(api, id, CL_DEVICE_TYPE);
    if ((type & CL_DEVICE_TYPE_GPU) != 0)
        return DeviceType::gpu;
    if ((type & CL_DEVICE_TYPE_CPU) != 0)
        return DeviceType::cpu;
    return (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? DeviceType::accelerator : DeviceType::other;
}

Error no_device(std::string_view wanted, const std::vector<Device>& all, std::string_view problem)
{
    std::vector<std::string> names;
    names.reserve(all.size());
    for (const Device& device : all)
        names.push_back(fmt::format("{} \"{}\" ({})", device.index, device.name, device.platform));
    return error(Code::invalid_argument, "{} OpenCL device {}. There are: {}.", problem, wanted,
                 fmt::join(names, ", "));
}

}  // namespace

Device describe(const cl::Api& api, cl_device_id id)
{
    Device device;
    cl_platform_id platform = nullptr;
    api.get_device_info(id, CL_DEVICE_PLATFORM, sizeof(cl_platform_id), static_cast<void*>(&platform), nullptr);
    device.type = type_of(api, id);
    device.name = cl::text_of(api.get_device_info, id, CL_DEVICE_NAME);
    device.vendor = cl::text_of(api.get_device_info, id, CL_DEVICE_VENDOR);
    device.vendor_id = cl::number_of<cl_uint>(api, id, CL_DEVICE_VENDOR_ID);
    device.version = cl::text_of(api.get_device_info, id, CL_DEVICE_VERSION);
    device.driver_version = cl::text_of(api.get_device_info, id, CL_DRIVER_VERSION);
    device.address_bits = cl::number_of<cl_uint>(api, id, CL_DEVICE_ADDRESS_BITS);
    device.il_version = cl::text_of(api.get_device_info, id, CL_DEVICE_IL_VERSION);
    device.platform = cl::text_of(api.get_platform_info, platform, CL_PLATFORM_NAME);
    device.platform_version = cl::text_of(api.get_platform_info, platform, CL_PLATFORM_VERSION);
    device.platform_id = platform;
    device.id = id;
    return device;
}

std::string_view to_string(DeviceType type)
{
    switch (type) {
    case DeviceType::cpu:
        return "cpu";
    case DeviceType::gpu:
        return "gpu";
    case DeviceType::accelerator:
        return "accelerator";
    case DeviceType::other:
        return "other";
    }
    return "";
}

Result<std::vector<Device>> devices()
{
    const Result<std::shared_ptr<const cl::Api>> api = cl::load();
    HEARTH_TRY(api);
    HEARTH_TRY(gpu::opencl_process().check("OpenCL"));
    const Result<std::vector<cl_device_id>> ids = cl::all_devices(**api);
    HEARTH_TRY(ids);
    std::vector<Device> found;
    for (cl_device_id id : *ids) {
        found.push_back(describe(**api, id));
        found.back().index = found.size() - 1;
    }
    return found;
}

Result<Device> find_device(std::size_t index)
{
    Result<std::vector<Device>> all = devices();
    HEARTH_TRY(all);
    if (index >= all->size())
        return no_device(std::to_string(index), *all, "There is no");
    return std::move((*all)[index]);
}

Result<Device> find_device(std::string_view name)
{
    Result<std::vector<Device>> all = devices();
    HEARTH_TRY(all);
    const std::string wanted = fmt::format("\"{}\"", name);
    const Device* part = nullptr;
    bool several = false;
    for (const Device& device : *all) {
        if (device.name == name)
            return device;
        if (device.name.find(name) == std::string::npos && device.platform.find(name) == std::string::npos)
            continue;
        several = part != nullptr;
        part = &device;
    }
    if (part == nullptr)
        return no_device(wanted, *all, "There is no");
    if (several)
        return no_device(wanted, *all, "There is more than one");
    return *part;
}

}  // namespace hearth::opencl
