// Device memory as OpenCL buffers. Writes are done when they return, so nothing has to be ordered after them.

#include "base/error.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/opencl_devices.hpp"
#include "gpu/plain_staging.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <fmt/format.h>

namespace hearth::gpu {

namespace {

constexpr std::uint64_t k_least_alignment = 128;

cl::MemId cl_buffer_of(const DevicePart& part)
{
    return static_cast<cl::MemId>(part.block.buffer);
}

class OpenClMemory final : public DeviceMemory {
public:
    OpenClMemory(std::shared_ptr<const cl::Api> api, device::Device device, cl::DeviceId id)
        : m_api(std::move(api)), m_device(std::move(device)),
          m_alignment(std::max<std::uint64_t>(k_least_alignment,
                                              cl::number_of<cl::UInt>(*m_api, id, cl::k_device_base_alignment) / 8U)),
          m_max_block(most_at_once(cl::number_of<cl::ULong>(*m_api, id, cl::k_device_max_allocation)))
    {
    }
    ~OpenClMemory() override
    {
        if (m_queue != nullptr)
            m_api->release_queue(m_queue);
        if (m_context != nullptr)
            m_api->release_context(m_context);
    }

    Status prepare(cl::DeviceId id)
    {
        cl::PlatformId platform = nullptr;
        m_api->get_device_info(id, cl::k_device_platform, sizeof(cl::PlatformId), static_cast<void*>(&platform),
                               nullptr);
        const std::array<std::intptr_t, 3> properties{cl::k_context_platform, reinterpret_cast<std::intptr_t>(platform),
                                                      0};
        cl::Int error = cl::k_success;
        m_context = m_api->create_context(properties.data(), 1, &id, nullptr, nullptr, &error);
        if (m_context != nullptr)
            m_queue = m_api->create_queue(m_context, id, 0, &error);
        if (m_queue == nullptr)
            return failed("be prepared", error);
        return {};
    }

    const device::Device& device() const noexcept override { return m_device; }
    std::uint64_t alignment() const noexcept override { return m_alignment; }
    bool lost() noexcept override { return m_lost.load(std::memory_order_relaxed); }
    std::uint64_t max_block_bytes() const noexcept override { return m_max_block; }

    Result<DeviceBlock> allocate(std::uint64_t bytes) override
    {
        if (bytes > m_max_block)
            return Error{Code::no_space,
                         fmt::format("{} gives no more than {} bytes at once, and {} were asked for.", m_device.name,
                                     m_max_block, bytes),
                         {}};
        cl::Int error = cl::k_success;
        const std::size_t size = std::max<std::uint64_t>(bytes, 1);
        const cl::MemId buffer = m_api->create_buffer(m_context, cl::k_mem_read_write, size, nullptr, &error);
        if (buffer == nullptr)
            return no_block(bytes, error);
        // Drivers take the memory when it is first used. Now is when we can still do without.
        const std::byte first{};
        error = m_api->enqueue_write(m_queue, buffer, cl::k_true, 0, 1, &first, 0, nullptr, nullptr);
        if (error != cl::k_success) {
            m_api->release_mem(buffer);
            return no_block(bytes, error);
        }
        return DeviceBlock{0, buffer, bytes};
    }
    void free(const DeviceBlock& block) noexcept override { m_api->release_mem(static_cast<cl::MemId>(block.buffer)); }

    Result<WriteTicket> write(const DevicePart& to, ByteView data) override
    {
        if (data.empty())
            return WriteTicket{0};
        const cl::Int error = m_api->enqueue_write(m_queue, cl_buffer_of(to), cl::k_true, to.offset, data.size(),
                                                   data.data(), 0, nullptr, nullptr);
        if (error != cl::k_success)
            return failed("be written", error).error();
        return WriteTicket{0};
    }
    bool settled(WriteTicket /*ticket*/) const noexcept override { return true; }
    Status wait(WriteTicket /*ticket*/) override { return {}; }
    Status order_after(WriteTicket /*ticket*/, device::Stream /*stream*/) override { return {}; }

    Status read(const DevicePart& from, std::span<std::byte> out) override
    {
        if (out.empty())
            return {};
        const cl::Int error = m_api->enqueue_read(m_queue, cl_buffer_of(from), cl::k_true, from.offset, out.size(),
                                                  out.data(), 0, nullptr, nullptr);
        if (error != cl::k_success)
            return failed("be read", error);
        return {};
    }
    Status gather(std::span<const GatherPart> parts, std::span<std::byte> out) override
    {
        cl::Int error = cl::k_success;
        for (const GatherPart& part : parts)
            if (error == cl::k_success && part.from.bytes != 0)
                error = m_api->enqueue_read(m_queue, cl_buffer_of(part.from), cl::k_false, part.from.offset,
                                            part.from.bytes, out.data() + part.target, 0, nullptr, nullptr);
        // Also after a failure: what was put in before still writes to `out`.
        const cl::Int finished = m_api->finish(m_queue);
        if (error == cl::k_success)
            error = finished;
        if (error != cl::k_success)
            return failed("be gathered", error);
        return {};
    }
    Status copy(const DevicePart& from, DeviceMemory& to_memory, const DevicePart& to) override
    {
        if (from.bytes == 0)
            return {};
        if (&to_memory == this) {
            cl::Int error = m_api->enqueue_copy(m_queue, cl_buffer_of(from), cl_buffer_of(to), from.offset, to.offset,
                                                from.bytes, 0, nullptr, nullptr);
            if (error == cl::k_success)
                error = m_api->finish(m_queue);
            if (error != cl::k_success)
                return failed("be copied", error);
            return {};
        }
        // Two contexts have no way to each other but through the host.
        return copy_through_host(*this, from, to_memory, to);
    }
    std::unique_ptr<StagingBuffer> staging(std::uint64_t bytes) override { return PlainStaging::take(bytes); }

private:
    // Drivers that do not say have no limit.
    static std::uint64_t most_at_once(std::uint64_t said) { return said == 0 ? UINT64_MAX : said; }
    // Where memory is asked for, out of resources means out of memory.
    Error no_block(std::uint64_t bytes, cl::Int error)
    {
        Error refused = failed(fmt::format("give {} bytes", bytes).c_str(), error).error();
        if (error == cl::k_out_of_resources)
            refused.code = Code::no_space;
        return refused;
    }
    Status failed(const char* what, cl::Int error)
    {
        const bool full = error == cl::k_mem_object_allocation_failure || error == cl::k_out_of_host_memory ||
                          error == cl::k_invalid_buffer_size;
        if (error == cl::k_device_not_available || error == cl::k_invalid_context)
            m_lost.store(true, std::memory_order_relaxed);
        return Error{full ? Code::no_space : Code::unavailable,
                     fmt::format("Device memory of {} could not {}: {}.", m_device.name, what, cl::error_name(error)),
                     {}};
    }

    const std::shared_ptr<const cl::Api> m_api;
    const device::Device m_device;
    const std::uint64_t m_alignment;
    const std::uint64_t m_max_block;
    cl::ContextId m_context = nullptr;
    cl::QueueId m_queue = nullptr;
    std::atomic<bool> m_lost{false};
};

device::Device describe_device(const cl::Api& api, cl::DeviceId id, int index)
{
    const auto type = cl::number_of<cl::ULong>(api, id, cl::k_device_type);
    return {.backend = Backend::opencl,
            .index = index,
            .name = cl::text_of(api.get_device_info, id, cl::k_device_name),
            .gpu = (type & (cl::k_device_type_gpu | cl::k_device_type_accelerator)) != 0,
            .total_bytes = cl::number_of<cl::ULong>(api, id, cl::k_device_memory_size)};
}

}  // namespace

BackendProbe probe_opencl()
{
    BackendProbe probe{Backend::opencl, {}, {}};
    const Result<std::shared_ptr<const cl::Api>> api = cl::load();
    if (!api) {
        probe.missing = api.error();
        return probe;
    }
    const Result<std::vector<cl::DeviceId>> ids = cl::all_devices(**api);
    if (!ids) {
        probe.missing = ids.error();
        return probe;
    }
    for (const cl::DeviceId id : *ids)
        probe.devices.push_back(describe_device(**api, id, static_cast<int>(probe.devices.size())));
    return probe;
}

Result<std::shared_ptr<DeviceMemory>> open_opencl_memory(int index)
{
    const Result<std::shared_ptr<const cl::Api>> api = cl::load();
    HEARTH_TRY(api);
    const Result<std::vector<cl::DeviceId>> ids = cl::all_devices(**api);
    HEARTH_TRY(ids);
    if (index < 0 || static_cast<std::size_t>(index) >= ids->size())
        return Error{
            Code::invalid_argument,
            fmt::format("There is no OpenCL device {}: they are numbered from 0 to {}.", index, ids->size() - 1),
            {}};
    const cl::DeviceId id = (*ids)[static_cast<std::size_t>(index)];
    const auto memory = std::make_shared<OpenClMemory>(*api, describe_device(**api, id, index), id);
    HEARTH_TRY(memory->prepare(id));
    return {std::shared_ptr<DeviceMemory>(memory)};
}

}  // namespace hearth::gpu
