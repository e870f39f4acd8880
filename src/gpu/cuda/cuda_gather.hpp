#pragma once

#include "gpu/cuda/cuda_context.hpp"

#include <cstdint>
#include <span>

namespace hearth::gpu {

// A stretch of bytes that goes from one address the device can reach to another. Both are multiples of 16.
struct GatherStep {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t bytes = 0;
};

// The kernel that copies many such stretches in one launch.
// Thread safety: as an int, once loaded.
class CudaGather {
public:
    // In the context that is current, which must outlive it. False where the driver does not take it: then stretches
    // have to be copied one by one.
    bool load(const CudaDriver& driver);
    void unload(const CudaDriver& driver) noexcept;
    bool loaded() const noexcept { return m_function != nullptr; }

    // Puts the launch into the stream. `steps` lie in pinned memory and stay until it is done.
    int launch(const CudaDriver& driver, std::span<const GatherStep> steps, CUstream_st* stream) const;

private:
    CUmod_st* m_module = nullptr;
    CUfunc_st* m_function = nullptr;
};

}  // namespace hearth::gpu
