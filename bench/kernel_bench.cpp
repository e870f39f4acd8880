// A loaded kernel by its handle, beside the variable that a program would otherwise keep it in; and, where there is a
// GPU, from a request to a kernel that can be launched, beside what the driver alone takes for the same code.

#include "base/digest.hpp"
#include "benches.hpp"
#include "gpu/cuda/cuda_context.hpp"
#include "hearth/hearth.hpp"
#include "scratch.hpp"
#include "timing.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <thread>

namespace hearth::bench {

namespace {

constexpr std::uint64_t k_batch = 4096;
constexpr int k_requests = 101;

constexpr const char* k_saxpy = R"(
template <class T>
__global__ void saxpy(int n, T a, const T* x, T* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
})";
constexpr const char* k_name = "saxpy<float>";

// Million calls a second over all threads.
template <class Call>
Measured calls(unsigned threads, const std::function<void()>& begin, Call&& call)
{
    return throughput(threads, k_batch, [&](unsigned) {
        begin();
        for (std::uint64_t n = 0; n < k_batch; ++n)
            call();
    });
}

void report_handle(Report& report, const std::string& name, const std::function<void()>& begin, auto&& call,
                   const std::string& beside, auto&& rival)
{
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const Measured alone = calls(1, begin, call);
    const Measured together = calls(cores, begin, call);
    report.add_beside(name + ".one_thread", alone.inverse() * 1e3, "ns", beside,
                      calls(1, begin, rival).inverse() * 1e3);
    report.add_beside(name + ".scaling", together, "M/s", fmt::format("{} x one thread", cores), alone * cores);
}

// Both are reached through a pointer that the compiler knows nothing of.
void report_loaded(Report& report, const std::string& name, const cuda::Loaded& loaded)
{
    const auto anywhere = [](auto* pointer) {
        asm volatile("" : "+r"(pointer));
        return pointer;
    };
    const cuda::Function variable = loaded.function();
    report_handle(
        report, name, [] {}, [&] { keep(anywhere(&loaded)->function()); }, "a variable of the program's own",
        [&] { keep(cuda::Function(*anywhere(&variable))); });
}

// Microseconds: the median over `k_requests` runs of `work`, each after `prepare`, which is not counted.
Measured median_us(const std::function<void()>& prepare, const std::function<void()>& work)
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
        report_loaded(m_report, "kernel_handle", *loaded);
        const auto enter = [this] { m_driver.set_current(m_context); };
        report_handle(
            m_report, "kernel_function", enter, [&] { keep(kernel.function()); }, "cuCtxGetId of the current context",
            [&] {
                unsigned long long id = 0;
                m_driver.context_id(nullptr, &id);
                keep(id);
            });
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
        const Measured ours = median_us(
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
        const Measured bare = bare_load_us(cubin.data(), lowered);
        const Measured from_ptx = bare_load_us(ptx.c_str(), lowered);
        m_report.add_beside("kernel_request.warm_disk", ours, "us",
                            fmt::format("cuModuleLoadData of the same CUBIN ({} bytes)", cubin.size()), bare);
        m_report.add_beside("kernel_request.warm_disk.beside_ptx", ours, "us",
                            "cuModuleLoadData of its PTX, the driver's cache off", from_ptx);
        ptx_without_handle(cache, ptx, lowered, from_ptx);
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

    // PTX for those who keep no handle.
    void ptx_without_handle(Cache& cache, const std::string& ptx, const std::string& name, const Measured& by_driver)
    {
        if (const Result<cuda::Loaded> loaded = cuda::get_or_load(cache, ptx, name); !loaded)
            return m_report.note(
                fmt::format("ptx_get_or_load: skipped: {} {}", loaded.error().message, loaded.error().log));
        cache.flush();
        const auto get = [&] { keep(cuda::get_or_load(cache, ptx, name).value().function()); };
        m_report.add_beside("ptx_get_or_load.warm_disk", median_us([] { cuda::unload_unused_modules(); }, get), "us",
                            "cuModuleLoadData of the same PTX, the driver's cache off", by_driver);
        const auto enter = [this] { m_driver.set_current(m_context); };
        m_report.add_beside("ptx_get_or_load.loaded", calls(1, enter, get).inverse() * 1e3, "ns",
                            fmt::format("SHA-256 of the same {} bytes", ptx.size()),
                            calls(1, enter, [&] { keep(base::sha256(as_bytes(ptx))); }).inverse() * 1e3);
    }

    Measured bare_load_us(const void* image, const std::string& lowered)
    {
        CUmod_st* module = nullptr;
        const Measured time = median_us(
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
        for (const char* row : {"kernel_function", "kernel_request.warm_disk", "kernel_request.warm_disk.beside_ptx",
                                "ptx_get_or_load.warm_disk", "ptx_get_or_load.loaded"})
            report.note(fmt::format("{}: skipped: no GPU", row));
        report.note("kernel_handle: no GPU, so an empty handle was measured, which counts for no bar");
        report_loaded(report, "kernel_handle_without_gpu", {});
        return;
    }
    GpuBench gpu(**driver, report);
    gpu.handles();
    gpu.requests();
}

}  // namespace hearth::bench
