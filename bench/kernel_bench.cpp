// A loaded kernel by its handle, beside the map with a lock that a program would otherwise write; and, where there is a
// GPU, from a request to a kernel that can be launched, beside what the driver alone takes for the same code.

#include "benches.hpp"
#include "gpu/cuda/cuda_context.hpp"
#include "hearth/hearth.hpp"
#include "scratch.hpp"
#include "timing.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace hearth::bench {

namespace {

constexpr std::uint64_t k_batch = 4096;
constexpr double k_seconds = 0.3;
constexpr int k_tries = 5;
constexpr int k_requests = 51;
constexpr int k_kernels = 256;

constexpr const char* k_saxpy = R"(
template <class T>
__global__ void saxpy(int n, T a, const T* x, T* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
})";
constexpr const char* k_name = "saxpy<float>";

// What a program without us keeps.
class FunctionsByName {
public:
    FunctionsByName()
    {
        for (int i = 0; i < k_kernels; ++i)
            m_functions.emplace(fmt::format("kernel_{}<float, {}>", i, i), nullptr);
        m_functions.emplace(k_name, nullptr);
    }
    cuda::Function find(const std::string& name)
    {
        const std::lock_guard lock(m_mutex);
        return m_functions.find(name)->second;
    }

private:
    std::mutex m_mutex;
    std::unordered_map<std::string, cuda::Function> m_functions;
};

// Million calls a second over all threads.
template <class Call>
double calls(unsigned threads, const std::function<void()>& begin, Call&& call)
{
    std::vector<double> tries;
    for (int i = 0; i < k_tries; ++i)
        tries.push_back(throughput(threads, k_seconds, k_batch,
                                   [&](unsigned) {
                                       begin();
                                       for (std::uint64_t n = 0; n < k_batch; ++n)
                                           call();
                                   }) *
                        1e-6);
    return median(std::move(tries));
}

void report_handle(Report& report, const std::string& name, const std::function<void()>& begin, auto&& call,
                   std::optional<double> most_ns)
{
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    FunctionsByName by_name;
    const std::string wanted = k_name;
    const auto rival = [&] { keep(by_name.find(wanted)); };
    const double alone = calls(1, begin, call);
    const double together = calls(cores, begin, call);
    // The bar is on the handle; the rest is for comparison.
    const auto at_least = [&](double ratio) { return most_ns ? std::optional(ratio) : std::nullopt; };
    report.add(name + ".one_thread.time", 1e3 / alone, "ns", most_ns);
    report.add_beside(name + ".one_thread", alone, "M/s", "mutex + unordered_map by name", calls(1, begin, rival),
                      at_least(10), Better::higher);
    report.add_beside(name + ".all_cores", together, "M/s", "mutex + unordered_map by name", calls(cores, begin, rival),
                      at_least(10), Better::higher);
    report.add_beside(name + ".scaling", together, "M/s", fmt::format("{} x one thread", cores), alone * cores,
                      at_least(0.8), Better::higher);
}

void report_loaded(Report& report, const cuda::Loaded& loaded)
{
    report_handle(
        report, "kernel_handle", [] {},
        [&] {
            const cuda::Loaded* handle = &loaded;
            asm volatile("" : "+r"(handle));
            keep(handle->function());
        },
        5);
}

// Microseconds: the median over `k_requests` runs of `work`, each after `prepare`, which is not counted.
double median_us(const std::function<void()>& prepare, const std::function<void()>& work)
{
    std::vector<double> times;
    for (int i = 0; i < k_requests; ++i) {
        prepare();
        const std::uint64_t start = now_ns();
        work();
        times.push_back(static_cast<double>(now_ns() - start) * 1e-3);
    }
    return median(std::move(times));
}

class GpuBench {
public:
    GpuBench(const gpu::CudaDriver& driver, Report& report) : m_driver(driver), m_report(report)
    {
        m_driver.primary_retain(&m_context, 0);
        m_driver.set_current(m_context);
    }
    ~GpuBench()
    {
        cuda::unload_unused_modules();
        m_driver.set_current(nullptr);
        m_driver.primary_release(0);
    }
    GpuBench(const GpuBench&) = delete;
    GpuBench& operator=(const GpuBench&) = delete;

    void handles()
    {
        Cache cache = open();
        const cuda::Kernel kernel(cache, m_program, k_name);
        const Result<cuda::Loaded> loaded = kernel.bind();
        if (!loaded)
            return m_report.note(
                fmt::format("kernel_function: skipped: {} {}", loaded.error().message, loaded.error().log));
        report_loaded(m_report, *loaded);
        const auto enter = [this] { m_driver.set_current(m_context); };
        report_handle(
            m_report, "kernel_function", enter, [&] { keep(kernel.function()); }, std::nullopt);
        const double asking = calls(1, enter, [&] {
            unsigned long long id = 0;
            m_driver.context_id(nullptr, &id);
            keep(id);
        });
        m_report.add_beside("kernel_function.beside_driver", 1e3 / calls(1, enter, [&] { keep(kernel.function()); }),
                            "ns", "cuCtxGetId of the current context", 1e3 / asking);
    }

    void requests()
    {
        nvrtc::Program program = m_program;
        program.name_expressions = {k_name};
        program.target = gpu::target_of_device(0).value();
        Bytes cubin;
        std::string ptx;
        std::string lowered;
        {
            Cache cache = open();
            const Result<nvrtc::Compiled> compiled = nvrtc::compile(cache, program);
            if (!compiled || compiled->failed())
                return m_report.note(
                    fmt::format("kernel_request: skipped: {}", compiled ? compiled->log() : compiled.error().message));
            cubin = Bytes::copy_of(compiled->cubin());
            ptx = compiled->ptx();
            lowered = compiled->lowered_name(k_name).value_or("");
            cache.flush();
        }
        // No memory tier: every request is answered from disk.
        Cache cache = open(0);
        std::optional<cuda::Kernel> kernel;
        const double ours = median_us(
            [&] {
                kernel.reset();
                cuda::unload_unused_modules();
            },
            [&] {
                kernel.emplace(cache, program, k_name);
                keep(kernel->function().value());
            });
        kernel.reset();
        cuda::unload_unused_modules();
        const double bare = bare_load_us(cubin.data(), lowered);
        const double from_ptx = bare_load_us(ptx.c_str(), lowered);
        m_report.add_beside("kernel_request.warm_disk", ours, "us",
                            fmt::format("cuModuleLoadData of the same CUBIN ({} bytes)", cubin.size()), bare, 2);
        m_report.add_beside("kernel_request.warm_disk.beside_ptx", ours, "us",
                            "cuModuleLoadData of its PTX, the driver's cache off", from_ptx);
    }

private:
    Cache open(std::uint64_t memory_bytes = 64_MiB) const
    {
        CacheOptions options;
        options.memory_bytes = memory_bytes;
        options.directory = m_scratch.path("cache");
        options.maintenance = Maintenance::by_hand;
        return Cache::open(options).value();
    }

    double bare_load_us(const void* image, const std::string& lowered)
    {
        CUmod_st* module = nullptr;
        const double time = median_us(
            [&] {
                if (module != nullptr)
                    m_driver.unload(module);
            },
            [&] {
                CUfunc_st* function = nullptr;
                m_driver.load(&module, image);
                m_driver.function(&function, module, lowered.c_str());
                // The driver may leave a kernel's code until it is launched; what is measured here can be launched.
                if (m_driver.load_function != nullptr)
                    m_driver.load_function(function);
                keep(function);
            });
        m_driver.unload(module);
        return time;
    }

    const gpu::CudaDriver& m_driver;
    Report& m_report;
    Scratch m_scratch;
    CUctx_st* m_context = nullptr;
    const nvrtc::Program m_program{.source = k_saxpy};
};

}  // namespace

void bench_kernel(Report& report)
{
    // Honest figures: before the driver starts, or it would answer from a cache of its own.
    ::setenv("CUDA_CACHE_DISABLE", "1", 1);

    const Result<const gpu::CudaDriver*> driver = gpu::cuda_driver();
    if (!driver) {
        for (const char* row : {"kernel_function", "kernel_request.warm_disk", "kernel_request.warm_disk.beside_ptx"})
            report.note(fmt::format("{}: skipped: no GPU", row));
        report.note("kernel_handle: no GPU, so the handle is an empty one");
        report_loaded(report, {});
        return;
    }
    GpuBench gpu(**driver, report);
    gpu.handles();
    gpu.requests();
}

}  // namespace hearth::bench
