#include "support/device_memories.hpp"
#include "tier_conformance.hpp"

namespace hearth::test {

namespace {

// The first GPU of the backend, or its first device when it has none.
int best_device(vram::Backend backend)
{
    for (const vram::BackendReport& report : vram::backends())
        for (const vram::Device& device : report.devices)
            if (report.backend == backend && device.gpu)
                return device.index;
    return 0;
}

TierCase vram_case(const std::string& name, vram::Backend backend, std::uint64_t effort, bool on_gpu = false)
{
    return {name,
            [name, backend, on_gpu](const TierRequest& request) -> Result<std::unique_ptr<Tier>> {
                const int device = on_gpu ? best_device(backend) : 0;
                Result<std::unique_ptr<Tier>> tier =
                    vram::tier(
                        {.name = name, .backend = backend, .devices = {device}, .fallback = vram::Fallback::none})
                        .open(request.context);
                if (tier)
                    tier.value()->set_limits(request.limits, Victims::discard);
                return tier;
            },
            effort,
            [backend, on_gpu] {
                if (on_gpu && best_device(backend) == 0)
                    return std::string("It lists no GPU behind another device here.");
                const Result<std::shared_ptr<gpu::DeviceMemory>> memory = gpu::open_device_memory(backend, 0);
                return memory ? std::string{} : memory.error().message;
            }};
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(vram_host, TierConformance, testing::Values(vram_case("vram_host", vram::Backend::host, 1)));
INSTANTIATE_TEST_SUITE_P(vram_opencl, TierConformance,
                         testing::Values(vram_case("vram_opencl", vram::Backend::opencl, 10)));
INSTANTIATE_TEST_SUITE_P(vram_opencl_gpu, TierConformance,
                         testing::Values(vram_case("vram_opencl_gpu", vram::Backend::opencl, 20, true)));
INSTANTIATE_TEST_SUITE_P(vram_webgpu, TierConformance,
                         testing::Values(vram_case("vram_webgpu", vram::Backend::webgpu, 20)));
INSTANTIATE_TEST_SUITE_P(vram_cuda, TierConformance, testing::Values(vram_case("vram_cuda", vram::Backend::cuda, 10)));

}  // namespace hearth::test
