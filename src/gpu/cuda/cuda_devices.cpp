#include "base/error.hpp"
#include "gpu/cuda/cuda_memory.hpp"

#include <array>
#include <fmt/format.h>

namespace hearth::gpu {

namespace {

Result<device::Device> describe_device(const CudaDriver& driver, int index, int& ordinal)
{
    std::array<char, 256> name{};
    std::size_t bytes = 0;
    int error = driver.device(&ordinal, index);
    if (error == cuda::k_success)
        error = driver.device_name(name.data(), static_cast<int>(name.size()) - 1, ordinal);
    if (error == cuda::k_success)
        error = driver.device_bytes(&bytes, ordinal);
    if (error != cuda::k_success)
        return hearth::error(Code::invalid_argument,
                             "There is no CUDA device {}: {}. They are numbered from 0, and CUDA_VISIBLE_DEVICES "
                             "hides some.",
                             index, describe(driver, error));
    return device::Device{
        .backend = Backend::cuda, .index = index, .name = name.data(), .gpu = true, .total_bytes = bytes};
}

Result<std::shared_ptr<DeviceMemory>> open(int index, KeptCudaContext::Kind kind)
{
    const Result<const CudaDriver*> driver = cuda_driver();
    HEARTH_TRY(driver);
    int ordinal = 0;
    Result<device::Device> device = describe_device(**driver, index, ordinal);
    HEARTH_TRY(device);
    const Result<std::shared_ptr<const KeptCudaContext>> context = KeptCudaContext::take(**driver, ordinal, kind);
    HEARTH_TRY(context);
    const auto memory = std::make_shared<CudaMemory>(*std::move(device), *context);
    const ScopedContext current(**driver, (*context)->context());
    HEARTH_TRY(memory->prepare());
    return {std::shared_ptr<DeviceMemory>(memory)};
}

}  // namespace

BackendProbe probe_cuda()
{
    BackendProbe probe{Backend::cuda, {}, {}};
    const Result<const CudaDriver*> driver = cuda_driver();
    if (!driver) {
        probe.missing = driver.error();
        probe.missing.message += " For an NVIDIA GPU, install NVIDIA's driver.";
        return probe;
    }
    int count = 0;
    (*driver)->device_count(&count);
    for (int i = 0, ordinal = 0; i < count; ++i)
        if (Result<device::Device> device = describe_device(**driver, i, ordinal))
            probe.devices.push_back(*std::move(device));
    if (probe.devices.empty())
        probe.missing = {Code::unavailable,
                         "The CUDA driver is here and shows no device. Is one hidden by "
                         "CUDA_VISIBLE_DEVICES?",
                         {}};
    return probe;
}

Result<std::shared_ptr<DeviceMemory>> open_cuda_memory(int index)
{
    return open(index, KeptCudaContext::Kind::primary);
}

Result<std::shared_ptr<DeviceMemory>> open_cuda_memory_in_own_context(int index)
{
    return open(index, KeptCudaContext::Kind::own);
}

}  // namespace hearth::gpu
