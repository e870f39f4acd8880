#include "gpu/cuda/cuda_staging.hpp"

#include <algorithm>
#include <bit>

namespace hearth::gpu {

namespace {

constexpr std::uint64_t k_least = 64_KiB;
constexpr std::uint64_t k_most_kept = 64_MiB;
// Pinned memory is the whole machine's, and what is pinned is never swapped. Whoever reads more gets plain memory.
constexpr std::uint64_t k_most_lent = 512_MiB;

}  // namespace

class CudaStaging final : public StagingBuffer {
public:
    CudaStaging(std::shared_ptr<CudaStagingPool> pool, void* memory, std::uint64_t size, std::uint64_t bytes)
        : m_pool(std::move(pool)), m_memory(memory), m_size(size)
    {
        m_bytes = {static_cast<std::byte*>(memory), bytes};
        m_pinned = true;
    }
    ~CudaStaging() override { m_pool->give_back(m_memory, m_size); }

private:
    const std::shared_ptr<CudaStagingPool> m_pool;
    void* const m_memory;
    const std::uint64_t m_size;
};

CudaStagingPool::~CudaStagingPool()
{
    const ScopedContext context(m_driver, m_context);
    if (!context.ok())
        return;  // the memory went with its context
    const AllowedInCapture allowed(m_driver);
    for (const auto& [size, buffers] : m_free)
        for (void* memory : buffers)
            m_driver.free_host(memory);
}

std::unique_ptr<StagingBuffer> CudaStagingPool::take(std::uint64_t bytes)
{
    const std::uint64_t size = std::max(k_least, std::bit_ceil(bytes));
    // What lies in the pool went with its context, and a forked child has none.
    const ScopedContext context(m_driver, m_context);
    if (!context.ok())
        return nullptr;
    {
        const std::lock_guard lock(m_mutex);
        if (size > k_most_lent - std::min(k_most_lent, m_lent_bytes))
            return nullptr;
        m_lent_bytes += size;
        if (const auto found = m_free.find(size); found != m_free.end() && !found->second.empty()) {
            void* memory = found->second.back();
            found->second.pop_back();
            m_free_bytes -= size;
            return std::make_unique<CudaStaging>(shared_from_this(), memory, size, bytes);
        }
    }
    const AllowedInCapture allowed(m_driver);
    void* memory = nullptr;
    if (m_driver.allocate_host(&memory, size, cuda::k_host_portable | cuda::k_host_mapped) != cuda::k_success) {
        const std::lock_guard lock(m_mutex);
        m_lent_bytes -= size;
        return nullptr;
    }
    return std::make_unique<CudaStaging>(shared_from_this(), memory, size, bytes);
}

// Asks the driver for nothing, as long as the memory is kept: whoever takes it next looks whether it is still there.
void CudaStagingPool::give_back(void* memory, std::uint64_t bytes) noexcept
{
    {
        const std::lock_guard lock(m_mutex);
        m_lent_bytes -= bytes;
        if (m_free_bytes + bytes <= k_most_kept) {
            m_free[bytes].push_back(memory);
            m_free_bytes += bytes;
            return;
        }
    }
    const ScopedContext context(m_driver, m_context);
    if (!context.ok())
        return;
    const AllowedInCapture allowed(m_driver);
    m_driver.free_host(memory);
}

}  // namespace hearth::gpu
