#pragma once

#include "gpu/cuda/cuda_context.hpp"
#include "hearth/cuda.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

// What the tests here need of the driver and Hearth does not.
struct CUgraph_st;
struct CUgraphExec_st;

namespace hearth::test {

struct CudaForTests {
    int (*reset_primary)(int device);
    int (*synchronize)();
    int (*allocate)(unsigned long long* pointer, std::size_t bytes);
    int (*free)(unsigned long long pointer);
    int (*to_device)(unsigned long long to, const void* from, std::size_t bytes);
    int (*to_host)(void* to, unsigned long long from, std::size_t bytes);
    int (*begin_capture)(CUstream_st* stream, int mode);
    int (*end_capture)(CUstream_st* stream, CUgraph_st** graph);
    int (*instantiate)(CUgraphExec_st** executable, CUgraph_st* graph, unsigned long long flags);
    int (*launch_graph)(CUgraphExec_st* executable, CUstream_st* stream);
    int (*destroy_executable)(CUgraphExec_st* executable);
    int (*destroy_graph)(CUgraph_st* graph);
};

// Whole arrays in the memory of the current context's device.
class DeviceFloats {
public:
    DeviceFloats(const CudaForTests& cuda, std::vector<float> values);
    ~DeviceFloats();
    DeviceFloats(const DeviceFloats&) = delete;
    DeviceFloats& operator=(const DeviceFloats&) = delete;

    float* pointer() const { return reinterpret_cast<float*>(m_pointer); }
    std::vector<float> read() const;

private:
    const CudaForTests& m_cuda;
    std::size_t m_count;
    unsigned long long m_pointer = 0;
};

// Skips where there is no GPU. Otherwise a context of the test's own is current, and counts of modules start at zero.
class GpuTest : public testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    CUctx_st* make_context();
    void destroy_context(CUctx_st* context);
    Cache open();

    // Counted from the start of the test.
    cuda::ModuleStats stats() const;

    // c = a + b, with `add` of k_add below.
    std::vector<float> add(const cuda::Kernel& kernel, std::vector<float> a, const std::vector<float>& b);
    // What a kernel (const float* in, float* out, int n) makes of `in`.
    std::vector<float> map(const cuda::Kernel& kernel, std::vector<float> in);
    // What a kernel (float* x) of one thread makes of `value`. It is a Kernel, or a lease of one.
    template <class Launched>
    std::vector<float> run(const Launched& kernel, float value)
    {
        const DeviceFloats x(m_cuda, {value});
        const Status launched = kernel.launch({.grid = 1, .block = 1}, x.pointer());
        EXPECT_TRUE(launched.ok()) << launched.error().message << '\n' << launched.error().log;
        return x.read();
    }
    // Captures what `launch` puts into a stream, and runs the graph. Returns the first error of the driver's. The
    // modes: global, the strictest; of the thread; relaxed.
    int captured(int mode, const std::function<Status(CUstream_st*)>& launch);

    const gpu::CudaDriver* m_driver = nullptr;
    CudaForTests m_cuda{};
    CUctx_st* m_context = nullptr;
    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;

private:
    cuda::ModuleStats m_before;
};

inline constexpr const char* k_add = R"(
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
})";

inline constexpr const char* k_copy_and_neg = R"(
extern "C" __global__ void copy(const float* in, float* out, int n)
{
    if (threadIdx.x < n)
        out[threadIdx.x] = in[threadIdx.x];
}
extern "C" __global__ void neg(const float* in, float* out, int n)
{
    if (threadIdx.x < n)
        out[threadIdx.x] = -in[threadIdx.x];
})";

// *x = *x OPERATION NUMBER, such as "add.f32 %f2, %f1, 0f3F800000;" (plus 1).
inline std::string ptx_of(const std::string& name, const std::string& operation,
                          const std::string& version_and_target = ".version 7.0\n.target sm_52")
{
    return version_and_target + R"(
.address_size 64
.visible .entry )" +
           name + R"((.param .u64 x)
{
    .reg .b64 %rd<3>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd1, [x];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.f32 %f1, [%rd2];
    )" + operation +
           R"(
    st.global.f32 [%rd2], %f2;
    ret;
}
)";
}

inline constexpr const char* k_scale = R"(
namespace math {
template <class T, int Factor>
__global__ void scale(const T* in, T* out, int n)
{
    if (threadIdx.x < n)
        out[threadIdx.x] = in[threadIdx.x] * Factor;
}
})";

}  // namespace hearth::test
