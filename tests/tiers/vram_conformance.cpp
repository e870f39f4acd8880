#include "support/device_memories.hpp"
#include "tier_conformance.hpp"

namespace hearth::test {

namespace {

// The first GPU of the backend, or its first device when it has none.
int best_device(device::Backend backend)
{
    for (const device::BackendReport& report : device::backends())
        for (const device::Device& device : report.devices)
            if (report.backend == backend && device.gpu)
                return device.index;
    return 0;
}

TierCase vram_case(const std::string& name, device::Backend backend, std::uint64_t effort, bool on_gpu = false)
{
    return {.name = name,
            .open = [name, backend, on_gpu](const TierRequest& request) -> Result<std::unique_ptr<Tier>> {
                const int device = on_gpu ? best_device(backend) : 0;
                Result<std::unique_ptr<Tier>> tier =
                    vram({.name = name, .backend = backend, .devices = {device}, .fallback = device::Fallback::none})
                        .open(request.context);
                if (tier)
                    tier.value()->set_limits(request.limits, Victims::discard);
                return tier;
            },
            .effort = effort,
            .absent =
                [backend, on_gpu] {
                    if (on_gpu && best_device(backend) == 0)
                        return std::string("It lists no GPU behind another device here.");
                    const Result<std::shared_ptr<gpu::DeviceMemory>> memory = gpu::open_device_memory(backend, 0);
                    return memory ? std::string{} : memory.error().message;
                },
            .weighs = false};
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(vram_host, TierConformance, testing::Values(vram_case("vram_host", device::Backend::host, 1)));
INSTANTIATE_TEST_SUITE_P(vram_opencl, TierConformance,
                         testing::Values(vram_case("vram_opencl", device::Backend::opencl, 10)));
INSTANTIATE_TEST_SUITE_P(vram_opencl_gpu, TierConformance,
                         testing::Values(vram_case("vram_opencl_gpu", device::Backend::opencl, 20, true)));
INSTANTIATE_TEST_SUITE_P(vram_webgpu, TierConformance,
                         testing::Values(vram_case("vram_webgpu", device::Backend::webgpu, 20)));
INSTANTIATE_TEST_SUITE_P(vram_cuda, TierConformance,
                         testing::Values(vram_case("vram_cuda", device::Backend::cuda, 10)));

}  // namespace hearth::test
