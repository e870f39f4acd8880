#include "gpu/webgpu/webgpu_device.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace hearth::gpu {

namespace {

// Adapters that may appear between counting them and listing them: the library writes as many as it finds.
constexpr std::size_t k_spare_adapters = 16;

int rank(wgpu::AdapterType type)
{
    switch (type) {
    case wgpu::AdapterType::discrete_gpu:
        return 0;
    case wgpu::AdapterType::integrated_gpu:
        return 1;
    case wgpu::AdapterType::cpu:
        return 3;
    case wgpu::AdapterType::unknown:
        break;
    }
    return 2;
}

struct RankedAdapter {
    int rank = 0;
    WebGpuAdapter adapter;
};

RankedAdapter describe(const wgpu::Api& api, wgpu::Adapter handle)
{
    RankedAdapter found;
    found.adapter.handle = {handle, {api.release_adapter}};
    found.adapter.device.backend = device::Backend::webgpu;
    wgpu::AdapterInfo info;
    if (api.adapter_info(handle, &info) != wgpu::k_success) {
        found.rank = rank(wgpu::AdapterType::unknown);
        found.adapter.device.name = "an adapter that does not tell its name";
        return found;
    }
    const std::string_view name = view(info.device);
    found.adapter.device.name = name.empty() ? view(info.description) : name;
    found.adapter.device.gpu =
        info.type == wgpu::AdapterType::discrete_gpu || info.type == wgpu::AdapterType::integrated_gpu;
    found.rank = rank(info.type);
    api.free_adapter_info(info);
    return found;
}

struct RequestedDevice {
    wgpu::Device handle = nullptr;
    std::string why;
};

void on_device(std::uint32_t status, wgpu::Device device, wgpu::Text message, void* user, void* /*unused*/)
{
    auto& requested = *static_cast<RequestedDevice*>(user);
    if (status == wgpu::k_success)
        requested.handle = device;
    else
        requested.why = view(message);
}

// Messages are a few lines, from what was called to why it failed: "Validation Error", "Caused by:", ...
std::string_view last_line(std::string_view message)
{
    message = message.substr(0, message.find_last_not_of(" .\n") + 1);
    message.remove_prefix(message.rfind('\n') + 1);
    message.remove_prefix(std::min(message.find_first_not_of(' '), message.size()));
    return message;
}

Code code_of(wgpu::ErrorType type, std::string_view why)
{
    // Most of what runs out of memory is reported as an error of validation.
    if (type == wgpu::ErrorType::out_of_memory || why.find("Not enough memory") != std::string_view::npos)
        return Code::no_space;
    return type == wgpu::ErrorType::validation ? Code::invalid_argument : Code::io;
}

}  // namespace

Result<WebGpuAdapters> find_webgpu_adapters()
{
    Result<std::shared_ptr<const wgpu::Api>> loaded = wgpu::load();
    HEARTH_TRY(loaded);
    WebGpuAdapters found;
    found.api = std::move(*loaded);
    const wgpu::Api& api = *found.api;
    wgpu::InstanceExtras extras;
    extras.chain.type = api.instance_extras_type;
    extras.backends = wgpu::k_backends_primary;
    wgpu::InstanceDescriptor descriptor;
    descriptor.next = &extras.chain;
    found.instance = {api.create_instance(&descriptor), {api.release_instance}};
    const wgpu::EnumerateOptions options{nullptr, wgpu::k_backends_primary};
    std::vector<wgpu::Adapter> handles;
    if (found.instance) {
        handles.resize(api.enumerate_adapters(found.instance.get(), &options, nullptr) + k_spare_adapters);
        handles.resize(api.enumerate_adapters(found.instance.get(), &options, handles.data()));
    }
    if (handles.empty())
        return error(Code::unavailable,
                     "wgpu-native {} ({}) finds no device here. Install the GPU's Vulkan driver, or "
                     "mesa-vulkan-drivers, which has one that runs on the CPU.",
                     api.version, api.path);
    std::vector<RankedAdapter> ranked;
    ranked.reserve(handles.size());
    for (const wgpu::Adapter handle : handles)
        ranked.push_back(describe(api, handle));
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const RankedAdapter& a, const RankedAdapter& b) { return a.rank < b.rank; });
    for (RankedAdapter& one : ranked) {
        one.adapter.device.index = static_cast<int>(found.adapters.size());
        found.adapters.push_back(std::move(one.adapter));
    }
    return found;
}

void WebGpuDevice::Note::keep(const wgpu::Text& text) noexcept
{
    const std::string_view reason = last_line(view(text));
    m_length = std::min(reason.size(), m_text.size());
    std::copy_n(reason.begin(), m_length, m_text.begin());
}

WebGpuDevice::WebGpuDevice(WebGpuAdapters found, std::size_t index)
    : m_api(std::move(found.api)), m_device(std::move(found.adapters[index].device)),
      m_instance(std::move(found.instance)), m_adapter(std::move(found.adapters[index].handle))
{
}

WebGpuDevice::~WebGpuDevice()
{
    // Releasing a device waits for it, and wgpu-native ends the process if that fails. So a lost device is not
    // released.
    if (lost()) {
        static_cast<void>(m_queue.release());
        static_cast<void>(m_handle.release());
    }
}

Result<std::unique_ptr<WebGpuDevice>> WebGpuDevice::open(int index)
{
    Result<WebGpuAdapters> found = find_webgpu_adapters();
    HEARTH_TRY(found);
    const std::size_t count = found->adapters.size();
    if (index < 0 || static_cast<std::size_t>(index) >= count)
        return error(Code::invalid_argument,
                     "WebGPU has no device {}: it finds {} here, counted from 0. Name one of them.", index, count);
    std::unique_ptr<WebGpuDevice> device(new WebGpuDevice(std::move(*found), static_cast<std::size_t>(index)));
    HEARTH_TRY(device->request_device());
    return device;
}

Status WebGpuDevice::request_device()
{
    const auto refused = [&](std::string_view why) {
        return error(Code::unavailable, "WebGPU cannot open {}: {}.", m_device.name, why);
    };
    if (m_api->adapter_limits(m_adapter.get(), &m_limits) != wgpu::k_success)
        return refused("it does not tell its limits");
    m_limits.next = nullptr;
    wgpu::DeviceDescriptor descriptor;
    descriptor.limits = &m_limits;
    descriptor.lost.callback = on_lost;
    descriptor.lost.user = &m_signals;
    descriptor.error.callback = on_error;
    descriptor.error.user = &m_signals;
    // In every accepted version the callback is called before this returns.
    RequestedDevice requested;
    m_api->request_device(m_adapter.get(), &descriptor, {.callback = on_device, .user = &requested});
    if (requested.handle == nullptr)
        return refused(requested.why.empty() ? "no reason given" : requested.why);
    m_handle = {requested.handle, {m_api->release_device}};
    m_queue = {m_api->device_queue(m_handle.get()), {m_api->release_queue}};
    if (!m_queue)
        return refused("it has no queue");
    return {};
}

void WebGpuDevice::on_lost(const wgpu::Device* /*device*/, std::uint32_t /*reason*/, wgpu::Text message, void* user,
                           void* /*unused*/)
{
    auto& signals = *static_cast<Signals*>(user);
    signals.why_lost.keep(message);
    // release: pairs with the acquire in lost(), so that the reason is seen.
    signals.lost.store(true, std::memory_order_release);
}

void WebGpuDevice::on_error(const wgpu::Device* /*device*/, wgpu::ErrorType type, wgpu::Text message, void* user,
                            void* /*unused*/)
{
    auto& signals = *static_cast<Signals*>(user);
    // The first error is the cause; later ones follow from it.
    if (signals.error != wgpu::ErrorType::none)
        return;
    signals.error = type;
    signals.why.keep(message);
    // Calls fail with these words some time before on_lost() is called.
    if (signals.why.text().find("device is lost") != std::string_view::npos)
        on_lost(nullptr, 0, message, user, nullptr);
}

void WebGpuDevice::on_map(std::uint32_t status, wgpu::Text message, void* user, void* /*unused*/)
{
    auto& mapping = *static_cast<Mapping*>(user);
    mapping.done = true;
    mapping.status = status;
    mapping.why.keep(message);
}

bool WebGpuDevice::lost() const noexcept
{
    // acquire: pairs with the release in on_lost().
    return m_signals.lost.load(std::memory_order_acquire);
}

Error WebGpuDevice::lost_error() const
{
    const std::string_view why = m_signals.why_lost.text();
    return error(Code::unavailable,
                 "The WebGPU device {} is lost, and what lay in its memory with it: {}. Open the cache again to "
                 "use it.",
                 m_device.name, why.empty() ? "no reason given" : why);
}

Status WebGpuDevice::outcome(std::string_view doing)
{
    const wgpu::ErrorType error = std::exchange(m_signals.error, wgpu::ErrorType::none);
    if (lost())
        return lost_error();
    if (error == wgpu::ErrorType::none)
        return {};
    const std::string_view why = m_signals.why.text();
    return Error{
        code_of(error, why), fmt::format("The WebGPU device {} refused {}: {}.", m_device.name, doing, why), {}};
}

Result<wgpu::Owned<wgpu::Buffer>> WebGpuDevice::create_buffer(std::uint64_t bytes, wgpu::Flags usage)
{
    wgpu::BufferDescriptor descriptor;
    descriptor.usage = usage;
    descriptor.size = bytes;
    // Even after an error there is a buffer, which cannot be used.
    wgpu::Owned<wgpu::Buffer> buffer(m_api->create_buffer(m_handle.get(), &descriptor), {m_api->release_buffer});
    HEARTH_TRY(outcome(fmt::format("a buffer of {} bytes", bytes)));
    if (!buffer)
        return error(Code::no_space, "The WebGPU device {} gave no buffer of {} bytes. Use less of its memory.",
                     m_device.name, bytes);
    return buffer;
}

Status WebGpuDevice::write(wgpu::Buffer to, std::uint64_t offset, std::span<const std::byte> words)
{
    m_api->write(m_queue.get(), to, offset, words.data(), words.size());
    return outcome("a write");
}

Status WebGpuDevice::submit(std::span<const BufferCopy> copies)
{
    if (lost())
        return lost_error();
    // Also without copies: a submit to a lost device ends the process in wgpu-native, while this call reports that it
    // is lost.
    const wgpu::Owned<wgpu::CommandEncoder> encoder(m_api->create_encoder(m_handle.get(), nullptr),
                                                    {m_api->release_encoder});
    for (const BufferCopy& copy : copies)
        m_api->copy(encoder.get(), copy.from, copy.offset, copy.to, copy.to_offset, copy.bytes);
    const wgpu::Owned<wgpu::CommandBuffer> commands(m_api->finish(encoder.get(), nullptr), {m_api->release_commands});
    if (Status encoded = outcome("a copy"); !encoded)
        return encoded;
    const wgpu::CommandBuffer submitted = commands.get();
    m_api->submit(m_queue.get(), 1, &submitted);
    return outcome("to submit");
}

Status WebGpuDevice::wait()
{
    if (lost())
        return lost_error();
    while (m_api->poll(m_handle.get(), 1, nullptr) == 0 && !lost()) {
    }
    return outcome("to finish");
}

bool WebGpuDevice::idle() noexcept
{
    return !lost() && m_api->poll(m_handle.get(), 0, nullptr) != 0;
}

Result<const std::byte*> WebGpuDevice::map(wgpu::Buffer buffer, std::uint64_t bytes)
{
    if (lost())
        return lost_error();
    m_mapping = {};
    m_api->map(buffer, wgpu::k_map_read, 0, bytes, {.callback = on_map, .user = &m_mapping});
    while (!m_mapping.done && !lost())
        m_api->poll(m_handle.get(), 1, nullptr);
    HEARTH_TRY(outcome("to map a buffer"));
    if (m_mapping.status != wgpu::k_success)
        return error(Code::io, "The WebGPU device {} cannot map a buffer of {} bytes: {}.", m_device.name, bytes,
                     m_mapping.why.text());
    const void* start = m_api->mapped(buffer, 0, bytes);
    if (start == nullptr)
        return error(Code::io, "The WebGPU device {} mapped a buffer of {} bytes and does not say where.",
                     m_device.name, bytes);
    return static_cast<const std::byte*>(start);
}

}  // namespace hearth::gpu
