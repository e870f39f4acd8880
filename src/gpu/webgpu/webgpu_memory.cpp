#include "base/error.hpp"
#include "base/of_process.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/driver_process.hpp"
#include "gpu/plain_staging.hpp"
#include "gpu/webgpu/webgpu_device.hpp"
#include "gpu/webgpu/webgpu_queue.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <new>
#include <utility>

namespace hearth::gpu {

namespace {

// WebGPU copies and writes whole words. Parts start at multiples of k_webgpu_alignment, the strictest alignment that a
// binding's offset may need, and own the room up to the next multiple.
constexpr std::uint64_t k_word = 4;
constexpr std::uint64_t k_webgpu_alignment = 256;
constexpr std::uint64_t k_write_piece = 16_MiB;
// A gather of more than this waits more than once.
constexpr std::uint64_t k_most_gathered_at_once = 256_MiB;
constexpr std::uint64_t k_least_staging = 64_KiB;
constexpr std::uint64_t k_most_staging_kept = 16_MiB;

constexpr std::uint64_t down_to_word(std::uint64_t bytes)
{
    return bytes / k_word * k_word;
}
constexpr std::uint64_t up_to_word(std::uint64_t bytes)
{
    return down_to_word(bytes + k_word - 1);
}

struct WebGpuProcess : DriverProcess {};

DriverProcess& webgpu_process()
{
    return base::of_process<WebGpuProcess>();
}

wgpu::Buffer wgpu_buffer_of(const DevicePart& part)
{
    return static_cast<wgpu::Buffer>(part.block.buffer);
}

// wgpu-native would end the process for some of what is refused here.
Status check(const DevicePart& part)
{
    if (part.bytes == 0)
        return {};
    if (part.block.buffer == nullptr)
        return error(Code::invalid_argument, "A part of no WebGPU buffer was named. Allocate the block first.");
    if (part.bytes > part.block.bytes || part.offset > part.block.bytes - part.bytes)
        return error(Code::invalid_argument, "A part of {} bytes at {} is not inside its block of {} bytes.",
                     part.bytes, part.offset, part.block.bytes);
    return {};
}

Error too_small(std::uint64_t bytes, std::uint64_t room)
{
    return error(Code::invalid_argument, "{} bytes do not fit where there is room for {}.", bytes, room);
}

// The memory of a WebGPU device. Writes and copies are done in the order in which they were issued: it has one queue.
// Thread safety: all of it, with one lock; a read holds it until the device has answered.
// Ownership: of the device, and of one small buffer that reads go through.
// Cost: write(): one copy of the bytes, which goes to the device with the next read, wait or settled(), or once there
// are 4 MiB. gather(): one submit and one wait for up to 256 MiB.
class WebGpuMemory final : public DeviceMemory {
public:
    explicit WebGpuMemory(std::unique_ptr<WebGpuDevice> device)
        : m_device(std::move(device)),
          m_most_gathered(down_to_word(std::min(m_device->max_buffer_bytes(), k_most_gathered_at_once)))
    {
    }
    ~WebGpuMemory() override
    {
        if (!webgpu_process().unusable())
            return;
        static_cast<void>(m_staging.release());
        static_cast<void>(m_device.release());
    }
    WebGpuMemory(const WebGpuMemory&) = delete;
    WebGpuMemory& operator=(const WebGpuMemory&) = delete;

    const device::Device& device() const noexcept override { return m_device->device(); }
    std::uint64_t alignment() const noexcept override { return k_webgpu_alignment; }
    bool lost() noexcept override { return webgpu_process().unusable() || m_device->lost(); }
    std::uint64_t max_block_bytes() const noexcept override
    {
        return down_to_word(std::min(m_device->max_buffer_bytes(), m_device->max_storage_bytes()));
    }

    Result<DeviceBlock> allocate(std::uint64_t bytes) override;
    void free(const DeviceBlock& block) noexcept override;

    Result<WriteTicket> write(const DevicePart& to, ByteView data) override;
    bool settled(WriteTicket ticket) const noexcept override;
    Status wait(WriteTicket ticket) override;
    Status order_after(WriteTicket ticket, device::Stream /*stream*/) override { return wait(ticket); }
    // WebGPU cannot be asked for less: this waits until the device has done all that was submitted.
    Result<std::unique_ptr<StreamPoint>> mark(device::Stream /*stream*/) override
    {
        if (lost())
            return std::unique_ptr<StreamPoint>{};
        const std::lock_guard lock(m_mutex);
        HEARTH_TRY(m_queue.finish());
        return std::unique_ptr<StreamPoint>{};
    }

    Status read(const DevicePart& from, std::span<std::byte> out) override;
    Status gather(std::span<const GatherPart> parts, std::span<std::byte> out) override;
    Status copy(const DevicePart& from, DeviceMemory& to_memory, const DevicePart& to) override;

    std::unique_ptr<StagingBuffer> staging(std::uint64_t bytes) override { return PlainStaging::take(bytes); }

private:
    // Bytes of a gather that were copied into the staging buffer, and where they go.
    struct Landing {
        std::uint64_t staged = 0;
        std::uint64_t target = 0;
        std::uint64_t bytes = 0;
    };
    struct Batch {
        std::vector<BufferCopy> copies;
        std::vector<Landing> landings;
        std::uint64_t bytes = 0;
    };

    // These two are called under the lock.
    Status prepare_staging(std::uint64_t bytes);
    Status land(Batch& batch, std::span<std::byte> out);

    Status copy_within(const DevicePart& from, const DevicePart& to);

    // Asked before the lock: in a forked child another thread may have held it.
    Status alive()
    {
        HEARTH_TRY(webgpu_process().check("WebGPU"));
        return lost() ? Status{m_device->lost_error()} : Status{};
    }

    std::unique_ptr<WebGpuDevice> m_device;
    const std::uint64_t m_most_gathered;
    mutable std::mutex m_mutex;
    // mutable: settled() is const, but lets the device go on.
    mutable WebGpuQueue m_queue{*m_device};
    wgpu::Owned<wgpu::Buffer> m_staging;
    std::uint64_t m_staging_bytes = 0;
};

Result<DeviceBlock> WebGpuMemory::allocate(std::uint64_t bytes)
{
    if (bytes > max_block_bytes())
        return error(Code::no_space,
                     "A block of {} bytes is larger than a buffer of the WebGPU device {} can be ({}). Ask "
                     "for smaller ones.",
                     bytes, device().name, max_block_bytes());
    HEARTH_TRY(alive());
    const std::lock_guard lock(m_mutex);
    const std::uint64_t rounded = std::max(up_to_word(bytes), k_word);
    constexpr wgpu::Flags k_usage = wgpu::k_usage_storage | wgpu::k_usage_copy_source | wgpu::k_usage_copy_target;
    Result<wgpu::Owned<wgpu::Buffer>> buffer = m_device->create_buffer(rounded, k_usage);
    if (!buffer && buffer.error().code == Code::no_space) {
        // Freed memory is available only when the device is done with it.
        HEARTH_TRY(m_queue.finish());
        buffer = m_device->create_buffer(rounded, k_usage);
    }
    HEARTH_TRY(buffer);
    return DeviceBlock{.buffer = buffer->release(), .bytes = bytes};
}

void WebGpuMemory::free(const DeviceBlock& block) noexcept
{
    if (block.buffer == nullptr || webgpu_process().unusable())
        return;
    const std::lock_guard lock(m_mutex);
    m_device->release(static_cast<wgpu::Buffer>(block.buffer));
}

Result<WriteTicket> WebGpuMemory::write(const DevicePart& to, ByteView data)
{
    HEARTH_TRY(check(to));
    if (data.size() > to.bytes)
        return too_small(data.size(), to.bytes);
    if (to.offset % k_word != 0)
        return error(Code::invalid_argument,
                     "WebGPU writes at multiples of {} only, and not at {}. Let parts start at multiples "
                     "of {}.",
                     k_word, to.offset, k_webgpu_alignment);
    HEARTH_TRY(alive());
    const std::lock_guard lock(m_mutex);
    const std::uint64_t whole = down_to_word(data.size());
    for (std::uint64_t at = 0; at < whole; at += k_write_piece) {
        const ByteView piece = data.subspan(at, std::min(k_write_piece, whole - at));
        HEARTH_TRY(m_queue.write(wgpu_buffer_of(to), to.offset + at, piece));
    }
    if (const ByteView tail = data.subspan(whole); !tail.empty()) {
        std::array<std::byte, k_word> padded{};
        std::copy(tail.begin(), tail.end(), padded.begin());
        HEARTH_TRY(m_queue.write(wgpu_buffer_of(to), to.offset + whole, padded));
    }
    // Counted only now: an earlier submit may have taken only a part of it.
    return data.empty() ? m_queue.last_write() : m_queue.count_write();
}

bool WebGpuMemory::settled(WriteTicket ticket) const noexcept
{
    if (m_queue.is_settled(ticket) || webgpu_process().unusable())
        return true;
    const std::unique_lock lock(m_mutex, std::try_to_lock);
    if (lock)
        m_queue.advance(ticket);
    return lock && m_queue.is_settled(ticket);
}

Status WebGpuMemory::wait(WriteTicket ticket)
{
    HEARTH_TRY(alive());
    const std::lock_guard lock(m_mutex);
    return m_queue.is_settled(ticket) ? Status{} : m_queue.finish();
}

Status WebGpuMemory::read(const DevicePart& from, std::span<std::byte> out)
{
    const GatherPart part{from, 0};
    return gather({&part, 1}, out);
}

Status WebGpuMemory::gather(std::span<const GatherPart> parts, std::span<std::byte> out)
{
    for (const GatherPart& part : parts) {
        if (Status checked = check(part.from); !checked)
            return checked;
        if (part.from.bytes > out.size() || part.target > out.size() - part.from.bytes)
            return too_small(part.from.bytes, out.size() - std::min<std::uint64_t>(part.target, out.size()));
    }
    HEARTH_TRY(alive());
    const std::lock_guard lock(m_mutex);
    Batch batch;
    batch.copies.reserve(parts.size());
    batch.landings.reserve(parts.size());
    for (const GatherPart& part : parts) {
        std::uint64_t at = part.from.offset;
        std::uint64_t target = part.target;
        const std::uint64_t end = part.from.offset + part.from.bytes;
        while (at < end) {
            if (batch.bytes == m_most_gathered)
                if (Status landed = land(batch, out); !landed)
                    return landed;
            const std::uint64_t first = down_to_word(at);
            const std::uint64_t words = std::min(up_to_word(end) - first, m_most_gathered - batch.bytes);
            const std::uint64_t wanted = std::min(end, first + words) - at;
            batch.copies.push_back({wgpu_buffer_of(part.from), first, nullptr, batch.bytes, words});
            batch.landings.push_back({batch.bytes + (at - first), target, wanted});
            batch.bytes += words;
            at += wanted;
            target += wanted;
        }
    }
    return batch.bytes > 0 ? land(batch, out) : Status{};
}

Status WebGpuMemory::prepare_staging(std::uint64_t bytes)
{
    if (bytes <= m_staging_bytes)
        return {};
    m_staging.reset();
    m_staging_bytes = 0;
    const std::uint64_t rounded =
        std::min(std::bit_ceil(std::max(bytes, k_least_staging)), down_to_word(m_device->max_buffer_bytes()));
    Result<wgpu::Owned<wgpu::Buffer>> buffer =
        m_device->create_buffer(rounded, wgpu::k_usage_map_read | wgpu::k_usage_copy_target);
    HEARTH_TRY(buffer);
    m_staging = std::move(*buffer);
    m_staging_bytes = rounded;
    return {};
}

Status WebGpuMemory::land(Batch& batch, std::span<std::byte> out)
{
    if (Status prepared = prepare_staging(batch.bytes); !prepared)
        return prepared;
    for (BufferCopy& copy : batch.copies)
        copy.to = m_staging.get();
    if (Status submitted = m_queue.submit(batch.copies); !submitted)
        return submitted;
    const Result<const std::byte*> mapped = m_device->map(m_staging.get(), batch.bytes);
    if (!mapped) {
        // It is not known whether the buffer will still be mapped.
        m_staging.reset();
        m_staging_bytes = 0;
        return mapped.error();
    }
    for (const Landing& landing : batch.landings)
        std::memcpy(out.data() + landing.target, *mapped + landing.staged, landing.bytes);
    m_device->unmap(m_staging.get());
    m_queue.mark_settled();
    if (m_staging_bytes > k_most_staging_kept) {
        m_staging.reset();
        m_staging_bytes = 0;
    }
    batch = {};
    return {};
}

Status WebGpuMemory::copy(const DevicePart& from, DeviceMemory& to_memory, const DevicePart& to)
{
    if (Status checked = check(from); !checked)
        return checked;
    if (from.bytes > to.bytes)
        return too_small(from.bytes, to.bytes);
    if (from.bytes == 0)
        return {};
    if (&to_memory == this) {
        if (Status checked = check(to); !checked)
            return checked;
        if (from.offset % k_word == 0 && to.offset % k_word == 0)
            return copy_within(from, to);
    }
    // Each memory has a device of its own, even if two were opened on one adapter, and WebGPU cannot copy between
    // devices.
    return copy_through_host(*this, from, to_memory, to);
}

Status WebGpuMemory::copy_within(const DevicePart& from, const DevicePart& to)
{
    HEARTH_TRY(alive());
    const std::lock_guard lock(m_mutex);
    const std::uint64_t bytes = up_to_word(from.bytes);
    std::vector<BufferCopy> copies{{wgpu_buffer_of(from), from.offset, wgpu_buffer_of(to), to.offset, bytes}};
    wgpu::Owned<wgpu::Buffer> between;
    if (wgpu_buffer_of(from) == wgpu_buffer_of(to)) {
        // WebGPU cannot copy within one buffer.
        Result<wgpu::Owned<wgpu::Buffer>> made =
            m_device->create_buffer(bytes, wgpu::k_usage_copy_source | wgpu::k_usage_copy_target);
        HEARTH_TRY(made);
        between = std::move(*made);
        copies = {{wgpu_buffer_of(from), from.offset, between.get(), 0, bytes},
                  {between.get(), 0, wgpu_buffer_of(to), to.offset, bytes}};
    }
    if (Status submitted = m_queue.submit(copies); !submitted)
        return submitted;
    return m_queue.finish();
}

}  // namespace

BackendProbe probe_webgpu()
{
    BackendProbe probe;
    probe.backend = Backend::webgpu;
    if (const Status here = webgpu_process().check("WebGPU"); !here) {
        probe.missing = here.error();
        return probe;
    }
    Result<WebGpuAdapters> found = find_webgpu_adapters();
    if (!found) {
        probe.missing = found.error();
        return probe;
    }
    for (WebGpuAdapter& adapter : found->adapters)
        probe.devices.push_back(std::move(adapter.device));
    return probe;
}

Result<std::shared_ptr<DeviceMemory>> open_webgpu_memory(int index)
{
    HEARTH_TRY(webgpu_process().check("WebGPU"));
    Result<std::unique_ptr<WebGpuDevice>> device = WebGpuDevice::open(index);
    HEARTH_TRY(device);
    return std::shared_ptr<DeviceMemory>(std::make_shared<WebGpuMemory>(std::move(*device)));
}

}  // namespace hearth::gpu
