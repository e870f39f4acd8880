#include "gpu/device_memory.hpp"

#include "base/error.hpp"
#include "gpu/plain_staging.hpp"
#include "hearth/libraries.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace hearth {

namespace gpu {

namespace {

struct BackendRow {
    Backend backend;
    BackendProbe (*probe)();
    Result<std::shared_ptr<DeviceMemory>> (*open)(int index);
};

// Best first.
constexpr std::array k_backends{
    BackendRow{Backend::cuda, probe_cuda, open_cuda_memory},
    BackendRow{Backend::opencl, probe_opencl, open_opencl_memory},
    BackendRow{Backend::webgpu, probe_webgpu, open_webgpu_memory},
    BackendRow{Backend::host, probe_host, open_host_memory},
};

// A driver stack that finds no device is slow, and some print messages. If the kernel knows no GPU, there is none to
// find.
bool kernel_knows_a_gpu()
{
    for (const char* pattern : {"/dev/nvidia[0-9]*", "/dev/dri/renderD*", "/dev/kfd", "/dev/dxg", "/dev/mali*"})
        if (!expand(pattern).empty())
            return true;
    return false;
}

class GatheringAtOnce final : public Gathering {
public:
    explicit GatheringAtOnce(DeviceMemory& memory) : m_memory(memory) {}
    Status start(std::span<const RegionRead> reads, const StagingBuffer& out) override
    {
        std::vector<GatherPart> parts;
        parts.reserve(reads.size());
        for (const auto& [from, target, number] : reads)  // of its block as much as is known here: up to its end
            parts.push_back({{{from.address, from.buffer, from.offset + from.bytes}, from.offset, from.bytes}, target});
        return m_memory.gather(parts, out.bytes());
    }
    Status finish() override { return {}; }

private:
    DeviceMemory& m_memory;
};

}  // namespace

Status copy_through_host(DeviceMemory& from_memory, const DevicePart& from, DeviceMemory& to_memory,
                         const DevicePart& to)
{
    // In pieces: an entry may be larger than the host's free memory.
    const std::uint64_t most = std::min<std::uint64_t>(from.bytes, 16_MiB);
    const std::unique_ptr<StagingBuffer> between = PlainStaging::take(most);
    if (!between)
        return error(Code::no_space, "The host has no {} bytes for a copy.", most);
    WriteTicket last = 0;
    for (std::uint64_t at = 0; at < from.bytes; at += most) {
        const std::uint64_t bytes = std::min(most, from.bytes - at);
        const std::span<std::byte> piece = between->bytes().first(bytes);
        if (Status status = from_memory.read({from.block, from.offset + at, bytes}, piece); !status.ok())
            return status;
        const Result<WriteTicket> written = to_memory.write({to.block, to.offset + at, bytes}, piece);
        HEARTH_TRY(written);
        last = *written;
    }
    return to_memory.wait(last);
}

Result<WriteTicket> DeviceMemory::write_summed(const DevicePart& to, ByteView data, base::MemorySum& sum)
{
    sum = base::sum_of(data);
    return write(to, data);
}

std::unique_ptr<Gathering> DeviceMemory::begin_gathering()
{
    return std::make_unique<GatheringAtOnce>(*this);
}

Result<std::shared_ptr<DeviceMemory>> open_device_memory(Backend backend, int index)
{
    const bool look = backend == Backend::automatic && kernel_knows_a_gpu();
    for (const BackendRow& row : k_backends) {
        if (backend == row.backend)
            return row.open(index);
        if (!look)
            continue;
        // A device that is the host's own processor has only the host's memory, so nothing is gained.
        const BackendProbe probe = row.probe();
        std::vector<device::Device> worth;
        std::copy_if(probe.devices.begin(), probe.devices.end(), std::back_inserter(worth),
                     [&](const device::Device& device) { return device.gpu || row.backend == Backend::host; });
        if (!worth.empty() && index >= 0 && static_cast<std::size_t>(index) < worth.size())
            return row.open(worth[static_cast<std::size_t>(index)].index);
        if (!worth.empty())
            return row.open(index);  // which reports what is wrong with it
    }
    return open_host_memory(index);
}

}  // namespace gpu

namespace device {

std::string_view to_string(Backend backend)
{
    switch (backend) {
    case Backend::automatic:
        return "auto";
    case Backend::cuda:
        return "cuda";
    case Backend::opencl:
        return "opencl";
    case Backend::webgpu:
        return "webgpu";
    case Backend::host:
        return "host";
    }
    return "";
}

std::optional<Backend> backend_named(std::string_view name)
{
    for (const Backend backend : {Backend::automatic, Backend::cuda, Backend::opencl, Backend::webgpu, Backend::host})
        if (name == to_string(backend))
            return backend;
    return std::nullopt;
}

std::vector<BackendReport> backends()
{
    std::vector<BackendReport> reports;
    for (const gpu::BackendRow& row : gpu::k_backends) {
        gpu::BackendProbe probe = row.probe();
        const std::string missing = probe.devices.empty() ? probe.missing.message : std::string{};
        reports.push_back({row.backend, std::move(probe.devices), missing});
    }
    return reports;
}

std::uint64_t recommended_bytes(std::uint64_t device_bytes)
{
    // In thousandths: 120 up to 8 GiB, 250 from 80 GiB, and a straight line in between.
    const std::uint64_t beyond = std::clamp(device_bytes, 8_GiB, 80_GiB) - 8_GiB;
    const std::uint64_t share = 120 + beyond * 130 / 72_GiB;
    return device_bytes / 1000 * share;
}

}  // namespace device

}  // namespace hearth
