#include "compilers/opencl/device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth::opencl {

namespace {

// One property that is text, asked for with either of the two functions.
template <class Get, class Id>
std::string text_of(Get get, Id id, cl::UInt property)
{
    std::size_t size = 0;
    if (get(id, property, 0, nullptr, &size) != cl::k_success || size == 0)
        return {};
    std::string text(size, '\0');
    if (get(id, property, size, text.data(), nullptr) != cl::k_success)
        return {};
    text.resize(text.find_last_not_of('\0') + 1);
    return text;
}

template <class Number>
Number number_of(const cl::Api& api, cl::DeviceId id, cl::UInt property)
{
    Number number = 0;
    return api.get_device_info(id, property, sizeof number, &number, nullptr) == cl::k_success ? number : 0;
}

DeviceType type_of(const cl::Api& api, cl::DeviceId id)
{
    const auto type = number_of<cl::ULong>(api, id, cl::k_device_type);
    if ((type & cl::k_device_type_gpu) != 0)
        return DeviceType::gpu;
    if ((type & cl::k_device_type_cpu) != 0)
        return DeviceType::cpu;
    return (type & cl::k_device_type_accelerator) != 0 ? DeviceType::accelerator : DeviceType::other;
}

std::vector<cl::DeviceId> devices_of(const cl::Api& api, cl::PlatformId platform)
{
    cl::UInt count = 0;
    if (api.get_devices(platform, cl::k_device_type_all, 0, nullptr, &count) != cl::k_success || count == 0)
        return {};
    std::vector<cl::DeviceId> ids(count);
    if (api.get_devices(platform, cl::k_device_type_all, count, ids.data(), nullptr) != cl::k_success)
        return {};
    return ids;
}

Error no_device(std::string_view wanted, const std::vector<Device>& all, std::string_view problem)
{
    std::vector<std::string> names;
    names.reserve(all.size());
    for (const Device& device : all)
        names.push_back(fmt::format("{} \"{}\" ({})", device.index, device.name, device.platform));
    return {Code::invalid_argument,
            fmt::format("{} OpenCL device {}. There are: {}.", problem, wanted, fmt::join(names, ", ")),
            {}};
}

}  // namespace

Device describe(const cl::Api& api, cl::DeviceId id)
{
    Device device;
    cl::PlatformId platform = nullptr;
    api.get_device_info(id, cl::k_device_platform, sizeof(cl::PlatformId), static_cast<void*>(&platform), nullptr);
    device.type = type_of(api, id);
    device.name = text_of(api.get_device_info, id, cl::k_device_name);
    device.vendor = text_of(api.get_device_info, id, cl::k_device_vendor);
    device.vendor_id = number_of<cl::UInt>(api, id, cl::k_device_vendor_id);
    device.version = text_of(api.get_device_info, id, cl::k_device_version);
    device.driver_version = text_of(api.get_device_info, id, cl::k_device_driver_version);
    device.address_bits = number_of<cl::UInt>(api, id, cl::k_device_address_bits);
    device.il_version = text_of(api.get_device_info, id, cl::k_device_il_version);
    device.platform = text_of(api.get_platform_info, platform, cl::k_platform_name);
    device.platform_version = text_of(api.get_platform_info, platform, cl::k_platform_version);
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
    if (!api)
        return api.error();
    cl::UInt count = 0;
    const cl::Int listed = (*api)->get_platforms(0, nullptr, &count);
    std::vector<cl::PlatformId> platforms(listed == cl::k_success ? count : 0);
    if (!platforms.empty())
        (*api)->get_platforms(count, platforms.data(), nullptr);
    std::vector<Device> found;
    for (const cl::PlatformId platform : platforms)
        for (const cl::DeviceId id : devices_of(**api, platform)) {
            found.push_back(describe(**api, id));
            found.back().index = found.size() - 1;
        }
    if (found.empty())
        return Error{Code::unavailable,
                     fmt::format("OpenCL lists no device here{}. Install a driver, such as pocl-opencl-icd for this "
                                 "machine's CPU.",
                                 listed == cl::k_success ? "" : ": " + cl::error_name(listed)),
                     {}};
    return found;
}

Result<Device> find_device(std::size_t index)
{
    Result<std::vector<Device>> all = devices();
    if (!all)
        return all.error();
    if (index >= all->size())
        return no_device(std::to_string(index), *all, "There is no");
    return std::move((*all)[index]);
}

Result<Device> find_device(std::string_view name)
{
    Result<std::vector<Device>> all = devices();
    if (!all)
        return all.error();
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
