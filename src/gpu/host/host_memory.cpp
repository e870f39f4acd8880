// Host memory in place of a device's: the same interface, so that everything works without a GPU.

#include "base/error.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/host/memory_limit.hpp"
#include "gpu/plain_staging.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace hearth::gpu {

namespace {

constexpr std::uint64_t k_alignment = 64;
// The one host appears as several independent devices, for tests.
constexpr int k_most_devices = 16;

std::byte* at(const DevicePart& part)
{
    // The address is one that allocate() gave out.
    return reinterpret_cast<std::byte*>(part.block.address + part.offset);  // NOLINT(performance-no-int-to-ptr)
}

std::uint64_t physical_bytes(int name)
{
    const long pages = ::sysconf(name);
    const long size = ::sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

class HostMemory final : public DeviceMemory {
public:
    explicit HostMemory(device::Device device) : m_device(std::move(device)) {}

    const device::Device& device() const noexcept override { return m_device; }
    std::uint64_t alignment() const noexcept override { return k_alignment; }
    bool lost() noexcept override { return false; }

    Result<DeviceBlock> allocate(std::uint64_t bytes) override
    {
        void* memory = nullptr;
        if (::posix_memalign(&memory, k_alignment, std::max<std::uint64_t>(bytes, k_alignment)) != 0)
            return error(Code::no_space, "The host has no {} bytes of memory left.", bytes);
        return DeviceBlock{reinterpret_cast<std::uintptr_t>(memory), nullptr, bytes};
    }
    void free(const DeviceBlock& block) noexcept override { std::free(at({block, 0, 0})); }

    Result<WriteTicket> write(const DevicePart& to, ByteView data) override
    {
        if (!data.empty())
            std::memcpy(at(to), data.data(), data.size());
        return WriteTicket{0};
    }
    Result<WriteTicket> write_summed(const DevicePart& to, ByteView data, base::MemorySum& sum) override
    {
        sum = base::copy_and_sum(at(to), data);
        return WriteTicket{0};
    }
    bool settled(WriteTicket /*ticket*/) const noexcept override { return true; }
    Status wait(WriteTicket /*ticket*/) override { return {}; }
    Status order_after(WriteTicket /*ticket*/, device::Stream /*stream*/) override { return {}; }

    Status read(const DevicePart& from, std::span<std::byte> out) override
    {
        if (!out.empty())
            std::memcpy(out.data(), at(from), out.size());
        return {};
    }
    Status gather(std::span<const GatherPart> parts, std::span<std::byte> out) override
    {
        for (const GatherPart& part : parts)
            if (part.from.bytes != 0)
                std::memcpy(out.data() + part.target, at(part.from), part.from.bytes);
        return {};
    }
    Status copy(const DevicePart& from, DeviceMemory& to_memory, const DevicePart& to) override
    {
        // The other may be a device's: if one of several devices was lost, the host stands in for it.
        const Result<WriteTicket> written = to_memory.write(to, {at(from), from.bytes});
        return written ? to_memory.wait(*written) : Status{written.error()};
    }
    std::unique_ptr<StagingBuffer> staging(std::uint64_t bytes) override { return PlainStaging::take(bytes); }

private:
    const device::Device m_device;
};

device::Device host_device(int index)
{
    return {.backend = Backend::host,
            .index = index,
            .name = "host memory",
            .gpu = false,
            .total_bytes = std::min(physical_bytes(_SC_PHYS_PAGES), memory_limit_of_groups())};
}

}  // namespace

BackendProbe probe_host()
{
    return {Backend::host, {host_device(0)}, {}};
}

Result<std::shared_ptr<DeviceMemory>> open_host_memory(int index)
{
    if (index < 0 || index >= k_most_devices)
        return error(Code::invalid_argument, "There is no host device {}: they are numbered from 0 to {}.", index,
                     k_most_devices - 1);
    return {std::make_shared<HostMemory>(host_device(index))};
}

}  // namespace hearth::gpu
