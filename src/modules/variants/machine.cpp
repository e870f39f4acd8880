#include "modules/variants/machine.hpp"

#include <array>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>

namespace hearth::cuda {

namespace {

// libcuda.so.1 is a link to libcuda.so.580.159.04.
std::string version_in_file_name(const gpu::CudaDriver& driver)
{
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(driver.launch), &info) == 0 || info.dli_fname == nullptr)
        return {};
    std::error_code error;
    const std::string file = std::filesystem::canonical(info.dli_fname, error).filename().string();
    const std::size_t at = file.find(".so.");
    if (error || at == std::string::npos)
        return {};
    std::string version = file.substr(at + 4);
    // On Windows' Linux it is libcuda.so.1.1, whatever the driver.
    return version.starts_with("1.") || version == "1" ? std::string{} : version;
}

}  // namespace

Machine current_machine(const gpu::CudaDriver& driver)
{
    Machine machine;
    std::array<char, 256> name{};
    int device = 0;
    if (driver.current_device(&device) == gpu::cuda::k_success &&
        driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device) == gpu::cuda::k_success)
        machine.device = name.data();
    machine.driver = version_in_file_name(driver);
    if (int version = 0; machine.driver.empty() && driver.driver_version(&version) == gpu::cuda::k_success)
        machine.driver = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
    return machine;
}

}  // namespace hearth::cuda
