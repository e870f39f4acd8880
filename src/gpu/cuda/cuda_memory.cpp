#include "gpu/cuda/cuda_memory.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace hearth::gpu {

namespace {

constexpr std::uint64_t k_upload_bytes = 8_MiB;
// Larger writes go directly from the caller's memory: the driver's own staging is then no slower.
constexpr std::uint64_t k_most_staged = 1_MiB;

// Whether the context can still be used after this error of a call for memory, a copy, a stream or an event. Drivers
// add errors that end a context, so those are listed that do not: what was asked for was wrong, or was too much, or
// came at the wrong time (during a capture, 900 to 910).
bool is_harmless(int error)
{
    constexpr std::array k_harmless{
        cuda::k_invalid_value, cuda::k_out_of_memory, 217, 400, cuda::k_not_ready, 704, 705, 711, 712, 713, 800, 801};
    return (error >= 900 && error <= 910) || std::find(k_harmless.begin(), k_harmless.end(), error) != k_harmless.end();
}

// An event that was recorded in the caller's stream.
class CudaPoint final : public StreamPoint {
public:
    CudaPoint(const CudaDriver& driver, const CudaContext& context, CUevent_st* event)
        : m_driver(driver), m_context(context), m_event(event)
    {
    }
    CudaPoint(const CudaPoint&) = delete;
    CudaPoint& operator=(const CudaPoint&) = delete;
    ~CudaPoint() override
    {
        const ScopedContext context(m_driver, m_context);
        const AllowedInCapture allowed(m_driver);
        if (context.ok())
            m_driver.destroy_event(m_event);
    }
    bool passed() noexcept override
    {
        const ScopedContext context(m_driver, m_context);
        const AllowedInCapture allowed(m_driver);
        // Any other error says that the context is gone or broken, and nothing runs in it any more.
        return !context.ok() || m_driver.query_event(m_event) != cuda::k_not_ready;
    }

private:
    const CudaDriver& m_driver;
    const CudaContext m_context;
    CUevent_st* const m_event;
};

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
    const AllowedInCapture allowed(m_driver);
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
    if (!is_harmless(error))
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

// `sum`, unless it is null, gets the sum of the bytes: from the one pass over them that puts them into pinned memory.
Result<WriteTicket> CudaMemory::issue(const DevicePart& to, ByteView data, base::MemorySum* sum)
{
    base::MemorySum unasked;
    base::MemorySum& its_sum = sum != nullptr ? *sum : unasked;
    if (data.empty()) {
        its_sum = base::sum_of(data);
        return WriteTicket{0};
    }
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
        its_sum = base::copy_and_sum(staged, data);
        m_upload_used += (data.size() + 63) / 64 * 64;
        from = staged;
    } else if (sum != nullptr) {
        its_sum = base::sum_of(data);
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

Result<std::unique_ptr<StreamPoint>> CudaMemory::mark(device::Stream stream)
{
    const ScopedContext context(m_driver, m_context);
    if (!context.ok() || m_lost.load(std::memory_order_relaxed))
        return std::unique_ptr<StreamPoint>{};
    const AllowedInCapture allowed(m_driver);
    auto* const their_stream = static_cast<CUstream_st*>(stream);
    int capture = cuda::k_capture_none;
    int error = m_driver.capture_status(their_stream, &capture);
    if (error == cuda::k_success && capture != cuda::k_capture_none)
        return hearth::error(Code::invalid_argument,
                             "The stream is being captured, and a graph may be launched at any later time. Hold the "
                             "lease as long as the graph.");
    CUevent_st* event = nullptr;
    if (error == cuda::k_success)
        error = m_driver.create_event(&event, cuda::k_event_no_timing);
    if (error == cuda::k_success) {
        auto point = std::make_unique<CudaPoint>(m_driver, m_context, event);
        error = m_driver.record_event(event, their_stream);
        if (error == cuda::k_success)
            return std::unique_ptr<StreamPoint>(std::move(point));
    }
    // No reason to call the device lost, unless our own stream fails too: theirs may be of another context.
    if (const int ours = m_driver.finish_stream(m_write_stream); ours != cuda::k_success && !is_harmless(ours))
        return failed("be used any more", ours).error();
    return hearth::error(
        Code::invalid_argument,
        "The stream tells nothing of its work: {}. Give one of the context that {} is used in, or hold "
        "the lease until the work is done.",
        describe(m_driver, error), m_device.name);
}

}  // namespace hearth::gpu
