// Kernels that declare variants, beside the same kernels without: where a variant helps, and where none can. The notes
// are the rows of docs/variants.md.

#include "benches.hpp"
#include "gpu/cuda/cuda_context.hpp"
#include "hearth/hearth.hpp"
#include "scratch.hpp"
#include "timing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <thread>

namespace hearth::bench {

namespace {

constexpr int k_batch = 50;             // launches between two waits for the device
constexpr int k_batches = 21;           // once it is settled
constexpr int k_most_launches = 20000;  // until it is settled

constexpr const char* k_kernels = R"(
#ifndef TILE
#define TILE 16
#endif
#ifndef ROWS
#define ROWS 1
#endif
#ifndef BLOCK
#define BLOCK 32
#endif
// Square matrices. A block computes TILE x TILE elements, each thread ROWS of them, one below the other.
extern "C" __global__ void gemm(const float* a, const float* b, float* c, int n)
{
#ifdef N
    n = N;
#endif
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    const int column = blockIdx.x * TILE + threadIdx.x;
    float sum[ROWS] = {};
    for (int step = 0; step < n; step += TILE) {
        for (int r = 0; r < ROWS; ++r) {
            const int y = threadIdx.y + r * (TILE / ROWS);
            left[y][threadIdx.x] = a[(blockIdx.y * TILE + y) * n + step + threadIdx.x];
            right[y][threadIdx.x] = b[(step + y) * n + column];
        }
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            for (int r = 0; r < ROWS; ++r)
                sum[r] += left[threadIdx.y + r * (TILE / ROWS)][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    for (int r = 0; r < ROWS; ++r)
        c[(blockIdx.y * TILE + threadIdx.y + r * (TILE / ROWS)) * n + column] = sum[r];
}
// The sum of n numbers; a block adds its part to *out.
extern "C" __global__ void reduce(const float* in, float* out, int n)
{
    __shared__ float parts[BLOCK];
    float sum = 0;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        sum += in[i];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(out, parts[0]);
}
// A weighted mean of the (2 * radius + 1) x (2 * radius + 1) neighbours.
extern "C" __global__ void stencil(const float* in, const float* weights, float* out, int width, int radius)
{
#ifdef RADIUS
    radius = RADIUS;
#endif
#ifdef WIDTH
    width = WIDTH;
#endif
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < radius || y < radius || x >= width - radius || y >= width - radius)
        return;
    float sum = 0;
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx)
            sum += weights[(dy + radius) * (2 * radius + 1) + dx + radius] * in[(y + dy) * width + x + dx];
    out[y * width + x] = sum;
}
extern "C" __global__ void copy(const float4* in, float4* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i];
})";

using cuda::Argument;
using cuda::LaunchConfig;

cuda::Relaunch block_of(int x, int y, int per_block, int n, int dimensions)
{
    return [=](const LaunchConfig& asked, std::span<const Argument>) {
        LaunchConfig config = asked;
        config.block = {x, y};
        const int blocks = (n + per_block - 1) / per_block;
        config.grid = {blocks, dimensions == 2 ? blocks : 1};
        return config;
    };
}

class VariantsBench {
public:
    VariantsBench(const gpu::CudaDriver& driver, Report& report) : m_driver(driver), m_report(report)
    {
        m_driver.primary_retain(&m_context, 0);
        m_driver.set_current(m_context);
        m_driver.create_stream(&m_stream, gpu::cuda::k_stream_non_blocking);
        for (std::uint64_t& buffer : m_buffers)
            m_driver.allocate(&buffer, k_bytes);
        CacheOptions options;
        options.directory = m_scratch.path("cache");
        options.maintenance = Maintenance::by_hand;
        m_cache.emplace(Cache::open(options).value());
    }
    ~VariantsBench()
    {
        for (const std::uint64_t buffer : m_buffers)
            m_driver.free(buffer);
        m_driver.destroy_stream(m_stream);
        m_cache.reset();
        cuda::unload_unused_modules();
        m_driver.set_current(nullptr);
        m_driver.primary_release(0);
    }
    VariantsBench(const VariantsBench&) = delete;
    VariantsBench& operator=(const VariantsBench&) = delete;

    void run()
    {
        m_report.note("variants: | kernel | variant | median us | beside the first (99.9 % interval) | result |");
        constexpr int k_n = 2048;
        measure("gemm",
                {{.name = "tile 32", .options = {"-DTILE=32"}, .relaunch = block_of(32, 32, 32, k_n, 2)},
                 {.name = "tile 32, 4 rows a thread",
                  .options = {"-DTILE=32", "-DROWS=4"},
                  .relaunch = block_of(32, 8, 32, k_n, 2)},
                 {.name = "tile 32, 8 rows a thread",
                  .options = {"-DTILE=32", "-DROWS=8"},
                  .relaunch = block_of(32, 4, 32, k_n, 2)},
                 {.name = "tile 32, 8 rows, n constant",
                  .options = {"-DTILE=32", "-DROWS=8"},
                  .constants = {{"N", 3}},
                  .relaunch = block_of(32, 4, 32, k_n, 2)},
                 {.name = "tile 8", .options = {"-DTILE=8"}, .relaunch = block_of(8, 8, 8, k_n, 2)}},
                {.grid = {k_n / 16, k_n / 16}, .block = {16, 16}, .stream = m_stream}, m_buffers[0], m_buffers[1],
                m_buffers[2], k_n);
        constexpr int k_numbers = 1 << 25;
        const auto reducing = [&](int block) {
            return cuda::Variant{.name = fmt::format("block {}", block),
                                 .options = {fmt::format("-DBLOCK={}", block)},
                                 .relaunch = block_of(block, 1, block * 128, k_numbers, 1)};
        };
        measure("reduce", {reducing(128), reducing(256), reducing(512), reducing(1024)},
                {.grid = k_numbers / (32 * 128), .block = 32, .stream = m_stream}, m_buffers[0], m_buffers[1],
                k_numbers);
        measure("stencil",
                {cuda::specialise({{"RADIUS", 4}}, "radius constant"),
                 cuda::specialise({{"RADIUS", 4}, {"WIDTH", 3}}, "radius and width constant"),
                 {.name = "64 registers", .options = {"-maxrregcount=64"}}},
                {.grid = {4096 / 32, 4096 / 8}, .block = {32, 8}, .stream = m_stream}, m_buffers[0], m_buffers[1],
                m_buffers[2], 4096, 4);
        constexpr int k_copied = 1 << 24;  // of 16 bytes
        measure("copy",
                {{.name = "block 512", .relaunch = block_of(512, 1, 512, k_copied, 1)},
                 {.name = "block 128", .relaunch = block_of(128, 1, 128, k_copied, 1)},
                 cuda::specialise({{"COUNT", 2}}, "n constant")},
                {.grid = k_copied / 256, .block = 256, .stream = m_stream}, m_buffers[0], m_buffers[1], k_copied);
    }

private:
    static constexpr std::size_t k_bytes = 256_MiB;

    template <class... Values>
    void measure(const std::string& name, std::vector<cuda::Variant> others, const LaunchConfig& config,
                 const Values&... values)
    {
        const nvrtc::Program program{.source = k_kernels};
        const cuda::Kernel plain(*m_cache, program, name);
        const cuda::Kernel tuned(*m_cache, program, name, cuda::Variants{.others = others, .after_launches = 20});
        const auto launch = [&](const cuda::Kernel& kernel, int times) {
            for (int i = 0; i < times; ++i)
                if (const Status launched = kernel.launch(config, values...); !launched.ok())
                    throw std::runtime_error(launched.error().message + launched.error().log);
            m_driver.finish_stream(m_stream);
        };
        launch(plain, k_batch);
        const auto seconds_of = [&](const cuda::Kernel& kernel, int times) {
            const std::uint64_t start = now_ns();
            launch(kernel, times);
            return static_cast<double>(now_ns() - start) * 1e-9;
        };

        // Until it is settled: the same number of launches as the plain kernel, batch by batch.
        double finding_out = 0;
        double meanwhile = 0;
        int launches = 0;
        while (launches < k_most_launches && (tuned.variants().empty() || tuned.variants().front().winner.empty())) {
            finding_out += seconds_of(tuned, k_batch);
            meanwhile += seconds_of(plain, k_batch);
            launches += k_batch;
        }
        const Pair settled = side_by_side(
            k_batches, [&] { launch(tuned, k_batch); }, [&] { launch(plain, k_batch); });
        m_report.add_beside(fmt::format("variants.{}.settled", name), settled.first * (1e6 / k_batch), "us",
                            "the kernel without variants", settled.second * (1e6 / k_batch));
        tell(name, tuned.variants().at(0), launches, finding_out - meanwhile, finding_out);
    }

    void tell(const std::string& name, const cuda::VariantRecord& record, int launches, double cost, double all)
    {
        for (const cuda::MeasuredVariant& variant : record.variants)
            m_report.note(fmt::format("variants: | {} | {} | {:.1f} | {} | {} |", name, variant.name,
                                      static_cast<double>(variant.median.count()) * 1e-3,
                                      variant.highest == 0 ? std::string("-")
                                                           : fmt::format("{:.3f} ({:.3f} to {:.3f})", variant.ratio,
                                                                         variant.lowest, variant.highest),
                                      variant.why.empty() ? std::string(to_string(variant.state)) : variant.why));
        m_report.note(fmt::format("variants: {}: winner \"{}\" after {} launches; until then {:.1f} ms ({} launches), "
                                  "{:+.1f} ms beside the kernel without variants",
                                  name, record.winner, record.launches, all * 1e3, launches, cost * 1e3));
    }

    const gpu::CudaDriver& m_driver;
    Report& m_report;
    Scratch m_scratch;
    CUctx_st* m_context = nullptr;
    CUstream_st* m_stream = nullptr;
    std::array<std::uint64_t, 3> m_buffers{};
    std::optional<Cache> m_cache;
};

}  // namespace

void bench_variants(Report& report)
{
    const Result<const gpu::CudaDriver*> driver = gpu::cuda_driver();
    if (!driver)
        return report.note("variants.*: skipped: no GPU");
    VariantsBench(**driver, report).run();
}

}  // namespace hearth::bench
