// A hit for NVRTC in a fresh process, beside NVRTC itself in one.

#include "benches.hpp"
#include "gpu/cuda/cuda_driver.hpp"
#include "hearth/hearth.hpp"
#include "sample_entries.hpp"
#include "scratch.hpp"
#include "timing.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace hearth::bench {

namespace {

constexpr int k_fresh_processes = 21;
constexpr int k_cold_processes = 3;

const char* const k_small = "extern \"C\" __global__ void saxpy(int n, float a, const float* x, float* y)\n"
                            "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }\n";
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
    if (kind == "cub")
        for (const std::string& directory : cub_directories())
            options.include(directory);
    return {.source = kind == "cub" ? k_cub : k_small, .name = kind + ".cu", .options = options, .target = "sm_90"};
}

// Milliseconds in fresh processes, from opening the cache to having the CUBIN.
double fresh_ms(const std::string& directory, const std::string& kind, const char* answer, int processes)
{
    std::vector<double> times;
    for (int i = 0; i < processes; ++i) {
        const std::string output = run_self(fmt::format("--child nvrtc '{}' {} {}", directory, kind, answer));
        double ns = 0;
        if (std::sscanf(output.c_str(), "%lf", &ns) == 1)
            times.push_back(ns * 1e-6);
    }
    return times.empty() ? 0 : median(times);
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

}  // namespace

// DIRECTORY KIND ANSWER: prints nanoseconds; the status tells whether it compiled.
int nvrtc_child(const std::vector<std::string>& arguments)
{
    const std::string& answer = arguments.at(2);
    const nvrtc::Program program = program_of(arguments.at(1), answer);
    if (answer == k_own_cache) {
        ::setenv("CUDA_CACHE_DISABLE", "0", 1);
        ::setenv("CUDA_CACHE_PATH", (arguments.at(0) + "-of-the-driver").c_str(), 1);
    }
    const std::uint64_t start = now_ns();
    CacheOptions options;
    options.directory = arguments.at(0);
    options.maintenance = Maintenance::by_hand;
    options.caching = answer == k_hearth ? Switch::on : Switch::off;
    Cache cache = Cache::open(options).value();
    const Result<nvrtc::Compiled> compiled = nvrtc::compile(cache, program);
    if (!compiled || compiled->failed())
        return 1;
    keep(compiled->cubin().size());
    fmt::print("{}\n", now_ns() - start);
    return cache.stats().compiles == 0 ? 0 : k_child_made;
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
    const bool own_cache = nvrtc_has_a_cache();
    if (!own_cache)
        report.note("nvrtc_hit.*.beside_own_cache: skipped: no driver, and without one NVRTC keeps no cache");
    const auto row = [&](const std::string& kind, double bar_ms) {
        const double bare = fresh_ms(directory, kind, k_bare, k_cold_processes);
        fresh_ms(directory, kind, k_hearth, 1);
        const double hit = fresh_ms(directory, kind, k_hearth, k_fresh_processes);
        report.add(fmt::format("nvrtc_hit.{}.fresh_process", kind), hit, "ms", bar_ms);
        report.add_beside(fmt::format("nvrtc_hit.{}.beside_nvrtc", kind), hit, "ms", "NVRTC itself, fresh process",
                          bare);
        if (!own_cache)
            return;
        fresh_ms(directory, kind, k_own_cache, 1);
        report.add_beside(fmt::format("nvrtc_hit.{}.beside_own_cache", kind), hit, "ms",
                          "NVRTC with its own cache warm, fresh process",
                          fresh_ms(directory, kind, k_own_cache, k_cold_processes));
    };
    row("small", 1);
    const bool cub = !cub_directories().empty();
    if (cub)
        row("cub", 5);
    else
        report.note("nvrtc_hit.cub: skipped: the CUDA toolkit's headers are not here");

    // One new kernel that all processes of a machine want at once.
    const std::string kind = cub ? "cub" : "small";
    const ChildrenRun alone = run_children(1, {"nvrtc", scratch.path("alone"), kind, k_hearth});
    const ChildrenRun all = run_children(16, {"nvrtc", scratch.path("all"), kind, k_hearth});
    report.add_beside("nvrtc.16_processes_one_kernel", all.seconds * 1e3, "ms", "one process alone",
                      alone.seconds * 1e3, 1.2);
    report.add("nvrtc.16_processes_one_kernel.compiles",
               static_cast<double>(std::count(all.statuses.begin(), all.statuses.end(), k_child_made)), "compiles", 1);
}

}  // namespace hearth::bench
