// Device memory as OpenCL buffers. Writes are done when they return, so nothing has to be ordered after them.

#include "base/error.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/opencl/opencl_devices.hpp"
#include "gpu/opencl/opencl_process.hpp"
#include "gpu/plain_staging.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <fmt/format.h>

namespace hearth::gpu {

namespace {

constexpr std::uint64_t k_least_alignment = 128;

cl_mem cl_buffer_of(const DevicePart& part)
{
    return static_cast<cl_mem>(part.block.buffer);
}

// A marker in the caller's queue.
class OpenClPoint final : public StreamPoint {
public:
    OpenClPoint(const cl::Api& api, cl_event event) : m_api(api), m_event(event) {}
    OpenClPoint(const OpenClPoint&) = delete;
    OpenClPoint& operator=(const OpenClPoint&) = delete;
    ~OpenClPoint() override
    {
        if (!opencl_process().unusable())
            m_api.release_event(m_event);
    }
    bool passed() noexcept override
    {
        cl_int status = CL_COMPLETE;
        // Below CL_COMPLETE it has failed: nothing runs any more either.
        return opencl_process().unusable() ||
               m_api.get_event_info(m_event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) !=
                   CL_SUCCESS ||
               status <= CL_COMPLETE;
    }

private:
    const cl::Api& m_api;
    cl_event m_event;
};

class OpenClMemory final : public DeviceMemory {
public:
    OpenClMemory(std::shared_ptr<const cl::Api> api, device::Device device, cl_device_id id)
        : m_api(std::move(api)), m_device(std::move(device)),
          m_alignment(std::max<std::uint64_t>(k_least_alignment,
                                              cl::number_of<cl_uint>(*m_api, id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8U)),
          m_max_block(most_at_once(cl::number_of<cl_ulong>(*m_api, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE)))
    {
    }
    ~OpenClMemory() override
    {
        if (opencl_process().unusable())
            return;
        if (m_queue != nullptr)
            m_api->release_queue(m_queue);
        if (m_context != nullptr)
            m_api->release_context(m_context);
    }

    Status prepare(cl_device_id id)
    {
        cl_platform_id platform = nullptr;
        m_api->get_device_info(id, CL_DEVICE_PLATFORM, sizeof(cl_platform_id), static_cast<void*>(&platform), nullptr);
        const std::array<std::intptr_t, 3> properties{CL_CONTEXT_PLATFORM, reinterpret_cast<std::intptr_t>(platform),
                                                      0};
        cl_int error = CL_SUCCESS;
        m_context = m_api->create_context(properties.data(), 1, &id, nullptr, nullptr, &error);
        if (m_context != nullptr)
            m_queue = m_api->create_queue(m_context, id, 0, &error);
        if (m_queue == nullptr)
            return failed("be prepared", error);
        return {};
    }

    const device::Device& device() const noexcept override { return m_device; }
    std::uint64_t alignment() const noexcept override { return m_alignment; }
    bool lost() noexcept override { return m_lost.load(std::memory_order_relaxed) || opencl_process().unusable(); }
    std::uint64_t max_block_bytes() const noexcept override { return m_max_block; }

    Result<DeviceBlock> allocate(std::uint64_t bytes) override
    {
        if (bytes > m_max_block)
            return hearth::error(Code::no_space, "{} gives no more than {} bytes at once, and {} were asked for.",
                                 m_device.name, m_max_block, bytes);
        if (lost())
            return gone();
        cl_int error = CL_SUCCESS;
        const std::size_t size = std::max<std::uint64_t>(bytes, 1);
        cl_mem buffer = m_api->create_buffer(m_context, CL_MEM_READ_WRITE, size, nullptr, &error);
        if (buffer == nullptr)
            return no_block(bytes, error);
        // Drivers allocate the memory at its first use. It is used here, where a failure can still be handled.
        const std::byte first{};
        error = m_api->enqueue_write(m_queue, buffer, CL_TRUE, 0, 1, &first, 0, nullptr, nullptr);
        if (error != CL_SUCCESS) {
            m_api->release_mem(buffer);
            return no_block(bytes, error);
        }
        return DeviceBlock{0, buffer, bytes};
    }
    void free(const DeviceBlock& block) noexcept override
    {
        if (!opencl_process().unusable())
            m_api->release_mem(static_cast<cl_mem>(block.buffer));
    }

    Result<WriteTicket> write(const DevicePart& to, ByteView data) override
    {
        if (data.empty())
            return WriteTicket{0};
        if (lost())
            return gone();
        const cl_int error = m_api->enqueue_write(m_queue, cl_buffer_of(to), CL_TRUE, to.offset, data.size(),
                                                  data.data(), 0, nullptr, nullptr);
        if (error != CL_SUCCESS)
            return failed("be written", error).error();
        return WriteTicket{0};
    }
    bool settled(WriteTicket /*ticket*/) const noexcept override { return true; }
    Status wait(WriteTicket /*ticket*/) override { return {}; }
    Status order_after(WriteTicket /*ticket*/, device::Stream /*stream*/) override { return {}; }
    Result<std::unique_ptr<StreamPoint>> mark(device::Stream stream) override
    {
        if (stream == nullptr)
            return hearth::error(Code::invalid_argument,
                                 "OpenCL has no queue of its own accord. Give the cl_command_queue of the work.");
        if (lost())
            return std::unique_ptr<StreamPoint>{};
        auto* const queue = static_cast<cl_command_queue>(stream);
        cl_event event = nullptr;
        cl_int error = m_api->enqueue_marker(queue, 0, nullptr, &event);
        if (error != CL_SUCCESS)
            // No reason to call the device lost: the queue is the caller's.
            return hearth::error(Code::invalid_argument,
                                 "The queue tells nothing of its work: {}. Hold the lease until the work is done.",
                                 cl::error_name(error));
        auto point = std::make_unique<OpenClPoint>(*m_api, event);
        m_api->flush(queue);  // or nobody might ever begin with it
        return std::unique_ptr<StreamPoint>(std::move(point));
    }

    Status read(const DevicePart& from, std::span<std::byte> out) override
    {
        if (out.empty())
            return {};
        if (lost())
            return gone();
        const cl_int error = m_api->enqueue_read(m_queue, cl_buffer_of(from), CL_TRUE, from.offset, out.size(),
                                                 out.data(), 0, nullptr, nullptr);
        if (error != CL_SUCCESS)
            return failed("be read", error);
        return {};
    }
    Status gather(std::span<const GatherPart> parts, std::span<std::byte> out) override
    {
        if (lost())
            return gone();
        cl_int error = CL_SUCCESS;
        for (const GatherPart& part : parts)
            if (error == CL_SUCCESS && part.from.bytes != 0)
                error = m_api->enqueue_read(m_queue, cl_buffer_of(part.from), CL_FALSE, part.from.offset,
                                            part.from.bytes, out.data() + part.target, 0, nullptr, nullptr);
        // Also after a failure: the reads before it still write to `out`.
        const cl_int finished = m_api->finish(m_queue);
        if (error == CL_SUCCESS)
            error = finished;
        if (error != CL_SUCCESS)
            return failed("be gathered", error);
        return {};
    }
    Status copy(const DevicePart& from, DeviceMemory& to_memory, const DevicePart& to) override
    {
        if (from.bytes == 0)
            return {};
        if (lost())
            return gone();
        if (&to_memory == this) {
            cl_int error = m_api->enqueue_copy(m_queue, cl_buffer_of(from), cl_buffer_of(to), from.offset, to.offset,
                                               from.bytes, 0, nullptr, nullptr);
            if (error == CL_SUCCESS)
                error = m_api->finish(m_queue);
            if (error != CL_SUCCESS)
                return failed("be copied", error);
            return {};
        }
        // Two contexts can reach each other only through the host.
        return copy_through_host(*this, from, to_memory, to);
    }
    std::unique_ptr<StagingBuffer> staging(std::uint64_t bytes) override { return PlainStaging::take(bytes); }

private:
    // A driver that reports no limit has none.
    static std::uint64_t most_at_once(std::uint64_t said) { return said == 0 ? UINT64_MAX : said; }
    Error gone() const
    {
        return hearth::error(Code::unavailable,
                             "The OpenCL context of {} is gone: broken by an error on the device, or left behind by a "
                             "fork. What it held is lost.",
                             m_device.name);
    }
    // For an allocation, out of resources means out of memory.
    Error no_block(std::uint64_t bytes, cl_int error)
    {
        const std::string what = fmt::format("give {} bytes", bytes);
        return error == CL_OUT_OF_RESOURCES ? failure_of(Code::no_space, what, error) : failed(what, error).error();
    }
    // Drivers report a context that an error on the device has ended in many ways: as out of resources, as an invalid
    // queue, or by numbers of their own. So those errors are listed after which it can be used.
    Status failed(const std::string& what, cl_int error)
    {
        const bool full = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY ||
                          error == CL_INVALID_BUFFER_SIZE;
        if (!full && error != CL_INVALID_VALUE && error != CL_MEM_COPY_OVERLAP)
            m_lost.store(true, std::memory_order_relaxed);
        return failure_of(full ? Code::no_space : Code::unavailable, what, error);
    }
    Error failure_of(Code code, const std::string& what, cl_int error) const
    {
        return hearth::error(code, "Device memory of {} could not {}: {}.", m_device.name, what, cl::error_name(error));
    }

    const std::shared_ptr<const cl::Api> m_api;
    const device::Device m_device;
    const std::uint64_t m_alignment;
    const std::uint64_t m_max_block;
    cl_context m_context = nullptr;
    cl_command_queue m_queue = nullptr;
    std::atomic<bool> m_lost{false};
};

device::Device describe_device(const cl::Api& api, cl_device_id id, int index)
{
    const auto type = cl::number_of<cl_ulong>(api, id, CL_DEVICE_TYPE);
    return {.backend = Backend::opencl,
            .index = index,
            .name = cl::text_of(api.get_device_info, id, CL_DEVICE_NAME),
            .gpu = (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR)) != 0,
            .total_bytes = cl::number_of<cl_ulong>(api, id, CL_DEVICE_GLOBAL_MEM_SIZE)};
}

}  // namespace

BackendProbe probe_opencl()
{
    BackendProbe probe{Backend::opencl, {}, {}};
    const Result<std::shared_ptr<const cl::Api>> api = cl::load();
    const Status here = opencl_process().check("OpenCL");
    if (!api || !here) {
        probe.missing = here ? api.error() : here.error();
        return probe;
    }
    const Result<std::vector<cl_device_id>> ids = cl::all_devices(**api);
    if (!ids) {
        probe.missing = ids.error();
        return probe;
    }
    for (cl_device_id id : *ids)
        probe.devices.push_back(describe_device(**api, id, static_cast<int>(probe.devices.size())));
    return probe;
}

Result<std::shared_ptr<DeviceMemory>> cl::open_memory(const std::shared_ptr<const cl::Api>& api, int index)
{
    HEARTH_TRY(opencl_process().check("OpenCL"));
    const Result<std::vector<cl_device_id>> ids = cl::all_devices(*api);
    HEARTH_TRY(ids);
    if (index < 0 || static_cast<std::size_t>(index) >= ids->size())
        return error(Code::invalid_argument, "There is no OpenCL device {}: they are numbered from 0 to {}.", index,
                     ids->size() - 1);
    cl_device_id id = (*ids)[static_cast<std::size_t>(index)];
    const auto memory = std::make_shared<OpenClMemory>(api, describe_device(*api, id, index), id);
    HEARTH_TRY(memory->prepare(id));
    return {std::shared_ptr<DeviceMemory>(memory)};
}

Result<std::shared_ptr<DeviceMemory>> open_opencl_memory(int index)
{
    const Result<std::shared_ptr<const cl::Api>> api = cl::load();
    HEARTH_TRY(api);
    return cl::open_memory(*api, index);
}

}  // namespace hearth::gpu
