#include "gpu/opencl_api.hpp"

#include "base/error.hpp"
#include "base/shared_library.hpp"

#include <array>
#include <cstdlib>
#include <fmt/format.h>

namespace hearth::gpu::cl {

namespace {

struct NamedError {
    Int code;
    const char* name;
};

constexpr std::array k_errors{
    NamedError{-1, "CL_DEVICE_NOT_FOUND"},
    NamedError{-2, "CL_DEVICE_NOT_AVAILABLE"},
    NamedError{-3, "CL_COMPILER_NOT_AVAILABLE"},
    NamedError{-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    NamedError{-5, "CL_OUT_OF_RESOURCES"},
    NamedError{-6, "CL_OUT_OF_HOST_MEMORY"},
    NamedError{-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    NamedError{-8, "CL_MEM_COPY_OVERLAP"},
    NamedError{-9, "CL_IMAGE_FORMAT_MISMATCH"},
    NamedError{-10, "CL_IMAGE_FORMAT_NOT_SUPPORTED"},
    NamedError{-11, "CL_BUILD_PROGRAM_FAILURE"},
    NamedError{-12, "CL_MAP_FAILURE"},
    NamedError{-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    NamedError{-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    NamedError{-15, "CL_COMPILE_PROGRAM_FAILURE"},
    NamedError{-16, "CL_LINKER_NOT_AVAILABLE"},
    NamedError{-17, "CL_LINK_PROGRAM_FAILURE"},
    NamedError{-18, "CL_DEVICE_PARTITION_FAILED"},
    NamedError{-19, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"},
    NamedError{-30, "CL_INVALID_VALUE"},
    NamedError{-31, "CL_INVALID_DEVICE_TYPE"},
    NamedError{-32, "CL_INVALID_PLATFORM"},
    NamedError{-33, "CL_INVALID_DEVICE"},
    NamedError{-34, "CL_INVALID_CONTEXT"},
    NamedError{-35, "CL_INVALID_QUEUE_PROPERTIES"},
    NamedError{-36, "CL_INVALID_COMMAND_QUEUE"},
    NamedError{-37, "CL_INVALID_HOST_PTR"},
    NamedError{-38, "CL_INVALID_MEM_OBJECT"},
    NamedError{-39, "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"},
    NamedError{-40, "CL_INVALID_IMAGE_SIZE"},
    NamedError{-41, "CL_INVALID_SAMPLER"},
    NamedError{-42, "CL_INVALID_BINARY"},
    NamedError{-43, "CL_INVALID_BUILD_OPTIONS"},
    NamedError{-44, "CL_INVALID_PROGRAM"},
    NamedError{-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    NamedError{-46, "CL_INVALID_KERNEL_NAME"},
    NamedError{-47, "CL_INVALID_KERNEL_DEFINITION"},
    NamedError{-48, "CL_INVALID_KERNEL"},
    NamedError{-49, "CL_INVALID_ARG_INDEX"},
    NamedError{-50, "CL_INVALID_ARG_VALUE"},
    NamedError{-51, "CL_INVALID_ARG_SIZE"},
    NamedError{-52, "CL_INVALID_KERNEL_ARGS"},
    NamedError{-53, "CL_INVALID_WORK_DIMENSION"},
    NamedError{-54, "CL_INVALID_WORK_GROUP_SIZE"},
    NamedError{-55, "CL_INVALID_WORK_ITEM_SIZE"},
    NamedError{-56, "CL_INVALID_GLOBAL_OFFSET"},
    NamedError{-57, "CL_INVALID_EVENT_WAIT_LIST"},
    NamedError{-58, "CL_INVALID_EVENT"},
    NamedError{-59, "CL_INVALID_OPERATION"},
    NamedError{-60, "CL_INVALID_GL_OBJECT"},
    NamedError{-61, "CL_INVALID_BUFFER_SIZE"},
    NamedError{-62, "CL_INVALID_MIP_LEVEL"},
    NamedError{-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    NamedError{-64, "CL_INVALID_PROPERTY"},
    NamedError{-65, "CL_INVALID_IMAGE_DESCRIPTOR"},
    NamedError{-66, "CL_INVALID_COMPILER_OPTIONS"},
    NamedError{-67, "CL_INVALID_LINKER_OPTIONS"},
    NamedError{-68, "CL_INVALID_DEVICE_PARTITION_COUNT"},
    NamedError{-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

}  // namespace

std::string error_name(Int code)
{
    for (const NamedError& error : k_errors)
        if (error.code == code)
            return fmt::format("{} ({})", error.name, code);
    return fmt::format("OpenCL error {}", code);
}

Result<std::shared_ptr<const Api>> load()
{
    const char* configured = std::getenv("HEARTH_OPENCL");
    const std::string path = configured != nullptr && *configured != '\0' ? configured : "libOpenCL.so.1";
    const Result<base::SharedLibrary> loaded = base::SharedLibrary::load(path);
    if (!loaded)
        return error(Code::unavailable,
                     "OpenCL is not installed here: {} Install ocl-icd-libopencl1 and a driver such as "
                     "pocl-opencl-icd, or say where libOpenCL is with HEARTH_OPENCL.",
                     loaded.error().message);
    auto api = std::make_shared<Api>();
    base::FunctionFinder library(*loaded);
    library.need(api->get_platforms, "clGetPlatformIDs");
    library.need(api->get_platform_info, "clGetPlatformInfo");
    library.need(api->get_devices, "clGetDeviceIDs");
    library.need(api->get_device_info, "clGetDeviceInfo");
    library.need(api->create_context, "clCreateContext");
    library.need(api->get_context_info, "clGetContextInfo");
    library.need(api->retain_context, "clRetainContext");
    library.need(api->release_context, "clReleaseContext");
    library.need(api->create_queue, "clCreateCommandQueue");
    library.need(api->retain_queue, "clRetainCommandQueue");
    library.need(api->release_queue, "clReleaseCommandQueue");
    library.need(api->finish, "clFinish");
    library.need(api->create_program_with_source, "clCreateProgramWithSource");
    library.need(api->create_program_with_binary, "clCreateProgramWithBinary");
    library.need(api->release_program, "clReleaseProgram");
    library.need(api->build_program, "clBuildProgram");
    library.need(api->get_program_info, "clGetProgramInfo");
    library.need(api->get_program_build_info, "clGetProgramBuildInfo");
    library.need(api->create_kernel, "clCreateKernel");
    library.need(api->release_kernel, "clReleaseKernel");
    library.need(api->get_kernel_info, "clGetKernelInfo");
    library.need(api->set_kernel_arg, "clSetKernelArg");
    library.need(api->enqueue_kernel, "clEnqueueNDRangeKernel");
    library.need(api->create_buffer, "clCreateBuffer");
    library.need(api->release_mem, "clReleaseMemObject");
    library.need(api->enqueue_read, "clEnqueueReadBuffer");
    library.need(api->enqueue_copy, "clEnqueueCopyBuffer");
    library.need(api->enqueue_write, "clEnqueueWriteBuffer");
    if (!library.missing().empty())
        return error(Code::unavailable, "{} is no libOpenCL that Hearth knows: it lacks {}.", path, library.missing());
    api->create_program_with_il =
        loaded->find<std::remove_pointer_t<decltype(api->create_program_with_il)>>("clCreateProgramWithIL");
    return std::shared_ptr<const Api>(std::move(api));
}

}  // namespace hearth::gpu::cl
