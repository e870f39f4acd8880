// Reads device memory to the host, one part or many at once, and copies it to another device.

#include "gpu/cuda/cuda_memory.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace hearth::gpu {

namespace {

// Larger parts are copied by a copy engine, and not by the gather kernel.
constexpr std::uint64_t k_most_gathered = 128_KiB;
constexpr std::uint64_t k_gather_step = 16_KiB;

}  // namespace

CudaMemory::Lane::Lane(CudaMemory& memory) : m_memory(memory)
{
    {
        const std::lock_guard lock(memory.m_read_mutex);
        if (!memory.m_lanes.empty()) {
            m_stream = memory.m_lanes.back();
            memory.m_lanes.pop_back();
            return;
        }
    }
    m_error = memory.m_driver.create_stream(&m_stream, cuda::k_stream_non_blocking);
}

CudaMemory::Lane::~Lane()
{
    if (m_error != cuda::k_success)
        return;
    const std::lock_guard lock(m_memory.m_read_mutex);
    m_memory.m_lanes.push_back(m_stream);
}

Status CudaMemory::read(const DevicePart& from, std::span<std::byte> out)
{
    if (out.empty())
        return {};
    const ScopedContext context(m_driver, m_context);
    if (!context.ok() || m_lost.load(std::memory_order_relaxed))
        return gone();
    const AllowedInCapture allowed(m_driver);
    if (Status status = settle_writes(); !status.ok())
        return status;
    const Lane lane(*this);
    int error = lane.error();
    if (error == cuda::k_success)
        error = m_driver.copy_to_host(out.data(), from.block.address + from.offset, out.size(), lane.stream());
    if (error == cuda::k_success)
        error = m_driver.finish_stream(lane.stream());
    if (error != cuda::k_success)
        return failed("be read", error);
    return {};
}

// Loaded when it is first needed. The driver compiles it then, once per machine.
bool CudaMemory::gather_kernel()
{
    const std::lock_guard lock(m_read_mutex);
    if (!m_gather_tried) {
        m_gather_tried = true;
        m_gather.load(m_driver);
    }
    return m_gather.loaded();
}

// A kernel can reach only pinned memory of the host.
bool CudaMemory::is_pinned(std::span<std::byte> memory) const
{
    unsigned type = 0;
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return m_driver.pointer_attribute(&type, cuda::k_pointer_memory_type, address) == cuda::k_success &&
           type == cuda::k_memory_of_host;
}

// Uses streams of its own, two in turn: while the kernel of one ends, with few of its blocks left, the next begins. The
// host waits once.
class CudaMemory::StreamGathering final : public Gathering {
public:
    explicit StreamGathering(CudaMemory& memory) : m_memory(memory) {}
    ~StreamGathering() override { static_cast<void>(finish()); }
    StreamGathering(const StreamGathering&) = delete;
    StreamGathering& operator=(const StreamGathering&) = delete;

    Status start(std::span<const RegionRead> reads, const StagingBuffer& out) override
    {
        return start(reads, out.bytes(), out.pinned());
    }
    // Without a word about `out` the driver is asked.
    Status start(std::span<const RegionRead> reads, std::span<std::byte> out, std::optional<bool> pinned);
    Status finish() override;

private:
    std::span<GatherStep> table_for(std::span<const RegionRead> reads);
    bool gather_small(std::span<const RegionRead> reads, std::span<std::byte> out, CUstream_st* stream,
                      std::size_t& left);

    CudaMemory& m_memory;
    std::vector<std::unique_ptr<StagingBuffer>> m_tables;  // read by kernels that are under way
    std::size_t m_steps_used = 0;                          // of the last table
    std::array<std::optional<Lane>, 2> m_lanes;
    std::size_t m_started = 0;
    bool m_under_way = false;
};

// Room for all the steps that these may take, in pinned memory, or none. One table lasts for many starts.
std::span<GatherStep> CudaMemory::StreamGathering::table_for(std::span<const RegionRead> reads)
{
    constexpr std::size_t k_table = 2048;
    std::size_t steps = 0;
    for (const RegionRead& read : reads)
        steps += 1 + std::min(read.from.bytes, k_most_gathered) / k_gather_step;
    if (m_tables.empty() || steps > m_tables.back()->bytes().size() / sizeof(GatherStep) - m_steps_used) {
        std::unique_ptr<StagingBuffer> table = m_memory.m_staging->take(std::max(steps, k_table) * sizeof(GatherStep));
        if (!table)
            return {};
        m_tables.push_back(std::move(table));
        m_steps_used = 0;
    }
    return {reinterpret_cast<GatherStep*>(m_tables.back()->bytes().data()) + m_steps_used, steps};
}

// Copies what the kernel can: it takes sixteen bytes at a time, and leaves parts that are not aligned for that. `left`:
// how many are too large for it.
bool CudaMemory::StreamGathering::gather_small(std::span<const RegionRead> reads, std::span<std::byte> out,
                                               CUstream_st* stream, std::size_t& left)
{
    const std::span<GatherStep> table = table_for(reads);
    if (table.empty())
        return false;
    GatherStep* step = table.data();
    const auto target = reinterpret_cast<std::uintptr_t>(out.data());
    std::uint64_t all_places = target;
    for (const auto& [from, place, number] : reads) {
        const std::uint64_t source = from.address + from.offset;
        if (from.bytes > k_most_gathered) {
            ++left;
            continue;
        }
        all_places |= source | place;
        if (from.bytes <= k_gather_step) {  // as most are
            *step = {source, target + place, from.bytes};
            step += from.bytes != 0 ? 1 : 0;
            continue;
        }
        for (std::uint64_t at = 0; at < from.bytes; at += k_gather_step)
            *step++ = {source + at, target + place + at, std::min(k_gather_step, from.bytes - at)};
    }
    if (all_places % 16 != 0)
        return false;
    const std::span<const GatherStep> steps(table.data(), step);
    m_steps_used += steps.size();
    return steps.empty() || m_memory.m_gather.launch(m_memory.m_driver, steps, stream) == cuda::k_success;
}

Status CudaMemory::StreamGathering::start(std::span<const RegionRead> reads, std::span<std::byte> out,
                                          std::optional<bool> pinned)
{
    // Current only during this call: a thread may have several gatherings in different contexts.
    const ScopedContext context(m_memory.m_driver, m_memory.m_context);
    if (!context.ok() || m_memory.m_lost.load(std::memory_order_relaxed))
        return m_memory.gone();
    const AllowedInCapture allowed(m_memory.m_driver);
    if (Status status = m_memory.settle_writes(); !status.ok())
        return status;
    std::optional<Lane>& lane = m_lanes[m_started++ % m_lanes.size()];
    if (!lane)
        lane.emplace(m_memory);
    int error = lane->error();
    m_under_way = m_under_way || error == cuda::k_success;
    std::size_t left = 0;
    const bool by_kernel = error == cuda::k_success && reads.size() > 1 &&
                           (pinned ? *pinned : m_memory.is_pinned(out)) && m_memory.gather_kernel() &&
                           gather_small(reads, out, lane->stream(), left);
    for (const auto& [from, target, number] : by_kernel&& left == 0 ? std::span<const RegionRead>{} : reads)
        if ((!by_kernel || from.bytes > k_most_gathered) && from.bytes != 0 && error == cuda::k_success)
            error = m_memory.m_driver.copy_to_host(out.data() + target, from.address + from.offset, from.bytes,
                                                   lane->stream());
    return error == cuda::k_success ? Status{} : m_memory.failed("be gathered", error);
}

Status CudaMemory::StreamGathering::finish()
{
    if (!m_under_way)
        return {};
    m_under_way = false;
    const ScopedContext context(m_memory.m_driver, m_memory.m_context);
    if (!context.ok())
        return m_memory.gone();
    const AllowedInCapture allowed(m_memory.m_driver);
    int error = cuda::k_success;
    for (const std::optional<Lane>& lane : m_lanes)
        if (lane && lane->error() == cuda::k_success) {
            const int ended = m_memory.m_driver.finish_stream(lane->stream());
            error = error == cuda::k_success ? ended : error;
        }
    return error == cuda::k_success ? Status{} : m_memory.failed("be gathered", error);
}

Status CudaMemory::gather(std::span<const GatherPart> parts, std::span<std::byte> out)
{
    std::vector<RegionRead> reads;
    reads.reserve(parts.size());
    for (const auto& [from, target] : parts)
        reads.push_back({{from.block.address, nullptr, from.offset, from.bytes}, target});
    StreamGathering gathering(*this);
    if (Status status = gathering.start(reads, out, std::nullopt); !status.ok())
        return status;
    return gathering.finish();
}

std::unique_ptr<Gathering> CudaMemory::begin_gathering()
{
    return std::make_unique<StreamGathering>(*this);
}

Status CudaMemory::copy(const DevicePart& from, DeviceMemory& to_memory, const DevicePart& to)
{
    auto* const other = dynamic_cast<CudaMemory*>(&to_memory);
    if (from.bytes == 0)
        return {};
    if (other == nullptr)
        return copy_through_host(*this, from, to_memory, to);
    const ScopedContext context(m_driver, m_context);
    if (other->lost())
        return other->gone();
    if (!context.ok())
        return gone();
    const AllowedInCapture allowed(m_driver);
    if (Status status = settle_writes(); !status.ok())
        return status;
    // An earlier write to the target's memory may still be under way.
    if (Status status = other->settle_writes(); !status.ok())
        return status;
    const Lane lane(*this);
    int error = lane.error();
    if (error == cuda::k_success)
        error = m_driver.copy_between(to.block.address + to.offset, other->m_context.handle,
                                      from.block.address + from.offset, m_context.handle, from.bytes, lane.stream());
    if (error == cuda::k_success)
        error = m_driver.finish_stream(lane.stream());
    if (error == cuda::k_success)
        return {};
    // The error does not tell whose context is gone or broken. If ours still does its work, it is the other's.
    const bool works = is_alive(m_driver, m_context) && m_driver.finish_stream(m_write_stream) == cuda::k_success;
    return works ? other->failed("take a copy of another device's", error)
                 : failed("be copied to another device", error);
}

}  // namespace hearth::gpu
