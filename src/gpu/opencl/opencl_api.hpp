#pragma once

#include "hearth/result.hpp"

#include <memory>
#include <string>

// NOLINTBEGIN(readability-identifier-naming): names that the header looks for
#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // clCreateCommandQueue, which every driver has
// NOLINTEND(readability-identifier-naming)
#include <CL/cl.h>

// OpenCL's own header for its types and codes. The library itself is loaded at run time, and nothing is linked with it.

namespace hearth::gpu::cl {

// The functions that Hearth calls, and their members in Api.
#define HEARTH_OPENCL_FUNCTIONS(each)                                                                                  \
    each(get_platforms, clGetPlatformIDs) each(get_platform_info, clGetPlatformInfo) each(get_devices, clGetDeviceIDs) \
        each(get_device_info, clGetDeviceInfo) each(create_context, clCreateContext)                                   \
            each(get_context_info, clGetContextInfo) each(retain_context, clRetainContext)                             \
                each(release_context, clReleaseContext) each(create_queue, clCreateCommandQueue) each(                 \
                    retain_queue, clRetainCommandQueue) each(release_queue, clReleaseCommandQueue)                     \
                    each(finish, clFinish) each(create_program_with_source, clCreateProgramWithSource) each(           \
                        create_program_with_binary, clCreateProgramWithBinary) each(release_program, clReleaseProgram) \
                        each(build_program, clBuildProgram) each(get_program_info, clGetProgramInfo)                   \
                            each(get_program_build_info, clGetProgramBuildInfo) each(create_kernel, clCreateKernel)    \
                                each(release_kernel, clReleaseKernel) each(get_kernel_info, clGetKernelInfo)           \
                                    each(set_kernel_arg, clSetKernelArg) each(enqueue_kernel, clEnqueueNDRangeKernel)  \
                                        each(create_buffer, clCreateBuffer) each(release_mem, clReleaseMemObject)      \
                                            each(enqueue_read, clEnqueueReadBuffer)                                    \
                                                each(enqueue_copy, clEnqueueCopyBuffer)                                \
                                                    each(enqueue_write, clEnqueueWriteBuffer)                          \
                                                        each(enqueue_marker, clEnqueueMarkerWithWaitList)              \
                                                            each(flush, clFlush) each(get_event_info, clGetEventInfo)  \
                                                                each(release_event, clReleaseEvent)

// The functions of a loaded libOpenCL. Only the last may be null, since OpenCL 2.1 brought it.
struct Api {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared takes none
#define HEARTH_OPENCL_MEMBER(name, function) decltype(&(function)) name = nullptr;
    HEARTH_OPENCL_FUNCTIONS(HEARTH_OPENCL_MEMBER)
#undef HEARTH_OPENCL_MEMBER
    decltype(&clCreateProgramWithIL) create_program_with_il = nullptr;
};

// Loads HEARTH_OPENCL, or the system's libOpenCL.so.1.
Result<std::shared_ptr<const Api>> load();

// "CL_BUILD_PROGRAM_FAILURE (-11)"
std::string error_name(cl_int code);

}  // namespace hearth::gpu::cl
