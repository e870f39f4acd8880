#include "gpu/cuda/cuda_memory.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>

namespace hearth::gpu {

namespace {

constexpr std::uint64_t k_upload_bytes = 8_MiB;
// Larger writes go directly from the caller's memory: the driver's own staging is then no slower.
constexpr std::uint64_t k_most_staged = 1_MiB;

// After these errors the context cannot be used any more.
bool is_fatal(int error)
{
    constexpr std::array k_fatal{46,  201, 214, 219, 220, 304, 700, 702, 709,
                                 710, 714, 715, 716, 717, 718, 719, 720, 721};
    return std::find(k_fatal.begin(), k_fatal.end(), error) != k_fatal.end();
}

}  // namespace

Status CudaMemory::prepare()
{
    int error = m_driver.create_stream(&m_write_stream, cuda::k_stream_non_blocking);
    if (error == cuda::k_success)
        error = m_driver.create_event(&m_written, cuda::k_event_no_timing);
    if (error != cuda::k_success)
        return failed("be prepared", error);
    return {};
}

CudaMemory::~CudaMemory()
{
    const ScopedContext context(m_driver, m_context);
    if (!context.ok())
        return;
    m_gather.unload(m_driver);
    for (CUstream_st* stream : m_lanes)
        m_driver.destroy_stream(stream);
    if (m_written != nullptr)
        m_driver.destroy_event(m_written);
    if (m_write_stream != nullptr)
        m_driver.destroy_stream(m_write_stream);
}

Error CudaMemory::gone() const
{
    return error(Code::unavailable,
                 "The CUDA context of {} is gone: destroyed, reset, or broken by an error on the device. What it "
                 "held is lost.",
                 m_device.name);
}

Status CudaMemory::failed(const char* what, int error)
{
    if (is_fatal(error))
        m_lost.store(true, std::memory_order_relaxed);
    return Error{error == cuda::k_out_of_memory ? Code::no_space : Code::unavailable,
                 fmt::format("Device memory of {} could not {}: {}.", m_device.name, what, describe(m_driver, error)),
                 {}};
}

bool CudaMemory::lost() noexcept
{
    if (m_lost.load(std::memory_order_relaxed))
        return true;
    if (is_alive(m_driver, m_context))
        return false;
    m_lost.store(true, std::memory_order_relaxed);
    return true;
}

Result<DeviceBlock> CudaMemory::allocate(std::uint64_t bytes)
{
    const ScopedContext context(m_driver, m_context);
    if (!context.ok())
        return gone();
    const AllowedInCapture allowed(m_driver);
    DeviceBlock block{0, nullptr, bytes};
    if (const int error = m_driver.allocate(&block.address, std::max<std::uint64_t>(bytes, 1));
        error != cuda::k_success)
        return failed(fmt::format("give {} bytes", bytes).c_str(), error).error();
    return block;
}

void CudaMemory::free(const DeviceBlock& block) noexcept
{
    const ScopedContext context(m_driver, m_context);
    if (!context.ok())
        return;
    const AllowedInCapture allowed(m_driver);
    m_driver.free(block.address);
}

Result<WriteTicket> CudaMemory::write(const DevicePart& to, ByteView data)
{
    if (data.empty())
        return WriteTicket{0};
    const ScopedContext context(m_driver, m_context);
    if (!context.ok() || m_lost.load(std::memory_order_relaxed))
        return gone();
    const AllowedInCapture allowed(m_driver);
    const std::lock_guard lock(m_write_mutex);
    if (!m_upload)
        m_upload = m_staging->take(k_upload_bytes);
    const void* from = data.data();
    if (m_upload && data.size() <= k_most_staged) {
        if (m_upload_used + data.size() > k_upload_bytes) {
            if (const int error = m_driver.finish_stream(m_write_stream); error != cuda::k_success)
                return failed("be written", error).error();
            m_done.store(m_issued.load(std::memory_order_relaxed), std::memory_order_release);
            m_upload_used = 0;
        }
        std::byte* staged = m_upload->bytes().data() + m_upload_used;
        std::memcpy(staged, data.data(), data.size());
        m_upload_used += (data.size() + 63) / 64 * 64;
        from = staged;
    }
    const std::uint64_t address = to.block.address + to.offset;
    int error = m_driver.copy_to_device(address, from, data.size(), m_write_stream);
    // Without our staging the driver reads the caller's own bytes, which may be pinned. It must be done before we
    // return.
    if (error == cuda::k_success && from == data.data())
        error = m_driver.finish_stream(m_write_stream);
    if (error != cuda::k_success)
        return failed("be written", error).error();
    // release: a thread that sees the ticket sees the copy issued.
    const WriteTicket ticket = m_issued.load(std::memory_order_relaxed) + 1;
    m_issued.store(ticket, std::memory_order_release);
    return ticket;
}

Status CudaMemory::wait(WriteTicket ticket)
{
    if (settled(ticket))
        return {};
    const ScopedContext context(m_driver, m_context);
    if (!context.ok())
        return gone();
    const AllowedInCapture allowed(m_driver);
    const WriteTicket issued = m_issued.load(std::memory_order_acquire);
    if (const int error = m_driver.finish_stream(m_write_stream); error != cuda::k_success)
        return failed("be written", error);
    // Other threads may have advanced it further. release: see settled().
    WriteTicket done = m_done.load(std::memory_order_relaxed);
    while (done < issued && !m_done.compare_exchange_weak(done, issued, std::memory_order_release)) {
    }
    return {};
}

Status CudaMemory::order_after(WriteTicket ticket, device::Stream stream)
{
    if (settled(ticket))
        return {};
    const ScopedContext context(m_driver, m_context);
    if (!context.ok())
        return gone();
    const AllowedInCapture allowed(m_driver);
    auto* const their_stream = static_cast<CUstream_st*>(stream);
    // A capture would fail if it waited for work outside of it. The caller's stream may also be invalid, which does not
    // mean that the device is lost. In both cases the host waits.
    int capture = cuda::k_capture_none;
    if (m_driver.capture_status(their_stream, &capture) != cuda::k_success || capture != cuda::k_capture_none)
        return wait(ticket);
    {
        const std::lock_guard lock(m_write_mutex);
        int error = m_driver.record_event(m_written, m_write_stream);
        if (error == cuda::k_success)
            error = m_driver.wait_in_stream(their_stream, m_written, 0);
        if (error == cuda::k_success)
            return {};
    }
    return wait(ticket);
}

}  // namespace hearth::gpu
