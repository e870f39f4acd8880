#include "gpu_test.hpp"

#include "base/shared_library.hpp"
#include "support/open_cache.hpp"

namespace hearth::test {

namespace {

// Everything here is as old as CUDA 11.4.
CudaForTests find_functions()
{
    CudaForTests cuda{};
    const base::SharedLibrary library = base::SharedLibrary::load("libcuda.so.1").value();
    const auto take = [&]<class... Parameters>(int (*&function)(Parameters...), const char* name) {
        function = library.find<int(Parameters...)>(name);
        ASSERT_NE(function, nullptr) << name;
    };
    take(cuda.reset_primary, "cuDevicePrimaryCtxReset_v2");
    take(cuda.synchronize, "cuCtxSynchronize");
    take(cuda.allocate, "cuMemAlloc_v2");
    take(cuda.free, "cuMemFree_v2");
    take(cuda.to_device, "cuMemcpyHtoD_v2");
    take(cuda.to_host, "cuMemcpyDtoH_v2");
    take(cuda.begin_capture, "cuStreamBeginCapture_v2");
    take(cuda.end_capture, "cuStreamEndCapture");
    take(cuda.instantiate, "cuGraphInstantiateWithFlags");
    take(cuda.launch_graph, "cuGraphLaunch");
    take(cuda.destroy_executable, "cuGraphExecDestroy");
    take(cuda.destroy_graph, "cuGraphDestroy");
    return cuda;
}

}  // namespace

DeviceFloats::DeviceFloats(const CudaForTests& cuda, std::vector<float> values) : m_cuda(cuda), m_count(values.size())
{
    EXPECT_EQ(m_cuda.allocate(&m_pointer, m_count * sizeof(float)), 0);
    EXPECT_EQ(m_cuda.to_device(m_pointer, values.data(), m_count * sizeof(float)), 0);
}

DeviceFloats::~DeviceFloats()
{
    m_cuda.free(m_pointer);
}

std::vector<float> DeviceFloats::read() const
{
    std::vector<float> values(m_count);
    EXPECT_EQ(m_cuda.synchronize(), 0);
    EXPECT_EQ(m_cuda.to_host(values.data(), m_pointer, m_count * sizeof(float)), 0);
    return values;
}

void GpuTest::SetUp()
{
    const Result<const gpu::CudaDriver*> driver = gpu::cuda_driver();
    if (!driver)
        GTEST_SKIP() << driver.error().message;
    m_driver = *driver;
    m_cuda = find_functions();
    cuda::set_module_limits({});
    m_before = cuda::module_stats();
    m_context = make_context();
}

void GpuTest::TearDown()
{
    if (m_driver == nullptr)
        return;
    if (m_context != nullptr)
        destroy_context(m_context);
    cuda::unload_unused_modules();
}

CUctx_st* GpuTest::make_context()
{
    CUctx_st* context = nullptr;
    EXPECT_EQ(m_driver->create_context(&context, 0, 0), 0);
    return context;
}

void GpuTest::destroy_context(CUctx_st* context)
{
    EXPECT_EQ(m_driver->destroy_context(context), 0);
}

Cache GpuTest::open()
{
    return open_cache(m_scratch / "cache");
}

cuda::ModuleStats GpuTest::stats() const
{
    cuda::ModuleStats now = cuda::module_stats();
    now.loads -= m_before.loads;
    now.hits -= m_before.hits;
    now.unloads -= m_before.unloads;
    now.rejected -= m_before.rejected;
    now.lost -= m_before.lost;
    return now;
}

std::vector<float> GpuTest::add(const cuda::Kernel& kernel, std::vector<float> a, const std::vector<float>& b)
{
    const int count = static_cast<int>(a.size());
    const DeviceFloats left(m_cuda, std::move(a));
    const DeviceFloats right(m_cuda, b);
    const DeviceFloats sum(m_cuda, std::vector<float>(b.size()));
    const Status launched =
        kernel.launch({.grid = (count + 31) / 32, .block = 32}, left.pointer(), right.pointer(), sum.pointer(), count);
    EXPECT_TRUE(launched.ok()) << launched.error().message << '\n' << launched.error().log;
    return sum.read();
}

std::vector<float> GpuTest::map(const cuda::Kernel& kernel, std::vector<float> in)
{
    const int count = static_cast<int>(in.size());
    const DeviceFloats from(m_cuda, in);
    const DeviceFloats to(m_cuda, std::vector<float>(in.size()));
    const Status launched = kernel.launch({.grid = 1, .block = 64}, from.pointer(), to.pointer(), count);
    EXPECT_TRUE(launched.ok()) << launched.error().message << '\n' << launched.error().log;
    return to.read();
}

int GpuTest::captured(int mode, const std::function<Status(CUstream_st*)>& launch)
{
    CUstream_st* stream = nullptr;
    CUgraph_st* graph = nullptr;
    CUgraphExec_st* executable = nullptr;
    EXPECT_EQ(m_driver->create_stream(&stream, 1), 0);
    EXPECT_EQ(m_cuda.begin_capture(stream, mode), 0);
    const Status launched = launch(stream);
    EXPECT_TRUE(launched.ok()) << launched.error().message << '\n' << launched.error().log;
    int error = m_cuda.end_capture(stream, &graph);
    if (error == 0)
        error = m_cuda.instantiate(&executable, graph, 0);
    if (error == 0)
        error = m_cuda.launch_graph(executable, stream);
    if (error == 0)
        error = m_driver->finish_stream(stream);
    if (executable != nullptr)
        m_cuda.destroy_executable(executable);
    if (graph != nullptr)
        m_cuda.destroy_graph(graph);
    m_driver->destroy_stream(stream);
    return error;
}

}  // namespace hearth::test
