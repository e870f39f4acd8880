// A kernel that gets faster while it runs: a stencil whose radius is known only at run time. One variant has it
// compiled in. Run it twice: the second process starts with what the first has found.

#include "buffer_budget/device_memory.hpp"
#include "hearth/variants.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <vector>

namespace {

constexpr int k_width = 4096;
constexpr int k_radius = 4;
constexpr int k_steps = 3000;

constexpr const char* k_stencil = R"(
extern "C" __global__ void stencil(const float* in, float* out, int width, int radius)
{
#ifdef RADIUS
    radius = RADIUS;  // a constant: the loops below are unrolled
#endif
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < radius || y < radius || x >= width - radius || y >= width - radius)
        return;
    float sum = 0;
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx)
            sum += in[(y + dy) * width + x + dx];
    out[y * width + x] = sum / ((2 * radius + 1) * (2 * radius + 1));
})";

void print(const hearth::cuda::VariantRecord& record)
{
    fmt::print("{} on {}, driver {}: {}\n", record.shape, record.device, record.driver,
               record.winner.empty() ? "not settled yet" : fmt::format("\"{}\" runs", record.winner));
    for (const hearth::cuda::MeasuredVariant& variant : record.variants)
        fmt::print("  {:20} {:8.1f} us  x{:.3f}  {}\n", variant.name,
                   static_cast<double>(variant.median.count()) * 1e-3, variant.ratio, to_string(variant.state));
}

int fail(const hearth::Error& error)
{
    fmt::print(stderr, "{}\n{}\n", error.message, error.log);
    return EXIT_FAILURE;
}

}  // namespace

int main()
{
    DeviceMemory device;
    const std::vector<float> ones(std::size_t{k_width} * k_width, 1.0F);
    const std::size_t bytes = ones.size() * sizeof(float);
    const std::uint64_t in = device.allocate(bytes);
    const std::uint64_t out = device.allocate(bytes);
    if (in == 0 || out == 0 || !device.write(in, ones.data(), bytes) || !device.write(out, ones.data(), bytes)) {
        fmt::print(stderr, "{} has no room for two buffers of {} bytes.\n", device.name(), bytes);
        return EXIT_FAILURE;
    }

    const hearth::cuda::Kernel stencil(
        hearth::Cache::shared(), {.source = k_stencil}, "stencil",
        hearth::cuda::Variants{.others = {hearth::cuda::specialise({{"RADIUS", 3}}, "radius compiled in"),
                                          {.name = "32 registers", .options = {"-maxrregcount=32"}}}});
    const hearth::cuda::LaunchConfig config{.grid = {k_width / 32, k_width / 8}, .block = {32, 8}};
    std::vector<float> result(ones.size());
    for (int step = 0; step < k_steps; ++step) {
        if (const hearth::Status launched = stencil.launch(config, in, out, k_width, k_radius); !launched.ok()) {
            if (launched.error().code != hearth::Code::unavailable)
                return fail(launched.error());
            fmt::print("skipped: {}\n", launched.error().message);
            return EXIT_SUCCESS;
        }
        if (step == 0)
            print(stencil.variants().at(0));
        if (step % 100 == 0 && !device.read(result.data(), out, bytes))
            return fail({hearth::Code::unavailable, "The result cannot be read.", {}});
    }
    print(stencil.variants().at(0));
    for (const float value : result)
        if (value < 0.999F || value > 1.001F)
            return fail({hearth::Code::corrupt, "The mean of ones is not one.", {}});
    device.free(in);
    device.free(out);
    return EXIT_SUCCESS;
}
