// What `hearth run` costs: a process that compiles nothing, and a hit through the drop-in library. And the command that
// compiles, beside ccache.

#include "benches.hpp"
#include "hearth/hearth.hpp"
#include "scratch.hpp"
#include "timing.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace hearth::bench {

namespace {

constexpr int k_processes = 101;
constexpr int k_fresh_processes = 21;
constexpr int k_hits = 500;

const char* const k_source = "extern \"C\" __global__ void saxpy(int n, float a, const float* x, float* y)\n"
                             "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }\n";

std::string dropin()
{
    return beside("dropin/libnvrtc.so.13");
}

// NVRTC's functions as a program finds them that opens the drop-in.
class Dropin {
public:
    Dropin() : m_handle(::dlopen(dropin().c_str(), RTLD_NOW | RTLD_LOCAL)) {}
    bool is_there() const { return m_handle != nullptr; }

    std::size_t compile() const
    {
        void* program = nullptr;
        std::size_t size = 0;
        const char* options[] = {"-arch=sm_90", "--no-cache"};
        call<int(void**, const char*, const char*, int, const char* const*, const char* const*)>(
            "nvrtcCreateProgram", &program, k_source, "saxpy.cu", 0, nullptr, nullptr);
        call<int(void*, int, const char* const*)>("nvrtcCompileProgram", program, 2, options);
        call<int(void*, std::size_t*)>("nvrtcGetCUBINSize", program, &size);
        std::string cubin(size, '\0');
        call<int(void*, char*)>("nvrtcGetCUBIN", program, cubin.data());
        keep(cubin);
        call<int(void**)>("nvrtcDestroyProgram", &program);
        return size;
    }

private:
    template <class Function, class... Arguments>
    void call(const char* name, Arguments... arguments) const
    {
        reinterpret_cast<Function*>(::dlsym(m_handle, name))(arguments...);
    }
    void* m_handle;
};

std::size_t compile_by_the_library(Cache& cache)
{
    const nvrtc::Program program{
        .source = k_source, .name = "saxpy.cu", .options = {"-arch=sm_90", "--no-cache"}, .headers = {}};
    const Result<nvrtc::Compiled> compiled = nvrtc::compile(cache, program);
    if (!compiled)
        return 0;
    std::string cubin(as_text(compiled->cubin()));
    keep(cubin);
    return cubin.size();
}

CacheOptions options_for(const std::string& directory)
{
    CacheOptions options;
    options.directory = directory;
    options.maintenance = Maintenance::by_hand;
    return options;
}

// Milliseconds from nothing to the CUBIN, in fresh processes.
Measured fresh_ms(const std::string& directory, const char* way)
{
    std::vector<double> times;
    for (int i = 0; i < k_fresh_processes; ++i) {
        double ns = 0;
        if (std::sscanf(run_self(fmt::format("--child run '{}' {}", directory, way)).c_str(), "%lf", &ns) == 1)
            times.push_back(ns * 1e-6);
    }
    return median(times);
}

void process_that_compiles_nothing(Report& report)
{
    const std::string tool = beside("hearth");
    const Pair times = side_by_side(
        k_processes,
        [&] {
            run_to_its_end({tool, "run", "--", "/bin/true"});
        },
        [&] { run_to_its_end({"/bin/true"}); });
    report.add("run.adds_to_a_process", (times.first.value - times.second.value) * 1e3, "ms");
    report.add_beside("run.true", times.first * 1e3, "ms", "the same, started without", times.second * 1e3);
}

// One small hit, and all that a process is besides.
void whole_processes(Report& report, const std::string& directory)
{
    const std::vector<std::string> empty{beside("hearth_bench_empty")};
    const std::vector<std::string> library{beside("hearth_bench_one_hit"), directory};
    const std::string real = find_library({"libnvrtc.so.13", "libnvrtc.so.12"});
    if (real.empty())
        return;
    const std::vector<std::string> unchanged{beside("hearth"), "run", "--", beside("hearth_bench_one_compile"), real};
    const auto row = [&](const char* name, const std::vector<std::string>& words) {
        run_to_its_end(words);  // compiles
        const Pair times = side_by_side(
            k_processes, [&] { run_to_its_end(words); }, [&] { run_to_its_end(empty); });
        report.add(name, (times.first.value - times.second.value) * 1e3, "ms");
        return times.first;
    };
    const Measured by_library = row("process.small_hit.over_an_empty_program", library);
    const Measured by_run = row("process.small_hit.hearth_run.over_an_empty_program", unchanged);
    report.add_beside("process.small_hit.hearth_run", by_run * 1e3, "ms", "the same by the library", by_library * 1e3);
}

// A compile that was done before, by a command: ours for a kernel, ccache's for as small a C++ source.
void command_beside_ccache(Report& report, const Scratch& scratch)
{
    const std::string ccache = output_of("command -v ccache");
    if (ccache.empty())
        return report.note("process.compile_command: left out: ccache is not installed (scripts/install-deps bench)");
    std::ofstream(scratch.path("k.cu")) << k_source;
    std::ofstream(scratch.path("k.cpp")) << "int twice(int x) { return 2 * x; }\n";
    ::setenv("CCACHE_DIR", scratch.path("ccache").c_str(), 1);
    const std::vector<std::string> ours{beside("hearth"), "compile", scratch.path("k.cu"),   "--target",
                                        "sm_90",          "-o",      scratch.path("k.cubin")};
    const std::vector<std::string> theirs{
        ccache.substr(0, ccache.find('\n')), "c++", "-c", scratch.path("k.cpp"), "-o", scratch.path("k.o")};
    run_to_its_end(ours);
    run_to_its_end(theirs);
    const Pair times = side_by_side(
        k_processes, [&] { run_to_its_end(ours); }, [&] { run_to_its_end(theirs); });
    report.add_beside("process.compile_command", times.first * 1e3, "ms", "ccache c++ -c, warm", times.second * 1e3);
}

void hits(Report& report, const std::string& directory)
{
    const Dropin opened;
    Cache cache = Cache::open(options_for(directory)).value();
    if (!opened.is_there() || opened.compile() == 0 || compile_by_the_library(cache) == 0) {
        report.note("run.hit: skipped: no libnvrtc");
        return;
    }
    const Pair times = side_by_side(
        21,
        [&] {
            for (int i = 0; i < k_hits; ++i)
                keep(opened.compile());
        },
        [&] {
            for (int i = 0; i < k_hits; ++i)
                keep(compile_by_the_library(cache));
        });
    report.add_beside("run.hit", times.first * (1e6 / k_hits), "us", "the library's own, CUBIN copied",
                      times.second * (1e6 / k_hits));
    report.add_beside("run.hit.fresh_process", fresh_ms(directory, "dropin"), "ms", "the library's own",
                      fresh_ms(directory, "library"));
}

}  // namespace

// The first hit of a process, through the drop-in or through the library.
int run_child(const std::vector<std::string>& arguments)
{
    ::setenv("HEARTH_DIR", arguments[0].c_str(), 1);
    const std::uint64_t start = now_ns();
    std::size_t size = 0;
    if (arguments[1] == "dropin") {
        size = Dropin().compile();
    } else {
        Cache cache = Cache::open(options_for(arguments[0])).value();
        size = compile_by_the_library(cache);
    }
    fmt::print("{}\n", now_ns() - start);
    return size != 0 ? 0 : 1;
}

void bench_run(Report& report)
{
    if (!std::filesystem::exists(beside("hearth")) || !std::filesystem::exists(dropin())) {
        report.note("run.*: skipped: the command or the drop-in libraries are not beside this program");
        return;
    }
    ::setenv("CUDA_CACHE_DISABLE", "1", 1);
    // Never destroyed: the drop-in that this process opens writes to it as the process ends. It is removed after that.
    static const Scratch& scratch = *new Scratch;
    ::setenv("HEARTH_DIR", scratch.path("cache").c_str(), 1);
    process_that_compiles_nothing(report);
    whole_processes(report, scratch.path("cache"));
    hits(report, scratch.path("cache"));
    command_beside_ccache(report, scratch);
    ::unsetenv("HEARTH_DIR");
}

}  // namespace hearth::bench
