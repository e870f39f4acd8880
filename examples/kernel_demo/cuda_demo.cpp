#include "cases.hpp"
#include "cuda_memory.hpp"
#include "demos.hpp"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <functional>

namespace demo {

namespace {

using hearth::cuda::Kernel;

struct Case {
    std::string label;
    std::string file;
    std::string entry;
    bool includes_cuda = false;
    std::function<bool(CudaMemory&, const Kernel&)> launch;
};

bool launch_add(CudaMemory& memory, const Kernel& kernel)
{
    const int n = 10'000;
    const std::vector<float> a = numbers(n, 1);
    const std::vector<float> b = numbers(n, 2);
    const std::uint64_t c = memory.copy_in(std::vector<float>(n));
    return kernel.launch({.grid = (n + 255) / 256, .block = 256}, memory.copy_in(a), memory.copy_in(b), c, n).ok() &&
           close_to(memory.copy_out(c, n), sums(a, b));
}

bool launch_gemm(CudaMemory& memory, const Kernel& kernel, int tile)
{
    const int n = 100;
    const std::vector<float> a = numbers(n * n, 3);
    const std::vector<float> b = numbers(n * n, 4);
    const std::uint64_t c = memory.copy_in(std::vector<float>(n * n));
    const int blocks = (n + tile - 1) / tile;
    return kernel.launch({.grid = {blocks, blocks}, .block = {tile, tile}}, memory.copy_in(a), memory.copy_in(b), c, n)
               .ok() &&
           close_to(memory.copy_out(c, n * n), product(a, b, n));
}

bool launch_sum(CudaMemory& memory, const Kernel& kernel, int blocks)
{
    const int n = 100'000;
    const std::vector<float> x = numbers(n, 5);
    const std::uint64_t total = memory.copy_in({0});
    return kernel.launch({.grid = blocks, .block = 256}, memory.copy_in(x), total, n).ok() &&
           close_to(memory.copy_out(total, 1), {sum(x)});
}

bool launch_softmax(CudaMemory& memory, const Kernel& kernel)
{
    const int rows = 16;
    const int columns = 1000;
    const std::vector<float> x = numbers(rows * columns, 6);
    const std::uint64_t y = memory.copy_in(std::vector<float>(x.size()));
    return kernel.launch({.grid = rows, .block = 256}, memory.copy_in(x), y, columns).ok() &&
           close_to(memory.copy_out(y, x.size()), softmax(x, columns));
}

bool launch_scan(CudaMemory& memory, const Kernel& kernel)
{
    const int n = 1000;
    const std::vector<float> x = numbers(n, 7);
    const std::uint64_t y = memory.copy_in(std::vector<float>(n));
    return kernel.launch({.grid = 1, .block = 1024}, memory.copy_in(x), y, n).ok() &&
           close_to(memory.copy_out(y, n), running_sums(x));
}

std::vector<Case> cases()
{
    std::vector<Case> all{{"vector_add", "vector_add.cu", "vector_add", false, launch_add}};
    for (const int tile : {4, 8, 16, 32})
        all.push_back({fmt::format("gemm<{}>", tile), "gemm.cu", fmt::format("gemm<{}>", tile), false,
                       [tile](CudaMemory& memory, const Kernel& kernel) { return launch_gemm(memory, kernel, tile); }});
    all.push_back({"reduce", "reduce.cu", "reduce", false,
                   [](CudaMemory& memory, const Kernel& kernel) { return launch_sum(memory, kernel, 64); }});
    all.push_back({"softmax", "softmax.cu", "softmax", false, launch_softmax});
    all.push_back({"scan", "scan.cu", "scan", false, launch_scan});
    all.push_back({"cub_reduce", "cub_reduce.cu", "cub_reduce", true,
                   [](CudaMemory& memory, const Kernel& kernel) { return launch_sum(memory, kernel, 1); }});
    return all;
}

// Where CUDA's own headers are, CUB's among them; empty where the toolkit is not installed.
std::vector<std::string> cuda_includes()
{
    namespace fs = std::filesystem;
    for (const std::string& directory : hearth::library_directories()) {
        std::error_code error;
        const fs::path include = fs::weakly_canonical(directory + "/../include", error);
        for (const fs::path& place : {include / "cccl", include})
            if (fs::exists(place / "cub/block/block_reduce.cuh", error))
                return {place.string(), include.string()};
    }
    return {};
}

hearth::nvrtc::Program program_of(const Case& demo, const std::vector<std::string>& includes, const std::string& target)
{
    hearth::nvrtc::Options options;
    options.standard(17);
    if (demo.includes_cuda)
        for (const std::string& include : includes)
            options.include(include);
    hearth::nvrtc::Program program{
        .source = kernel_source(demo.file), .name = kernel_path(demo.file), .options = options};
    program.target = target;
    if (demo.entry.find('<') != std::string::npos)
        program.name_expressions = {demo.entry};
    return program;
}

Row run(hearth::Cache& cache, const Case& demo, const hearth::nvrtc::Program& program, std::optional<CudaMemory>& gpu)
{
    Row row{demo.label, program.target, 0, {}, {}, "no GPU", false};
    const auto started = std::chrono::steady_clock::now();
    const auto compiled = hearth::nvrtc::compile(cache, program);
    row.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
    if (!compiled || compiled->failed()) {
        row.failed = true;
        row.launch = compiled ? compiled->log() : compiled.error().message;
        return row;
    }
    row.tier = compiled->tier();
    row.digest = hearth::Key::of("code", compiled->cubin()).hex();
    if (gpu) {
        const Kernel kernel(cache, program, demo.entry);
        row.launch = demo.launch(*gpu, kernel) ? "right" : "WRONG";
        gpu->free_all();
    }
    return row;
}

}  // namespace

std::optional<std::vector<Row>> run_cuda(hearth::Cache& cache, std::string& why)
{
    std::optional<CudaMemory> gpu = CudaMemory::open();
    const std::string target = gpu ? "device" : "sm_90";
    const auto found = hearth::nvrtc::explain(cache, {.source = "", .target = target});
    if (!found) {
        why = found.error().message;
        return std::nullopt;
    }
    const std::vector<std::string> includes = cuda_includes();
    fmt::print("NVRTC for {}{}\n", gpu ? "this machine's GPU, launched and checked" : "sm_90, without a GPU",
               includes.empty() ? "; without the kernel that needs CUB, which is not installed" : "");
    std::vector<Row> rows;
    for (const Case& demo : cases())
        if (!demo.includes_cuda || !includes.empty())
            rows.push_back(run(cache, demo, program_of(demo, includes, target), gpu));
    return rows;
}

}  // namespace demo
