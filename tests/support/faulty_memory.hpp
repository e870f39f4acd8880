#pragma once

#include "gpu/device_memory.hpp"

#include <atomic>
#include <fmt/format.h>
#include <functional>
#include <thread>
#include <utility>

namespace hearth::test {

// Host memory in which things go wrong when asked to.
class FaultyMemory final : public gpu::DeviceMemory {
public:
    struct Faults {
        std::atomic<std::uint64_t> room{UINT64_MAX};          // bytes that the device has
        std::atomic<std::uint64_t> max_block{UINT64_MAX};     // the most it gives at once
        std::atomic<std::uint64_t> fail_allocation_every{0};  // n: the n-th, 2n-th, ... fail
        std::atomic<std::uint64_t> fail_write_every{0};
        std::atomic<std::uint64_t> flip_reads{0};  // one bit of as many reads
        std::atomic<bool> lost{false};
        std::atomic<bool> hold_allocations{false};  // they take as long as this is set
        std::atomic<int> held_allocations{0};
        std::atomic<std::uint64_t> allocations{0};
        std::atomic<std::uint64_t> writes{0};
        std::atomic<std::uint64_t> in_use{0};  // bytes that are allocated now
        std::atomic<bool> busy{false};         // what was put into streams goes on as long as this is set
        std::atomic<std::uint64_t> gathers{0};
        std::uint64_t total_bytes = 0;   // of a GPU that it passes for; 0: it is the host's memory
        std::function<void()> in_copy;   // is called, once, when a copy to another memory has been made
        std::function<void()> in_write;  // is called, once, before something is written
    };

    explicit FaultyMemory(std::shared_ptr<Faults> faults)
        : m_memory(gpu::open_host_memory(0).value()), m_faults(std::move(faults)), m_device(m_memory->device())
    {
        if (m_faults->total_bytes != 0) {
            m_device.backend = device::Backend::cuda;
            m_device.total_bytes = m_faults->total_bytes;
        }
    }

    const device::Device& device() const noexcept override { return m_device; }
    std::uint64_t alignment() const noexcept override { return m_memory->alignment(); }
    bool lost() noexcept override
    {
        m_lost = m_lost || m_faults->lost;
        return m_lost;
    }

    std::uint64_t max_block_bytes() const noexcept override { return m_faults->max_block; }

    Result<gpu::DeviceBlock> allocate(std::uint64_t bytes) override
    {
        ++m_faults->held_allocations;
        while (m_faults->hold_allocations)
            std::this_thread::yield();
        --m_faults->held_allocations;
        if (lost())
            return gone();
        const std::uint64_t every = m_faults->fail_allocation_every;
        if ((every != 0 && ++m_faults->allocations % every == 0) || m_faults->in_use + bytes > m_faults->room ||
            bytes > m_faults->max_block)
            return Error{Code::no_space, fmt::format("The device has no {} bytes left.", bytes), {}};
        m_faults->in_use += bytes;
        return m_memory->allocate(bytes);
    }
    void free(const gpu::DeviceBlock& block) noexcept override
    {
        m_faults->in_use -= block.bytes;
        m_memory->free(block);
    }
    Result<gpu::WriteTicket> write(const gpu::DevicePart& to, ByteView data) override
    {
        if (lost())
            return gone();
        if (const auto now = std::exchange(m_faults->in_write, nullptr))
            now();
        const std::uint64_t every = m_faults->fail_write_every;
        if (every != 0 && ++m_faults->writes % every == 0)
            return Error{Code::unavailable, "The write failed, as it was asked to.", {}};
        return m_memory->write(to, data);
    }
    bool settled(gpu::WriteTicket ticket) const noexcept override { return m_memory->settled(ticket); }
    Status wait(gpu::WriteTicket ticket) override { return m_memory->wait(ticket); }
    Status order_after(gpu::WriteTicket ticket, device::Stream stream) override
    {
        return m_memory->order_after(ticket, stream);
    }
    Result<std::unique_ptr<gpu::StreamPoint>> mark(device::Stream stream) override
    {
        if (stream == nullptr)
            return Error{Code::invalid_argument, "There is no such stream.", {}};
        struct Point final : gpu::StreamPoint {
            explicit Point(std::shared_ptr<Faults> its_faults) : faults(std::move(its_faults)) {}
            bool passed() noexcept override { return !faults->busy; }
            const std::shared_ptr<Faults> faults;
        };
        return std::unique_ptr<gpu::StreamPoint>(std::make_unique<Point>(m_faults));
    }
    Status read(const gpu::DevicePart& from, std::span<std::byte> out) override
    {
        if (lost())
            return gone();
        Status status = m_memory->read(from, out);
        flip(out);
        return status;
    }
    Status gather(std::span<const gpu::GatherPart> parts, std::span<std::byte> out) override
    {
        if (lost())
            return gone();
        ++m_faults->gathers;
        Status status = m_memory->gather(parts, out);
        flip(out);
        return status;
    }
    Status copy(const gpu::DevicePart& from, gpu::DeviceMemory& to_memory, const gpu::DevicePart& to) override
    {
        Status copied = lost() || to_memory.lost() ? Status{gone()} : m_memory->copy(from, to_memory, to);
        if (const std::function<void()> call = std::exchange(m_faults->in_copy, nullptr))
            call();
        return copied;
    }
    std::unique_ptr<gpu::StagingBuffer> staging(std::uint64_t bytes) override { return m_memory->staging(bytes); }

private:
    void flip(std::span<std::byte> out)
    {
        if (out.empty() || m_faults->flip_reads == 0)
            return;
        --m_faults->flip_reads;
        out[out.size() / 2] ^= std::byte(4);
    }
    static Error gone() { return {Code::unavailable, "The device is gone.", {}}; }

    const std::shared_ptr<gpu::DeviceMemory> m_memory;
    const std::shared_ptr<Faults> m_faults;
    device::Device m_device;
    std::atomic<bool> m_lost{false};  // this one stays lost when the device comes back
};

}  // namespace hearth::test
