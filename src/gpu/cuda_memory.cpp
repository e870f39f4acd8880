// Device memory through the CUDA driver. Writes go through pinned memory and one stream, so that the caller waits for
// no copy; reads have streams of their own, one for each that is under way.

#include "gpu/cuda_gather.hpp"
#include "gpu/cuda_staging.hpp"
#include "gpu/device_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <vector>

namespace hearth::gpu {

namespace {

constexpr std::uint64_t k_alignment = 128;  // a cache line of the device
constexpr std::uint64_t k_upload_bytes = 8_MiB;
// Larger writes go straight from where they are: the driver's own staging is no slower then.
constexpr std::uint64_t k_most_staged = 1_MiB;
// Larger parts are no work for the gather kernel but for a copy engine.
constexpr std::uint64_t k_most_gathered = 128_KiB;
constexpr std::uint64_t k_gather_step = 16_KiB;

// After these the context is of no more use.
bool is_fatal(int error)
{
    constexpr std::array k_fatal{46,  201, 214, 219, 220, 304, 700, 702, 709,
                                 710, 714, 715, 716, 717, 718, 719, 720, 721};
    return std::find(k_fatal.begin(), k_fatal.end(), error) != k_fatal.end();
}

class CudaMemory final : public DeviceMemory {
public:
    CudaMemory(vram::Device device, std::shared_ptr<const KeptCudaContext> context)
        : m_driver(context->driver()), m_device(std::move(device)), m_kept(std::move(context)),
          m_context(m_kept->context()), m_staging(std::make_shared<CudaStagingPool>(m_kept))
    {
    }
    ~CudaMemory() override;

    // Once, with the context current.
    Status prepare();

    const vram::Device& device() const noexcept override { return m_device; }
    std::uint64_t free_bytes() override;
    std::uint64_t alignment() const noexcept override { return k_alignment; }
    bool lost() noexcept override;

    Result<DeviceBlock> allocate(std::uint64_t bytes) override;
    void free(const DeviceBlock& block) noexcept override;

    Result<WriteTicket> write(const DevicePart& to, ByteView data) override;
    bool settled(WriteTicket ticket) const noexcept override
    {
        // acquire: pairs with the release in wait().
        return ticket <= m_done.load(std::memory_order_acquire);
    }
    Status wait(WriteTicket ticket) override;
    Status order_after(WriteTicket ticket, vram::Stream stream) override;

    Status read(const DevicePart& from, std::span<std::byte> out) override;
    Status gather(std::span<const GatherPart> parts, std::span<std::byte> out) override;
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
    Status settle_writes() { return wait(m_issued.load(std::memory_order_acquire)); }
    class StreamGathering;
    bool is_pinned(std::span<std::byte> memory) const;
    bool gather_small(std::span<const GatherPart> parts, std::span<std::byte> out, CUstream_st* stream,
                      std::unique_ptr<StagingBuffer>& table);
    bool gather_kernel();

    const CudaDriver& m_driver;
    const vram::Device m_device;
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
    return {
        Code::unavailable,
        fmt::format("The CUDA context of {} is gone: destroyed, reset, or broken by an error on the device. What it "
                    "held is lost.",
                    m_device.name),
        {}};
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

std::uint64_t CudaMemory::free_bytes()
{
    const ScopedContext context(m_driver, m_context);
    std::size_t free = 0;
    std::size_t total = 0;
    if (context.ok())
        m_driver.memory_info(&free, &total);
    return free;
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
    // Not staged by us: the caller's own bytes, which may even be pinned, must have been read before we return.
    if (error == cuda::k_success && from == data.data())
        error = m_driver.finish_stream(m_write_stream);
    if (error != cuda::k_success)
        return failed("be written", error).error();
    // release: whoever sees the ticket sees the copy issued.
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
    // Others may have come further meanwhile. release: see settled().
    WriteTicket done = m_done.load(std::memory_order_relaxed);
    while (done < issued && !m_done.compare_exchange_weak(done, issued, std::memory_order_release)) {
    }
    return {};
}

Status CudaMemory::order_after(WriteTicket ticket, vram::Stream stream)
{
    if (settled(ticket))
        return {};
    const ScopedContext context(m_driver, m_context);
    if (!context.ok())
        return gone();
    const std::lock_guard lock(m_write_mutex);
    int error = m_driver.record_event(m_written, m_write_stream);
    if (error == cuda::k_success)
        error = m_driver.wait_in_stream(static_cast<CUstream_st*>(stream), m_written, 0);
    // A stream that is being captured takes no wait for what is outside of the capture, and a stream of the caller's
    // may be wrong: neither says anything of the device. The host waits then.
    return error == cuda::k_success ? Status{} : wait(ticket);
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

// Loaded when first wanted. The driver compiles it then, once on a machine.
bool CudaMemory::gather_kernel()
{
    const std::lock_guard lock(m_read_mutex);
    if (!m_gather_tried) {
        m_gather_tried = true;
        m_gather.load(m_driver);
    }
    return m_gather.loaded();
}

// A kernel reaches no other memory of the host.
bool CudaMemory::is_pinned(std::span<std::byte> memory) const
{
    unsigned type = 0;
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return m_driver.pointer_attribute(&type, cuda::k_pointer_memory_type, address) == cuda::k_success &&
           type == cuda::k_memory_of_host;
}

// With the kernel, where it can: it copies sixteen bytes at a time, and what is not laid out for that is left.
bool CudaMemory::gather_small(std::span<const GatherPart> parts, std::span<std::byte> out, CUstream_st* stream,
                              std::unique_ptr<StagingBuffer>& table)
{
    constexpr std::size_t k_most_steps = k_most_gathered / k_gather_step;
    table = m_staging->take(parts.size() * k_most_steps * sizeof(GatherStep));
    if (!table)
        return false;
    auto* const first = reinterpret_cast<GatherStep*>(table->bytes().data());
    GatherStep* step = first;
    const auto target = reinterpret_cast<std::uintptr_t>(out.data());
    std::uint64_t all_places = target;
    for (const GatherPart& part : parts) {
        if (part.from.bytes > k_most_gathered)
            continue;
        const std::uint64_t source = part.from.block.address + part.from.offset;
        all_places |= source | part.target;
        for (std::uint64_t at = 0; at < part.from.bytes; at += k_gather_step)
            *step++ = {source + at, target + part.target + at, std::min(k_gather_step, part.from.bytes - at)};
    }
    if (all_places % 16 != 0)
        return false;
    return step == first || m_gather.launch(m_driver, {first, step}, stream) == cuda::k_success;
}

// In a stream of its own: launches and copies follow each other there, and the host waits once.
class CudaMemory::StreamGathering final : public Gathering {
public:
    explicit StreamGathering(CudaMemory& memory) : m_memory(memory) {}
    ~StreamGathering() override { static_cast<void>(finish()); }
    StreamGathering(const StreamGathering&) = delete;
    StreamGathering& operator=(const StreamGathering&) = delete;

    Status start(std::span<const GatherPart> parts, std::span<std::byte> out) override;
    Status finish() override
    {
        if (!m_under_way)
            return {};
        m_under_way = false;
        // Here and in start() for the call alone: several of these may be under way in a thread, in different contexts.
        const ScopedContext context(m_memory.m_driver, m_memory.m_context);
        if (!context.ok())
            return m_memory.gone();
        const AllowedInCapture allowed(m_memory.m_driver);
        const int error = m_memory.m_driver.finish_stream(m_lane->stream());
        return error == cuda::k_success ? Status{} : m_memory.failed("be gathered", error);
    }

private:
    CudaMemory& m_memory;
    std::vector<std::unique_ptr<StagingBuffer>> m_tables;  // that the kernels under way read
    std::unique_ptr<Lane> m_lane;
    bool m_under_way = false;
};

Status CudaMemory::StreamGathering::start(std::span<const GatherPart> parts, std::span<std::byte> out)
{
    const ScopedContext context(m_memory.m_driver, m_memory.m_context);
    if (!context.ok() || m_memory.m_lost.load(std::memory_order_relaxed))
        return m_memory.gone();
    const AllowedInCapture allowed(m_memory.m_driver);
    if (Status status = m_memory.settle_writes(); !status.ok())
        return status;
    if (!m_lane)
        m_lane = std::make_unique<Lane>(m_memory);
    int error = m_lane->error();
    m_under_way = error == cuda::k_success;
    std::unique_ptr<StagingBuffer>& table = m_tables.emplace_back();
    const bool by_kernel = error == cuda::k_success && parts.size() > 1 && m_memory.is_pinned(out) &&
                           m_memory.gather_kernel() && m_memory.gather_small(parts, out, m_lane->stream(), table);
    for (const GatherPart& part : parts)
        if (error == cuda::k_success && part.from.bytes != 0 && (!by_kernel || part.from.bytes > k_most_gathered))
            error = m_memory.m_driver.copy_to_host(out.data() + part.target, part.from.block.address + part.from.offset,
                                                   part.from.bytes, m_lane->stream());
    return error == cuda::k_success ? Status{} : m_memory.failed("be gathered", error);
}

Status CudaMemory::gather(std::span<const GatherPart> parts, std::span<std::byte> out)
{
    StreamGathering gathering(*this);
    if (Status status = gathering.start(parts, out); !status.ok())
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
    // A write to what lay at the target before may still be on its way there.
    if (Status status = other->settle_writes(); !status.ok())
        return status;
    const Lane lane(*this);
    int error = lane.error();
    if (error == cuda::k_success)
        error = m_driver.copy_between(to.block.address + to.offset, other->m_context.handle,
                                      from.block.address + from.offset, m_context.handle, from.bytes, lane.stream());
    if (error == cuda::k_success)
        error = m_driver.finish_stream(lane.stream());
    if (error != cuda::k_success)
        return failed("be copied to another device", error);
    return {};
}

Result<vram::Device> describe_device(const CudaDriver& driver, int index, int& ordinal)
{
    std::array<char, 256> name{};
    std::size_t bytes = 0;
    int error = driver.device(&ordinal, index);
    if (error == cuda::k_success)
        error = driver.device_name(name.data(), static_cast<int>(name.size()) - 1, ordinal);
    if (error == cuda::k_success)
        error = driver.device_bytes(&bytes, ordinal);
    if (error != cuda::k_success)
        return Error{Code::invalid_argument,
                     fmt::format("There is no CUDA device {}: {}. They are numbered from 0, and CUDA_VISIBLE_DEVICES "
                                 "hides some.",
                                 index, describe(driver, error)),
                     {}};
    return vram::Device{
        .backend = Backend::cuda, .index = index, .name = name.data(), .gpu = true, .total_bytes = bytes};
}

Result<std::shared_ptr<DeviceMemory>> open(int index, KeptCudaContext::Kind kind)
{
    const Result<const CudaDriver*> driver = cuda_driver();
    if (!driver)
        return driver.error();
    int ordinal = 0;
    Result<vram::Device> device = describe_device(**driver, index, ordinal);
    if (!device)
        return device.error();
    const Result<std::shared_ptr<const KeptCudaContext>> context = KeptCudaContext::take(**driver, ordinal, kind);
    if (!context)
        return context.error();
    const auto memory = std::make_shared<CudaMemory>(*std::move(device), *context);
    const ScopedContext current(**driver, (*context)->context());
    if (Status prepared = memory->prepare(); !prepared.ok())
        return prepared.error();
    return {std::shared_ptr<DeviceMemory>(memory)};
}

}  // namespace

BackendProbe probe_cuda()
{
    BackendProbe probe{Backend::cuda, {}, {}};
    const Result<const CudaDriver*> driver = cuda_driver();
    if (!driver) {
        probe.missing = driver.error();
        probe.missing.message += " For an NVIDIA GPU, install NVIDIA's driver.";
        return probe;
    }
    int count = 0;
    (*driver)->device_count(&count);
    for (int i = 0, ordinal = 0; i < count; ++i)
        if (Result<vram::Device> device = describe_device(**driver, i, ordinal))
            probe.devices.push_back(*std::move(device));
    if (probe.devices.empty())
        probe.missing = {Code::unavailable,
                         "The CUDA driver is here and shows no device. Is one hidden by "
                         "CUDA_VISIBLE_DEVICES?",
                         {}};
    return probe;
}

Result<std::shared_ptr<DeviceMemory>> open_cuda_memory(int index)
{
    return open(index, KeptCudaContext::Kind::primary);
}

Result<std::shared_ptr<DeviceMemory>> open_cuda_memory_in_own_context(int index)
{
    return open(index, KeptCudaContext::Kind::own);
}

}  // namespace hearth::gpu
