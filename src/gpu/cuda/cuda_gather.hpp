#pragma once

#include "gpu/cuda/cuda_context.hpp"

#include <cstdint>
#include <span>

namespace hearth::gpu {

// A stretch of bytes to copy between two addresses that the device can reach. Both are multiples of 16.
struct GatherStep {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t bytes = 0;
};

// The kernel that copies many such stretches in one launch.
// Thread safety: any thread may launch it once it is loaded.
class CudaGather {
public:
    // Loads it in the current context, which must outlive it. False if the driver refuses it: then stretches have to be
    // copied one by one.
    bool load(const CudaDriver& driver);
    void unload(const CudaDriver& driver) noexcept;
    bool loaded() const noexcept { return m_function != nullptr; }

    // Puts the launch into the stream. `steps` must be in pinned memory, and stay there until the launch is done.
    int launch(const CudaDriver& driver, std::span<const GatherStep> steps, CUstream_st* stream) const;

private:
    CUmod_st* m_module = nullptr;
    CUfunc_st* m_function = nullptr;
};

}  // namespace hearth::gpu
