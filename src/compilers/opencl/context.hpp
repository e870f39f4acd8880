#pragma once

#include "compilers/opencl/device.hpp"
#include "gpu/opencl/opencl_process.hpp"

#include <memory>
#include <string>

namespace hearth::opencl {

// In a child of a process that used the driver nothing of it is asked or released (gpu/driver_process.hpp).
struct ContextState {
    ContextState(std::shared_ptr<const cl::Api> its_api, Device its_device)
        : api(std::move(its_api)), device(std::move(its_device))
    {
    }
    ~ContextState()
    {
        if (is_lost())
            return;
        if (queue != nullptr)
            api->release_queue(queue);
        if (context != nullptr)
            api->release_context(context);
    }
    ContextState(const ContextState&) = delete;
    ContextState& operator=(const ContextState&) = delete;

    static Status check() { return gpu::opencl_process().check("OpenCL"); }
    static bool is_lost() { return gpu::opencl_process().unusable(); }
    // Until all that was launched is done: also in an out-of-order queue that the program gave.
    Status finish() const;
    cl_device_id device_id() const { return static_cast<cl_device_id>(device.id); }

    const std::shared_ptr<const cl::Api> api;
    const Device device;
    cl_context context = nullptr;
    cl_command_queue queue = nullptr;
};

// "clBuildProgram: CL_OUT_OF_HOST_MEMORY (-6)." after what was being done.
Error failure(Code code, std::string_view doing, const char* function, cl_int error);

}  // namespace hearth::opencl
