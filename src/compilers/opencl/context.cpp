#include "compilers/opencl/context.hpp"

#include "base/error.hpp"

#include <array>
#include <fmt/format.h>

namespace hearth::opencl {

namespace {

Result<std::shared_ptr<ContextState>> with_queue(std::shared_ptr<ContextState> state)
{
    if (state->queue != nullptr)
        return state;
    cl_int error = CL_SUCCESS;
    state->queue = state->api->create_queue(state->context, state->device_id(), 0, &error);
    if (state->queue == nullptr)
        return failure(Code::unavailable, fmt::format("No queue on \"{}\"", state->device.name), "clCreateCommandQueue",
                       error);
    return state;
}

// The devices of a caller's context; none if it is not a context.
std::vector<cl_device_id> devices_of(const cl::Api& api, cl_context context)
{
    std::size_t size = 0;
    if (api.get_context_info(context, CL_CONTEXT_DEVICES, 0, nullptr, &size) != CL_SUCCESS)
        return {};
    std::vector<cl_device_id> ids(size / sizeof(cl_device_id));
    if (api.get_context_info(context, CL_CONTEXT_DEVICES, size, static_cast<void*>(ids.data()), nullptr) != CL_SUCCESS)
        return {};
    return ids;
}

}  // namespace

Error failure(Code code, std::string_view doing, const char* function, cl_int error)
{
    return hearth::error(code, "{}: {} gives {}.", doing, function, cl::error_name(error));
}

Result<Context> Context::open(const Device& device)
{
    HEARTH_TRY(ContextState::check());
    const Result<std::shared_ptr<const cl::Api>> api = cl::load();
    HEARTH_TRY(api);
    auto state = std::make_shared<ContextState>(*api, device);
    const std::array<std::intptr_t, 3> properties{CL_CONTEXT_PLATFORM,
                                                  reinterpret_cast<std::intptr_t>(device.platform_id), 0};
    cl_device_id id = state->device_id();
    cl_int error = CL_SUCCESS;
    state->context = (*api)->create_context(properties.data(), 1, &id, nullptr, nullptr, &error);
    if (state->context == nullptr)
        return failure(Code::unavailable, fmt::format("No context on \"{}\"", device.name), "clCreateContext", error);
    Result<std::shared_ptr<ContextState>> ready = with_queue(std::move(state));
    HEARTH_TRY(ready);
    return Context(*std::move(ready));
}

Result<Context> Context::adopt(void* context, void* device, void* queue)
{
    HEARTH_TRY(ContextState::check());
    const Result<std::shared_ptr<const cl::Api>> api = cl::load();
    HEARTH_TRY(api);
    auto* const id = static_cast<cl_context>(context);
    const std::vector<cl_device_id> ids = context != nullptr ? devices_of(**api, id) : std::vector<cl_device_id>{};
    if (ids.empty())
        return error(Code::invalid_argument, "What was given is no cl_context with a device. Give one that lives.");
    auto* wanted = device != nullptr ? static_cast<cl_device_id>(device) : ids.front();
    bool has_device = false;
    for (cl_device_id each : ids)
        has_device |= each == wanted;
    if (!has_device)
        return error(Code::invalid_argument, "The device is none of the context's {}. Give one it was made with.",
                     ids.size());
    auto state = std::make_shared<ContextState>(*api, describe(**api, wanted));
    (*api)->retain_context(id);
    state->context = id;
    if (queue != nullptr) {
        (*api)->retain_queue(static_cast<cl_command_queue>(queue));
        state->queue = static_cast<cl_command_queue>(queue);
    }
    Result<std::shared_ptr<ContextState>> ready = with_queue(std::move(state));
    HEARTH_TRY(ready);
    return Context(*std::move(ready));
}

const Device& Context::device() const noexcept
{
    return m_state->device;
}

void* Context::handle() const noexcept
{
    return m_state->context;
}

void* Context::queue() const noexcept
{
    return m_state->queue;
}

Result<Buffer> Context::buffer(std::size_t size) const
{
    HEARTH_TRY(ContextState::check());
    cl_int error = CL_SUCCESS;
    cl_mem handle = m_state->api->create_buffer(m_state->context, CL_MEM_READ_WRITE, size, nullptr, &error);
    if (handle == nullptr)
        return failure(Code::no_space, fmt::format("No buffer of {} bytes on \"{}\"", size, m_state->device.name),
                       "clCreateBuffer", error);
    std::shared_ptr<void> owner(handle, [context = m_state](void* doomed) {
        if (!context->is_lost())
            context->api->release_mem(static_cast<cl_mem>(doomed));
    });
    return Buffer(m_state, std::move(owner), size);
}

Result<Buffer> Context::buffer(ByteView data) const
{
    Result<Buffer> made = buffer(data.size());
    if (made)
        HEARTH_TRY(made->write(data));
    return made;
}

Status ContextState::finish() const
{
    if (const cl_int error = api->finish(queue); error != CL_SUCCESS)
        return failure(Code::io, fmt::format("What was launched on \"{}\" did not finish", device.name), "clFinish",
                       error);
    return {};
}

Status Context::finish() const
{
    HEARTH_TRY(ContextState::check());
    return m_state->finish();
}

Status Buffer::write(ByteView data) const
{
    if (data.size() > m_size)
        return error(Code::invalid_argument, "{} bytes do not fit a buffer of {}. Make it larger.", data.size(),
                     m_size);
    HEARTH_TRY(ContextState::check());
    HEARTH_TRY(m_context->finish());
    if (const cl_int error = m_context->api->enqueue_write(m_context->queue, static_cast<cl_mem>(m_handle.get()),
                                                           CL_TRUE, 0, data.size(), data.data(), 0, nullptr, nullptr);
        error != CL_SUCCESS)
        return failure(Code::io, fmt::format("{} bytes were not written to a buffer", data.size()),
                       "clEnqueueWriteBuffer", error);
    return {};
}

Status Buffer::read(std::span<std::byte> out) const
{
    if (out.size() > m_size)
        return error(Code::invalid_argument, "{} bytes were asked for from a buffer of {}. Ask for fewer.", out.size(),
                     m_size);
    if (out.empty())
        return {};
    HEARTH_TRY(ContextState::check());
    HEARTH_TRY(m_context->finish());
    if (const cl_int error = m_context->api->enqueue_read(m_context->queue, static_cast<cl_mem>(m_handle.get()),
                                                          CL_TRUE, 0, out.size(), out.data(), 0, nullptr, nullptr);
        error != CL_SUCCESS)
        return failure(Code::io, fmt::format("{} bytes were not read from a buffer", out.size()), "clEnqueueReadBuffer",
                       error);
    return {};
}

}  // namespace hearth::opencl
