#pragma once

#include "gpu/device_memory.hpp"

#include <gtest/gtest.h>
#include <ostream>
#include <string>

namespace hearth::test {

// The kinds of memory that a device may offer. A test that is given one which this machine lacks skips itself.
struct MemoryCase {
    std::string name;
    Result<std::shared_ptr<gpu::DeviceMemory>> (*open)(int index);
};

inline void PrintTo(const MemoryCase& memory, std::ostream* out)
{
    *out << memory.name;
}

inline std::string name_of(const testing::TestParamInfo<MemoryCase>& info)
{
    return info.param.name;
}

// OpenCL on a GPU, where it lists a processor before it.
inline Result<std::shared_ptr<gpu::DeviceMemory>> open_opencl_gpu(int index)
{
    const gpu::BackendProbe probe = gpu::probe_opencl();
    for (const device::Device& device : probe.devices)
        if (device.gpu)
            return gpu::open_opencl_memory(index == 0 ? device.index : index);
    return Error{Code::unavailable, "OpenCL lists no GPU here.", {}};
}

inline auto all_memories()
{
    return testing::Values(MemoryCase{"host", gpu::open_host_memory}, MemoryCase{"opencl", gpu::open_opencl_memory},
                           MemoryCase{"opencl_gpu", open_opencl_gpu}, MemoryCase{"webgpu", gpu::open_webgpu_memory},
                           MemoryCase{"cuda", gpu::open_cuda_memory});
}

}  // namespace hearth::test

// The memory of a case, or the end of the test where the machine has none.
#define HEARTH_OPEN_MEMORY_OR_SKIP(variable, memory_case, index)                                                       \
    const Result<std::shared_ptr<gpu::DeviceMemory>> variable##_result = (memory_case).open(index);                    \
    if (!variable##_result)                                                                                            \
        GTEST_SKIP() << variable##_result.error().message;                                                             \
    const std::shared_ptr<gpu::DeviceMemory> variable = variable##_result.value()
