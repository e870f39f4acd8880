#include "gpu/cuda_driver.hpp"

#include "base/shared_library.hpp"

#include <fmt/format.h>

namespace hearth::gpu {

namespace {

constexpr int k_major = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int k_minor = 76;

Error no_device(std::string why)
{
    return {Code::unavailable,
            fmt::format("There is no CUDA device here: {}. Name the target instead, such as \"sm_90\".", why),
            {}};
}

}  // namespace

Result<std::string> target_of_device(int ordinal)
{
    const Result<base::SharedLibrary> driver = base::SharedLibrary::load("libcuda.so.1");
    if (!driver)
        return no_device("the driver (libcuda.so.1) is not installed");
    auto* init = driver->find<int(unsigned)>("cuInit");
    auto* get = driver->find<int(int*, int)>("cuDeviceGet");
    auto* attribute = driver->find<int(int*, int, int)>("cuDeviceGetAttribute");
    if (init == nullptr || get == nullptr || attribute == nullptr)
        return no_device("the driver (libcuda.so.1) is not one that Hearth knows");
    int device = 0;
    int major = 0;
    int minor = 0;
    if (const int error = init(0); error != 0)
        return no_device(fmt::format("cuInit gives error {}", error));
    if (get(&device, ordinal) != 0 || attribute(&major, k_major, device) != 0 ||
        attribute(&minor, k_minor, device) != 0)
        return no_device(fmt::format("the driver knows no device {}", ordinal));
    return fmt::format("sm_{}{}", major, minor);
}

}  // namespace hearth::gpu
