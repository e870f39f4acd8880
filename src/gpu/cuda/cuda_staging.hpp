#pragma once

#include "base/fork.hpp"
#include "gpu/cuda/cuda_context.hpp"
#include "gpu/device_memory.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace hearth::gpu {

// Pinned host memory that is kept for reuse, since allocating it costs more than a copy.
// Thread safety: all of it. Ownership: buffers that are lent out keep the pool alive.
class CudaStagingPool : public std::enable_shared_from_this<CudaStagingPool> {
public:
    explicit CudaStagingPool(std::shared_ptr<const KeptCudaContext> context)
        : m_driver(context->driver()), m_kept(std::move(context)), m_context(m_kept->context())
    {
    }
    ~CudaStagingPool();
    CudaStagingPool(const CudaStagingPool&) = delete;
    CudaStagingPool& operator=(const CudaStagingPool&) = delete;

    // Null if there is none, or if more is lent out than any machine should have pinned for a cache.
    std::unique_ptr<StagingBuffer> take(std::uint64_t bytes);

private:
    friend class CudaStaging;
    void give_back(void* memory, std::uint64_t bytes) noexcept;

    const CudaDriver& m_driver;
    const std::shared_ptr<const KeptCudaContext> m_kept;  // pinned memory goes with its context
    const CudaContext m_context;
    // No driver is called under it, and nothing else is locked.
    base::ForkSafeMutex m_mutex{base::LockLevel::reclaim};
    std::map<std::uint64_t, std::vector<void*>> m_free;  // by size
    std::uint64_t m_free_bytes = 0;
    std::uint64_t m_lent_bytes = 0;
};

}  // namespace hearth::gpu
