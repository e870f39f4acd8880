#include "gpu/cuda/cuda_driver.hpp"

#include "base/error.hpp"
#include "base/shared_library.hpp"

#include <atomic>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <utility>

namespace hearth::gpu {

namespace {

constexpr const char* k_library = "libcuda.so.1";

// Once set it stays: the driver is never unloaded.
constinit std::atomic<const CudaDriver*> g_driver{nullptr};

Error no_device(const std::string& why)
{
    return error(Code::unavailable, "There is no CUDA device here: {}.", why);
}

// A device that is hidden looks to the driver as if there were none.
std::string hidden_by()
{
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return visible == nullptr
               ? std::string{}
               : fmt::format(". CUDA_VISIBLE_DEVICES is \"{}\", and what it does not name is hidden", visible);
}

Error no_target(Error error)
{
    error.message += " To compile without one, name the target, such as \"sm_90\".";
    return error;
}

// Fills in the table; returns the name of the first required function that is missing.
const char* find_functions(const base::SharedLibrary& library, CudaDriver& driver)
{
    const char* missing = nullptr;
    const auto take = [&]<class... Parameters>(int (*&function)(Parameters...), const char* name) {
        function = library.find<int(Parameters...)>(name);
        return function != nullptr;
    };
    const auto need = [&](auto& function, const char* name) {
        if (!take(function, name) && missing == nullptr)
            missing = name;
    };
    need(driver.init, "cuInit");
    need(driver.driver_version, "cuDriverGetVersion");
    need(driver.error_name, "cuGetErrorName");
    need(driver.error_text, "cuGetErrorString");
    need(driver.device_count, "cuDeviceGetCount");
    need(driver.device, "cuDeviceGet");
    need(driver.device_attribute, "cuDeviceGetAttribute");
    need(driver.device_name, "cuDeviceGetName");
    need(driver.device_bytes, "cuDeviceTotalMem_v2");
    need(driver.create_context, "cuCtxCreate_v2");
    need(driver.destroy_context, "cuCtxDestroy_v2");
    need(driver.primary_retain, "cuDevicePrimaryCtxRetain");
    need(driver.primary_release, "cuDevicePrimaryCtxRelease_v2");
    need(driver.current_context, "cuCtxGetCurrent");
    need(driver.set_current, "cuCtxSetCurrent");
    need(driver.push_current, "cuCtxPushCurrent_v2");
    need(driver.pop_current, "cuCtxPopCurrent_v2");
    need(driver.current_device, "cuCtxGetDevice");
    need(driver.load, "cuModuleLoadData");
    need(driver.load_with_options, "cuModuleLoadDataEx");
    need(driver.unload, "cuModuleUnload");
    need(driver.function, "cuModuleGetFunction");
    need(driver.function_attribute, "cuFuncGetAttribute");
    need(driver.set_function_attribute, "cuFuncSetAttribute");
    need(driver.launch, "cuLaunchKernel");
    need(driver.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
    need(driver.capture_status, "cuStreamIsCapturing");
    need(driver.memory_info, "cuMemGetInfo_v2");
    need(driver.allocate, "cuMemAlloc_v2");
    need(driver.free, "cuMemFree_v2");
    need(driver.allocate_host, "cuMemHostAlloc");
    need(driver.free_host, "cuMemFreeHost");
    need(driver.pointer_attribute, "cuPointerGetAttribute");
    need(driver.copy_to_device, "cuMemcpyHtoDAsync_v2");
    need(driver.copy_to_host, "cuMemcpyDtoHAsync_v2");
    need(driver.copy_between, "cuMemcpyPeerAsync");
    need(driver.create_stream, "cuStreamCreate");
    need(driver.destroy_stream, "cuStreamDestroy_v2");
    need(driver.finish_stream, "cuStreamSynchronize");
    need(driver.wait_in_stream, "cuStreamWaitEvent");
    need(driver.create_event, "cuEventCreate");
    need(driver.destroy_event, "cuEventDestroy_v2");
    need(driver.record_event, "cuEventRecord");
    need(driver.query_event, "cuEventQuery");
    need(driver.event_time, "cuEventElapsedTime");
    take(driver.context_id, "cuCtxGetId");
    take(driver.load_function, "cuFuncLoad");
    take(driver.parameter_info, "cuFuncGetParamInfo");
    take(driver.function_count, "cuModuleGetFunctionCount");
    take(driver.list_functions, "cuModuleEnumerateFunctions");
    take(driver.function_name, "cuFuncGetName");
    return missing;
}

}  // namespace

const CudaDriver* loaded_cuda_driver() noexcept
{
    // acquire: pairs with the release in cuda_driver(), so that the table is seen filled in.
    return g_driver.load(std::memory_order_acquire);
}

Result<const CudaDriver*> cuda_driver()
{
    if (const CudaDriver* driver = loaded_cuda_driver())
        return driver;
    const Result<base::SharedLibrary> library = base::SharedLibrary::load(k_library);
    if (!library)
        return no_device(fmt::format("the driver ({}) is not installed", k_library));
    auto driver = std::make_unique<CudaDriver>();
    if (const char* missing = find_functions(*library, *driver)) {
        int version = 0;
        if (driver->driver_version != nullptr)
            driver->driver_version(&version);
        return no_device(fmt::format("the driver ({}, CUDA {}.{}) has no {} and is older than any that Hearth knows",
                                     k_library, version / 1000, version % 1000 / 10, missing));
    }
    if (const int error = driver->init(0); error != cuda::k_success)
        return no_device(fmt::format("cuInit gives {}{}", describe(*driver, error), hidden_by()));
    // Two threads may come here at once: loading and initialising again does no harm, and the first table counts.
    const CudaDriver* first = nullptr;
    if (g_driver.compare_exchange_strong(first, driver.get(), std::memory_order_acq_rel, std::memory_order_acquire))
        first = driver.release();
    return first;
}

std::string describe(const CudaDriver& driver, int error)
{
    const char* name = nullptr;
    const char* text = nullptr;
    if (driver.error_name(error, &name) != cuda::k_success || name == nullptr)
        name = "a CUDA error without a name";
    if (driver.error_text(error, &text) != cuda::k_success || text == nullptr)
        return fmt::format("{} ({})", name, error);
    return fmt::format("{} ({}): {}", name, error, text);
}

Result<std::string> target_of_device(const CudaDriver& driver, int device)
{
    int major = 0;
    int minor = 0;
    for (const auto& [value, attribute] : {std::pair{&major, cuda::k_compute_major}, {&minor, cuda::k_compute_minor}})
        if (const int error = driver.device_attribute(value, attribute, device); error != cuda::k_success)
            return no_target(no_device(fmt::format("device {} cannot be asked: {}", device, describe(driver, error))));
    return fmt::format("sm_{}{}", major, minor);
}

Result<std::string> target_of_device(int ordinal)
{
    const Result<const CudaDriver*> driver = cuda_driver();
    if (!driver)
        return no_target(driver.error());
    int device = 0;
    if (const int error = (*driver)->device(&device, ordinal); error != cuda::k_success)
        return no_target(no_device(fmt::format("the driver knows no device {}", ordinal)));
    return target_of_device(**driver, device);
}

}  // namespace hearth::gpu
