#include "gpu/cuda/cuda_gather.hpp"

#include <algorithm>

namespace hearth::gpu {

namespace {

constexpr unsigned k_threads = 128;
constexpr unsigned k_most_blocks = 4096;

// PTX, so that neither a CUDA compiler at build time nor NVRTC at run time is needed. It runs on any GPU since Maxwell.
// A block takes every gridDim-th step:
//
//   for (i = blockIdx.x; i < count; i += gridDim.x) {
//       for (k = threadIdx.x; k < steps[i].bytes / 16; k += blockDim.x)      sixteen bytes at a time
//           ((uint4*)steps[i].to)[k] = ((uint4*)steps[i].from)[k];
//       for (k = steps[i].bytes / 16 * 16 + threadIdx.x; k < steps[i].bytes; k += blockDim.x)      the rest
//           ((char*)steps[i].to)[k] = ((char*)steps[i].from)[k];
//   }
constexpr const char* k_ptx = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry hearth_gather(.param .u64 steps, .param .u32 count)
{
    .reg .pred %p;
    .reg .b16 %byte;
    .reg .b32 %i, %count, %blocks, %t, %w0, %w1, %w2, %w3;
    .reg .b64 %steps, %at, %from, %to, %bytes, %words, %thread, %threads, %k, %offset, %source, %target;

    ld.param.u64 %steps, [steps];
    ld.param.u32 %count, [count];
    cvta.to.global.u64 %steps, %steps;
    mov.u32 %i, %ctaid.x;
    mov.u32 %blocks, %nctaid.x;
    mov.u32 %t, %tid.x;
    cvt.u64.u32 %thread, %t;
    mov.u32 %t, %ntid.x;
    cvt.u64.u32 %threads, %t;

STEP:
    setp.ge.u32 %p, %i, %count;
    @%p bra DONE;
    mul.wide.u32 %at, %i, 24;
    add.u64 %at, %at, %steps;
    ld.global.u64 %from, [%at];
    ld.global.u64 %to, [%at+8];
    ld.global.u64 %bytes, [%at+16];
    shr.u64 %words, %bytes, 4;
    mov.u64 %k, %thread;

WORD:
    setp.ge.u64 %p, %k, %words;
    @%p bra WORDS_DONE;
    shl.b64 %offset, %k, 4;
    add.u64 %source, %from, %offset;
    add.u64 %target, %to, %offset;
    ld.v4.u32 {%w0, %w1, %w2, %w3}, [%source];
    st.v4.u32 [%target], {%w0, %w1, %w2, %w3};
    add.u64 %k, %k, %threads;
    bra WORD;

WORDS_DONE:
    shl.b64 %k, %words, 4;
    add.u64 %k, %k, %thread;

BYTE:
    setp.ge.u64 %p, %k, %bytes;
    @%p bra BYTES_DONE;
    add.u64 %source, %from, %k;
    add.u64 %target, %to, %k;
    ld.u8 %byte, [%source];
    st.u8 [%target], %byte;
    add.u64 %k, %k, %threads;
    bra BYTE;

BYTES_DONE:
    add.u32 %i, %i, %blocks;
    bra STEP;

DONE:
    ret;
}
)";

}  // namespace

bool CudaGather::load(const CudaDriver& driver)
{
    const AllowedInCapture allowed(driver);
    if (driver.load(&m_module, k_ptx) != cuda::k_success)
        return false;
    if (driver.function(&m_function, m_module, "hearth_gather") != cuda::k_success)
        m_function = nullptr;
    return loaded();
}

void CudaGather::unload(const CudaDriver& driver) noexcept
{
    if (m_module != nullptr)
        driver.unload(m_module);
    m_module = nullptr;
    m_function = nullptr;
}

int CudaGather::launch(const CudaDriver& driver, std::span<const GatherStep> steps, CUstream_st* stream) const
{
    const auto blocks = static_cast<unsigned>(std::min<std::size_t>(steps.size(), k_most_blocks));
    const void* table = steps.data();
    auto count = static_cast<unsigned>(steps.size());
    void* arguments[] = {&table, &count};
    return driver.launch(m_function, blocks, 1, 1, k_threads, 1, 1, 0, stream, arguments, nullptr);
}

}  // namespace hearth::gpu
