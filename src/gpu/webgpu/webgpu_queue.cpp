#include "gpu/webgpu/webgpu_queue.hpp"

#include <utility>

namespace hearth::gpu {

namespace {

constexpr std::uint64_t k_most_unsubmitted_bytes = 4_MiB;
constexpr std::uint64_t k_most_unsubmitted_writes = 256;
constexpr std::uint64_t k_most_unfinished_bytes = 64_MiB;

}  // namespace

Status WebGpuQueue::make_room()
{
    if (m_unsubmitted_bytes >= k_most_unsubmitted_bytes || m_unsubmitted_writes >= k_most_unsubmitted_writes) {
        if (Status submitted = submit({}); !submitted)
            return submitted;
        if (m_device.idle())
            mark_settled();
    }
    return m_unfinished_bytes >= k_most_unfinished_bytes ? finish() : Status{};
}

Status WebGpuQueue::write(wgpu::Buffer to, std::uint64_t offset, ByteView words)
{
    if (Status room = make_room(); !room)
        return room;
    if (Status written = m_device.write(to, offset, words); !written)
        return written;
    ++m_unsubmitted_writes;
    m_unsubmitted_bytes += words.size();
    return {};
}

Status WebGpuQueue::submit(std::span<const BufferCopy> copies)
{
    if (Status submitted = m_device.submit(copies); !submitted)
        return submitted;
    m_unfinished_bytes += std::exchange(m_unsubmitted_bytes, 0);
    m_unsubmitted_writes = 0;
    m_submitted = m_written;
    return {};
}

Status WebGpuQueue::finish()
{
    if (m_unsubmitted_writes > 0)
        if (Status submitted = submit({}); !submitted)
            return submitted;
    if (Status finished = m_device.wait(); !finished)
        return finished;
    mark_settled();
    return {};
}

void WebGpuQueue::advance(WriteTicket ticket) noexcept
{
    if (m_device.lost() || (ticket > m_submitted && !submit({})))
        return;
    if (m_device.idle())
        mark_settled();
}

void WebGpuQueue::mark_settled() noexcept
{
    m_unfinished_bytes = 0;
    // release: pairs with the acquire in is_settled().
    m_settled.store(m_submitted, std::memory_order_release);
}

bool WebGpuQueue::is_settled(WriteTicket ticket) const noexcept
{
    // acquire: pairs with the release in mark_settled().
    return ticket <= m_settled.load(std::memory_order_acquire);
}

}  // namespace hearth::gpu
