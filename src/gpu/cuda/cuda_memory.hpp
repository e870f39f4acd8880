#pragma once

#include "gpu/cuda/cuda_gather.hpp"
#include "gpu/cuda/cuda_staging.hpp"
#include "gpu/device_memory.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace hearth::gpu {

// Device memory through the CUDA driver. Writes go through pinned memory and one stream, so that the caller waits for
// no copy; reads have streams of their own, one for each that is under way.
//   cuda_memory.cpp   allocating, writing, what comes after a write
//   cuda_reading.cpp  reading, gathering, copying to another device
//   cuda_devices.cpp  which devices there are, and their memory opened
class CudaMemory final : public DeviceMemory {
public:
    CudaMemory(device::Device device, std::shared_ptr<const KeptCudaContext> context)
        : m_driver(context->driver()), m_device(std::move(device)), m_kept(std::move(context)),
          m_context(m_kept->context()), m_staging(std::make_shared<CudaStagingPool>(m_kept))
    {
    }
    ~CudaMemory() override;

    // Called once, with the context current.
    Status prepare();

    const device::Device& device() const noexcept override { return m_device; }
    std::uint64_t alignment() const noexcept override { return 256; }  // as cuMemAlloc gives
    bool lost() noexcept override;

    Result<DeviceBlock> allocate(std::uint64_t bytes) override;
    void free(const DeviceBlock& block) noexcept override;

    Result<WriteTicket> write(const DevicePart& to, ByteView data) override { return issue(to, data, nullptr); }
    Result<WriteTicket> write_summed(const DevicePart& to, ByteView data, base::MemorySum& sum) override
    {
        return issue(to, data, &sum);
    }
    bool settled(WriteTicket ticket) const noexcept override
    {
        // acquire: pairs with the release in wait().
        return ticket <= m_done.load(std::memory_order_acquire);
    }
    Status wait(WriteTicket ticket) override;
    Status order_after(WriteTicket ticket, device::Stream stream) override;
    Result<std::unique_ptr<StreamPoint>> mark(device::Stream stream) override;

    Status read(const DevicePart& from, std::span<std::byte> out) override;
    Status gather(std::span<const GatherPart> parts, std::span<std::byte> out) override;
    bool gathers_in_background() const noexcept override { return true; }
    std::unique_ptr<Gathering> begin_gathering() override;
    Status copy(const DevicePart& from, DeviceMemory& to_memory, const DevicePart& to) override;
    std::unique_ptr<StagingBuffer> staging(std::uint64_t bytes) override { return m_staging->take(bytes); }

private:
    // A stream that belongs to one read at a time.
    class Lane {
    public:
        explicit Lane(CudaMemory& memory);
        ~Lane();
        Lane(const Lane&) = delete;
        Lane& operator=(const Lane&) = delete;
        CUstream_st* stream() const noexcept { return m_stream; }
        int error() const noexcept { return m_error; }

    private:
        CudaMemory& m_memory;
        CUstream_st* m_stream = nullptr;
        int m_error = cuda::k_success;
    };

    Status failed(const char* what, int error);
    Error gone() const;
    Result<WriteTicket> issue(const DevicePart& to, ByteView data, base::MemorySum* sum);
    Status settle_writes() { return wait(m_issued.load(std::memory_order_acquire)); }
    class StreamGathering;
    bool is_pinned(std::span<std::byte> memory) const;
    bool gather_kernel();

    const CudaDriver& m_driver;
    const device::Device m_device;
    const std::shared_ptr<const KeptCudaContext> m_kept;
    const CudaContext m_context;
    std::atomic<bool> m_lost{false};
    const std::shared_ptr<CudaStagingPool> m_staging;

    std::mutex m_write_mutex;  // guards the next five
    CUstream_st* m_write_stream = nullptr;
    CUevent_st* m_written = nullptr;
    std::unique_ptr<StagingBuffer> m_upload;
    std::uint64_t m_upload_used = 0;
    std::atomic<WriteTicket> m_issued{0};
    std::atomic<WriteTicket> m_done{0};

    std::mutex m_read_mutex;  // guards the rest
    std::vector<CUstream_st*> m_lanes;
    CudaGather m_gather;
    bool m_gather_tried = false;
};

}  // namespace hearth::gpu
