// Recorded kernels built beforehand, in processes, beside the same kernels compiled one after the other.

#include "benches.hpp"
#include "hearth/hearth.hpp"
#include "scratch.hpp"
#include "timing.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace hearth::bench {

namespace {

constexpr int k_recipes = 200;
constexpr int k_jobs = 2;
constexpr int k_tries = 3;

nvrtc::Program small_program(int number)
{
    return {.source =
                fmt::format("extern \"C\" __global__ void k{0}(int n, float a, const float* x, float* y)\n"
                            "{{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i] + {0}; "
                            "}}\n",
                            number),
            .name = fmt::format("k{}.cu", number),
            .options = {"--no-cache"},
            .target = "sm_90"};
}

// Records without compiling: a miss where making is forbidden is a recipe too.
bool record(const std::string& directory, const std::string& file)
{
    CacheOptions options;
    options.directory = directory;
    options.maintenance = Maintenance::by_hand;
    options.compiling = Compiling::forbidden;
    options.record_to = file;
    Cache cache = Cache::open(options).value();
    for (int i = 0; i < k_recipes; ++i)
        if (const auto compiled = nvrtc::compile(cache, small_program(i));
            !compiled && compiled.error().code != Code::compile_forbidden)
            return false;
    return true;
}

// Hits that are recorded, each with a word in the file, beside the same hits of a cache that records nothing.
void recorded_hits(Report& report, const Scratch& scratch)
{
    static constexpr int k_hits = 200;  // as many as are written one by one
    CacheOptions options;
    options.directory = scratch.path("hits");
    options.maintenance = Maintenance::by_hand;
    Cache plain = Cache::open(options).value();
    const nvrtc::Program program = small_program(0);
    if (const auto compiled = nvrtc::compile(plain, program); !compiled)
        return;
    int tries = 0;
    const auto hit_all = [&](Cache& cache) {
        for (int i = 0; i < k_hits; ++i)
            keep(nvrtc::compile(cache, program)->cubin().size());
    };
    const Pair times = side_by_side(
        21,
        [&] {
            options.record_to = scratch.path(fmt::format("hits{}.recipes", tries++));
            Cache recording = Cache::open(options).value();
            hit_all(recording);
        },
        [&] {
            options.record_to = "";
            Cache silent = Cache::open(options).value();
            hit_all(silent);
        });
    report.add_beside("recipes.recorded_hit", times.first * (1e6 / k_hits), "us", "the same hit, not recorded",
                      times.second * (1e6 / k_hits));
}

}  // namespace

// Compiles them all, with nothing in between.
int recipe_child(const std::vector<std::string>& /*arguments*/)
{
    CacheOptions options;
    options.caching = Switch::off;
    Cache cache = Cache::open(options).value();
    for (int i = 0; i < k_recipes; ++i)
        if (const auto compiled = nvrtc::compile(cache, small_program(i)); !compiled || compiled->failed())
            return 1;
    return 0;
}

void bench_recipes(Report& report)
{
    ::setenv("CUDA_CACHE_DISABLE", "1", 1);
    const Scratch scratch;
    const std::string tool = std::filesystem::path(own_path()).parent_path() / "hearth";
    const std::string file = scratch.path("small.recipes");
    if (!std::filesystem::exists(tool) || !record(scratch.path("recording"), file)) {
        report.note("recipes.*: skipped: no libnvrtc, or the command is not beside this program");
        return;
    }
    recorded_hits(report, scratch);
    int tries = 0;
    int failures = 0;
    const auto build = [&] {
        const std::string command = fmt::format("'{}' --dir '{}' build '{}' --jobs {} >/dev/null", tool,
                                                scratch.path(fmt::format("built{}", tries++)), file, k_jobs);
        failures += std::system(command.c_str()) != 0 ? 1 : 0;
    };
    const auto loop = [&] { failures += run_children(1, {"recipes"}).statuses.front() != 0 ? 1 : 0; };
    const Pair times = side_by_side(k_tries, build, loop);
    report.add_beside(fmt::format("recipes.build_{}.{}_jobs", k_recipes, k_jobs), times.first, "s",
                      "NVRTC in a loop, one process", times.second);
    // Everything is there already: what looking costs.
    const double again = best_of(k_tries, [&] {
        const std::string command =
            fmt::format("'{}' --dir '{}' build '{}' --jobs {} >/dev/null", tool, scratch.path("built0"), file, k_jobs);
        failures += std::system(command.c_str()) != 0 ? 1 : 0;
    });
    report.add(fmt::format("recipes.build_{}.nothing_to_do", k_recipes), again * 1e3, "ms");
    if (failures != 0)
        report.note(fmt::format("recipes.*: {} of the runs failed", failures));
}

}  // namespace hearth::bench
