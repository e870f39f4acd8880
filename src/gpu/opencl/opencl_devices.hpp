#pragma once

#include "gpu/device_memory.hpp"
#include "gpu/opencl/opencl_api.hpp"

#include <string>
#include <vector>

namespace hearth::gpu::cl {

// Every device of every platform, in the order the machine lists them. An Error if there is none.
Result<std::vector<cl_device_id>> all_devices(const Api& api);

// One property that is text, asked for with either of the two functions.
template <class Get, class Id>
std::string text_of(Get get, Id id, cl_uint property)
{
    std::size_t size = 0;
    if (get(id, property, 0, nullptr, &size) != CL_SUCCESS || size == 0)
        return {};
    std::string text(size, '\0');
    if (get(id, property, size, text.data(), nullptr) != CL_SUCCESS)
        return {};
    text.resize(text.find_last_not_of('\0') + 1);
    return text;
}

// 0 if the device does not tell.
template <class Number>
Number number_of(const Api& api, cl_device_id id, cl_uint property)
{
    Number number = 0;
    return api.get_device_info(id, property, sizeof number, &number, nullptr) == CL_SUCCESS ? number : 0;
}

// The memory of the device with that number, by these functions.
Result<std::shared_ptr<DeviceMemory>> open_memory(const std::shared_ptr<const Api>& api, int index);

}  // namespace hearth::gpu::cl
