#pragma once

#include "gpu/device_memory.hpp"
#include "gpu/webgpu/webgpu_device.hpp"

#include <atomic>
#include <cstdint>
#include <span>

namespace hearth::gpu {

// The queue of a WebGPU device: what was written, how much of it was submitted, and how much of that is done. The
// library keeps what is written in its own memory until the device has it; this class limits how much that is. Thread
// safety: one thread at a time, but is_settled() from any.
class WebGpuQueue {
public:
    explicit WebGpuQueue(WebGpuDevice& device) : m_device(device) {}

    // Whole words. They are part of the write that the next count_write() counts.
    Status write(wgpu::Buffer to, std::uint64_t offset, ByteView words);
    WriteTicket count_write() noexcept { return ++m_written; }
    WriteTicket last_write() const noexcept { return m_written; }

    // Submits the copies after all that was written before.
    Status submit(std::span<const BufferCopy> copies);
    // Submits what is not submitted yet, and waits until the device has done all.
    Status finish();
    // Submits the write if it is not submitted yet, and checks whether the device is done.
    void advance(WriteTicket ticket) noexcept;
    // All that was submitted is known to be done.
    void mark_settled() noexcept;
    bool is_settled(WriteTicket ticket) const noexcept;

private:
    Status make_room();

    WebGpuDevice& m_device;
    std::uint64_t m_unsubmitted_writes = 0;
    std::uint64_t m_unsubmitted_bytes = 0;
    std::uint64_t m_unfinished_bytes = 0;
    WriteTicket m_written = 0;
    WriteTicket m_submitted = 0;
    std::atomic<WriteTicket> m_settled{0};
};

}  // namespace hearth::gpu
