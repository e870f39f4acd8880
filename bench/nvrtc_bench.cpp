// A hit and a miss of NVRTC's in a fresh process, beside NVRTC called with nothing of ours in between.

#include "benches.hpp"
#include "gpu/cuda/cuda_driver.hpp"
#include "hearth/hearth.hpp"
#include "sample_entries.hpp"
#include "scratch.hpp"
#include "support/bare_nvrtc.hpp"
#include "timing.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace hearth::bench {

namespace {

constexpr int k_fresh_processes = 21;
constexpr int k_cold_processes = 5;

const char* const k_small = "extern \"C\" __global__ void saxpy(int n, float a, const float* x, float* y)\n"
                            "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }\n";
const char* const k_half = "#include <cuda_fp16.h>\n"
                           "extern \"C\" __global__ void twice(__half* x) { x[threadIdx.x] = __hadd(x[0], x[1]); }\n";
const char* const k_cub = "#include <cub/block/block_reduce.cuh>\n"
                          "extern \"C\" __global__ void sum(const float* x, float* y)\n"
                          "{ using Reduce = cub::BlockReduce<float, 128>; __shared__ typename Reduce::TempStorage s;\n"
                          "  float all = Reduce(s).Sum(x[threadIdx.x]); if (threadIdx.x == 0) *y = all; }\n";

// Where CUB is; empty without the toolkit.
std::vector<std::string> cub_directories()
{
    namespace fs = std::filesystem;
    for (const std::string& directory : library_directories()) {
        std::error_code error;
        const fs::path include = fs::weakly_canonical(directory + "/../include", error);
        for (const fs::path& place : {include / "cccl", include})
            if (fs::exists(place / "cub/block/block_reduce.cuh", error))
                return {place.string(), include.string()};
    }
    return {};
}

// Who answers: Hearth; NVRTC with nothing in between; the same with the cache that NVRTC keeps with the driver's help.
constexpr const char* k_hearth = "hearth";
constexpr const char* k_bare = "bare";
constexpr const char* k_own_cache = "own_cache";

nvrtc::Program program_of(const std::string& kind, const std::string& answer = k_hearth)
{
    nvrtc::Options options;
    if (answer != k_own_cache)
        options.add("--no-cache");
    if (kind != "small")
        for (const std::string& directory : cub_directories())
            options.include(directory);
    return {.source = kind == "cub"    ? k_cub
                      : kind == "half" ? k_half
                                       : k_small,
            .name = kind + ".cu",
            .options = options,
            .target = "sm_90"};
}

// Each in its turn, as a program does that compiles what it needs.
nvrtc::Program numbered(nvrtc::Program program, int number)
{
    program.options.push_back(fmt::format("-DNUMBER={}", number));
    return program;
}

// Milliseconds in fresh processes, from opening the cache to having closed it.
Measured fresh_ms(const std::string& directory, const std::string& kind, const char* answer, int processes,
                  int kernels = 1)
{
    std::vector<double> times;
    for (int i = 0; i < processes; ++i) {
        const std::string output =
            run_self(fmt::format("--child nvrtc '{}' {} {} {}", directory, kind, answer, kernels));
        double ns = 0;
        if (std::sscanf(output.c_str(), "%lf", &ns) == 1)
            times.push_back(ns * 1e-6);
    }
    return median(times);
}

// The same for misses: the directory is empty each time, but for what is known of the compiler.
Measured miss_ms(const std::string& directory, const std::string& kind, int processes, int kernels = 1)
{
    std::vector<double> times;
    for (int i = 0; i < processes; ++i) {
        std::filesystem::remove_all(directory);
        fresh_ms(directory, "small", k_hearth, 1, 2);
        times.push_back(fresh_ms(directory, kind, k_hearth, 1, kernels).value);
    }
    return median(times);
}

// NVRTC asks the driver where its cache is, and has none without.
bool nvrtc_has_a_cache()
{
    return gpu::cuda_driver().ok();
}

void key_of_a_source(Report& report)
{
    const std::string source(10 << 10, 'x');
    const double ours = best_of(9, [&] {
        for (int i = 0; i < 1000; ++i)
            keep(KeyBuilder("nvrtc").text("source", source).text("options", "-std=c++20").key());
    });
    report.add("nvrtc.key_of_10k_source", ours * 1e6 / 1000, "us");
}

// A program that asks again and again, with no tier in memory: what a question costs beside reading its answer.
void hit_in_a_process(Report& report, const std::string& directory)
{
    constexpr int k_batch = 200;
    CacheOptions options;
    options.directory = directory;
    options.memory_bytes = 0;
    options.maintenance = Maintenance::by_hand;
    Cache cache = Cache::open(options).value();
    const nvrtc::Program program = program_of("small");
    const Result<nvrtc::Compiled> compiled = nvrtc::compile(cache, program);
    if (!compiled || compiled->failed())
        return report.note("nvrtc_hit.small.in_a_process_from_disk: skipped: it does not compile");
    const Pair times = side_by_side(
        k_fresh_processes,
        [&] {
            for (int i = 0; i < k_batch; ++i)
                keep(nvrtc::compile(cache, program)->cubin().size());
        },
        [&] {
            for (int i = 0; i < k_batch; ++i)
                keep(cache.find(compiled->key())->status);
        });
    report.add_beside("nvrtc_hit.small.in_a_process_from_disk", times.first * (1e6 / k_batch), "us",
                      "find() of the same result by its key", times.second * (1e6 / k_batch));
}

}  // namespace

// DIRECTORY KIND ANSWER KERNELS: prints nanoseconds; the status tells whether it compiled.
int nvrtc_child(const std::vector<std::string>& arguments)
{
    const std::string& answer = arguments.at(2);
    const nvrtc::Program program = program_of(arguments.at(1), answer);
    const int kernels = arguments.size() > 3 ? std::atoi(arguments.at(3).c_str()) : 1;
    if (answer == k_own_cache) {
        ::setenv("CUDA_CACHE_DISABLE", "0", 1);
        ::setenv("CUDA_CACHE_PATH", (arguments.at(0) + "-of-the-driver").c_str(), 1);
    }
    // Which library: not part of what is measured.
    const std::string library = find_library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
    const std::uint64_t start = now_ns();
    if (answer != k_hearth) {
        const test::BareNvrtc bare(library);
        for (int i = 0; i < kernels; ++i)
            if (bare.compile(kernels == 1 ? program : numbered(program, i)).status != 0)
                return 1;
        fmt::print("{}\n", now_ns() - start);
        return 0;
    }
    std::uint64_t compiles = 0;
    {
        CacheOptions options;
        options.directory = arguments.at(0);
        options.maintenance = Maintenance::by_hand;
        Cache cache = Cache::open(options).value();
        for (int i = 0; i < kernels; ++i) {
            const Result<nvrtc::Compiled> compiled =
                nvrtc::compile(cache, kernels == 1 ? program : numbered(program, i), {.library = library});
            if (!compiled || compiled->failed())
                return 1;
            keep(compiled->cubin().size());
        }
        compiles = cache.stats().compiles;
    }
    fmt::print("{}\n", now_ns() - start);
    return compiles == 0 ? 0 : k_child_made;
}

void bench_nvrtc(Report& report)
{
    key_of_a_source(report);
    ::setenv("CUDA_CACHE_DISABLE", "1", 1);
    const Scratch scratch;
    const std::string directory = scratch.path("nvrtc");
    {
        Cache cache = Cache::open({.directory = directory}).value();
        if (const auto tried = nvrtc::compile(cache, program_of("small")); !tried) {
            report.note("nvrtc.*: skipped: " + tried.error().message);
            return;
        }
    }
    hit_in_a_process(report, directory);
    const bool own_cache = nvrtc_has_a_cache();
    if (!own_cache)
        report.note("nvrtc_hit.*.beside_own_cache: skipped: no driver, and without one NVRTC keeps no cache");
    const auto row = [&](const std::string& kind) {
        const Measured bare = fresh_ms(directory, kind, k_bare, k_cold_processes);
        report.add_beside(fmt::format("nvrtc_miss.{}.beside_nvrtc", kind),
                          miss_ms(scratch.path("misses"), kind, k_cold_processes), "ms", "NVRTC itself, fresh process",
                          bare);
        fresh_ms(directory, kind, k_hearth, 1);
        const Measured hit = fresh_ms(directory, kind, k_hearth, k_fresh_processes);
        report.add(fmt::format("nvrtc_hit.{}.fresh_process", kind), hit, "ms");
        report.add_beside(fmt::format("nvrtc_hit.{}.beside_nvrtc", kind), hit, "ms", "NVRTC itself, fresh process",
                          bare);
        if (!own_cache)
            return;
        fresh_ms(directory, kind, k_own_cache, 1);
        report.add_beside(fmt::format("nvrtc_hit.{}.beside_own_cache", kind), hit, "ms",
                          "NVRTC with its own cache warm, fresh process",
                          fresh_ms(directory, kind, k_own_cache, k_cold_processes));
    };
    row("small");
    const bool cub = !cub_directories().empty();
    if (cub) {
        row("half");
        row("cub");
        report.add_beside("nvrtc_miss.ten_half.beside_nvrtc", miss_ms(scratch.path("misses"), "half", 3, 10), "ms",
                          "NVRTC itself, ten kernels in a fresh process", fresh_ms(directory, "half", k_bare, 3, 10));
        fresh_ms(directory, "cub", k_hearth, 1, 2);
        const Measured two = fresh_ms(directory, "cub", k_hearth, k_fresh_processes, 2);
        fresh_ms(directory, "cub", k_hearth, 1, 3);
        const Measured three = fresh_ms(directory, "cub", k_hearth, k_fresh_processes, 3);
        report.add("nvrtc_hit.cub.one_more_in_a_process", three.value - two.value, "ms");
    } else {
        report.note("nvrtc_*.half and cub: skipped: the CUDA toolkit's headers are not here");
    }

    // One new kernel that all processes of a machine want at once.
    const std::string kind = cub ? "cub" : "small";
    int tries = 0;
    std::ptrdiff_t most = 0;
    const auto all_at_once = [&](int count) {
        const ChildrenRun run =
            run_children(count, {"nvrtc", scratch.path(fmt::format("at-once-{}", tries++)), kind, k_hearth});
        most = std::max(most, std::count(run.statuses.begin(), run.statuses.end(), k_child_made));
    };
    const Pair times = side_by_side(
        k_cold_processes, [&] { all_at_once(16); }, [&] { all_at_once(1); });
    report.add_beside("nvrtc.16_processes_one_kernel", times.first * 1e3, "ms", "one process alone",
                      times.second * 1e3);
    report.add("nvrtc.16_processes_one_kernel.compiles", static_cast<double>(most), "compiles");
}

}  // namespace hearth::bench
