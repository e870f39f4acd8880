#include "gpu/opencl/opencl_api.hpp"

#include "base/error.hpp"
#include "base/shared_library.hpp"

#include <CL/cl_ext.h>
#include <cstdlib>
#include <fmt/format.h>

namespace hearth::gpu::cl {

namespace {

// The codes of the functions that are called here. Null for other codes.
const char* name_of(cl_int code)
{
    switch (code) {
#define HEARTH_NAMED(name)                                                                                             \
    case name:                                                                                                         \
        return #name;
        HEARTH_NAMED(CL_DEVICE_NOT_FOUND)
        HEARTH_NAMED(CL_DEVICE_NOT_AVAILABLE)
        HEARTH_NAMED(CL_COMPILER_NOT_AVAILABLE)
        HEARTH_NAMED(CL_MEM_OBJECT_ALLOCATION_FAILURE)
        HEARTH_NAMED(CL_OUT_OF_RESOURCES)
        HEARTH_NAMED(CL_OUT_OF_HOST_MEMORY)
        HEARTH_NAMED(CL_MEM_COPY_OVERLAP)
        HEARTH_NAMED(CL_BUILD_PROGRAM_FAILURE)
        HEARTH_NAMED(CL_COMPILE_PROGRAM_FAILURE)
        HEARTH_NAMED(CL_LINK_PROGRAM_FAILURE)
        HEARTH_NAMED(CL_INVALID_VALUE)
        HEARTH_NAMED(CL_INVALID_DEVICE_TYPE)
        HEARTH_NAMED(CL_INVALID_PLATFORM)
        HEARTH_NAMED(CL_INVALID_DEVICE)
        HEARTH_NAMED(CL_INVALID_CONTEXT)
        HEARTH_NAMED(CL_INVALID_QUEUE_PROPERTIES)
        HEARTH_NAMED(CL_INVALID_COMMAND_QUEUE)
        HEARTH_NAMED(CL_INVALID_HOST_PTR)
        HEARTH_NAMED(CL_INVALID_MEM_OBJECT)
        HEARTH_NAMED(CL_INVALID_BINARY)
        HEARTH_NAMED(CL_INVALID_BUILD_OPTIONS)
        HEARTH_NAMED(CL_INVALID_PROGRAM)
        HEARTH_NAMED(CL_INVALID_PROGRAM_EXECUTABLE)
        HEARTH_NAMED(CL_INVALID_KERNEL_NAME)
        HEARTH_NAMED(CL_INVALID_KERNEL_DEFINITION)
        HEARTH_NAMED(CL_INVALID_KERNEL)
        HEARTH_NAMED(CL_INVALID_ARG_INDEX)
        HEARTH_NAMED(CL_INVALID_ARG_VALUE)
        HEARTH_NAMED(CL_INVALID_ARG_SIZE)
        HEARTH_NAMED(CL_INVALID_KERNEL_ARGS)
        HEARTH_NAMED(CL_INVALID_WORK_DIMENSION)
        HEARTH_NAMED(CL_INVALID_WORK_GROUP_SIZE)
        HEARTH_NAMED(CL_INVALID_WORK_ITEM_SIZE)
        HEARTH_NAMED(CL_INVALID_GLOBAL_OFFSET)
        HEARTH_NAMED(CL_INVALID_OPERATION)
        HEARTH_NAMED(CL_INVALID_BUFFER_SIZE)
        HEARTH_NAMED(CL_INVALID_GLOBAL_WORK_SIZE)
        HEARTH_NAMED(CL_INVALID_PROPERTY)
        HEARTH_NAMED(CL_PLATFORM_NOT_FOUND_KHR)
#undef HEARTH_NAMED
    default:
        return nullptr;
    }
}

}  // namespace

std::string error_name(cl_int code)
{
    const char* const name = name_of(code);
    return name != nullptr ? fmt::format("{} ({})", name, code) : fmt::format("OpenCL error {}", code);
}

Result<std::shared_ptr<const Api>> load()
{
    const char* configured = std::getenv("HEARTH_OPENCL");
    const std::string path = configured != nullptr && *configured != '\0' ? configured : "libOpenCL.so.1";
    const Result<base::SharedLibrary> loaded = base::SharedLibrary::load(path);
    if (!loaded)
        return error(
            Code::unavailable,
            "OpenCL is not installed here: {} Install ocl-icd-libopencl1 and a driver such as pocl-opencl-icd, "
            "or say where libOpenCL is with HEARTH_OPENCL.",
            loaded.error().message);
    auto api = std::make_shared<Api>();
    base::FunctionFinder library(*loaded);
#define HEARTH_OPENCL_NEED(name, function) library.need(api->name, #function);
    HEARTH_OPENCL_FUNCTIONS(HEARTH_OPENCL_NEED)
#undef HEARTH_OPENCL_NEED
    if (!library.missing().empty())
        return error(Code::unavailable, "{} is no libOpenCL that Hearth knows: it lacks {}.", path, library.missing());
    api->create_program_with_il =
        loaded->find<std::remove_pointer_t<decltype(api->create_program_with_il)>>("clCreateProgramWithIL");
    return std::shared_ptr<const Api>(std::move(api));
}

}  // namespace hearth::gpu::cl
