#pragma once

#include "gpu/webgpu/webgpu_api.hpp"
#include "hearth/device_tier.hpp"
#include "hearth/result.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::gpu {

// A device that WebGPU could be opened on.
struct WebGpuAdapter {
    wgpu::Owned<wgpu::Adapter> handle;
    device::Device device;
};

// What WebGPU finds on this machine, GPUs first.
struct WebGpuAdapters {
    std::shared_ptr<const wgpu::Api> api;
    wgpu::Owned<wgpu::Instance> instance;
    std::vector<WebGpuAdapter> adapters;
};
// Loads the library. An Error when it is not here, or finds no adapter.
Result<WebGpuAdapters> find_webgpu_adapters();

// From one buffer to another one; offsets and size are multiples of 4.
struct BufferCopy {
    wgpu::Buffer from = nullptr;
    std::uint64_t offset = 0;
    wgpu::Buffer to = nullptr;
    std::uint64_t to_offset = 0;
    std::uint64_t bytes = 0;
};

// A WGPUDevice and its queue, whose errors are a Status. wgpu-native reports an error to a callback, in the middle of
// the call that made it, and ends the process where there is no callback.
// Thread safety: one thread at a time, but lost() from any: so whose call an error belongs to is known.
// What cannot be caught: where the driver loses the device in the middle of a submit or a wait, wgpu-native ends the
// process by itself.
class WebGpuDevice {
public:
    static Result<std::unique_ptr<WebGpuDevice>> open(int index);
    ~WebGpuDevice();
    WebGpuDevice(const WebGpuDevice&) = delete;
    WebGpuDevice& operator=(const WebGpuDevice&) = delete;

    const device::Device& device() const noexcept { return m_device; }
    std::uint64_t max_buffer_bytes() const noexcept { return m_limits.max_buffer_size; }
    std::uint64_t max_storage_bytes() const noexcept { return m_limits.max_storage_binding; }
    bool lost() const noexcept;
    Error lost_error() const;

    // Code::no_space when the device is out of memory.
    Result<wgpu::Owned<wgpu::Buffer>> create_buffer(std::uint64_t bytes, wgpu::Flags usage);
    void release(wgpu::Buffer buffer) noexcept { m_api->release_buffer(buffer); }
    // Takes a copy of the bytes, which goes to the device with the next submit().
    Status write(wgpu::Buffer to, std::uint64_t offset, std::span<const std::byte> words);
    // After all that was written before.
    Status submit(std::span<const BufferCopy> copies);
    // Until the device has done all that was submitted.
    Status wait();
    // Whether it has.
    bool idle() noexcept;
    // Waits for all that was submitted; the bytes are there until unmap().
    Result<const std::byte*> map(wgpu::Buffer buffer, std::uint64_t bytes);
    void unmap(wgpu::Buffer buffer) noexcept { m_api->unmap(buffer); }

private:
    // The callbacks come from a library that no exception may pass through: nothing here allocates.
    class Note {
    public:
        void keep(const wgpu::Text& text) noexcept;
        std::string_view text() const noexcept { return {m_text.data(), m_length}; }

    private:
        std::array<char, 400> m_text{};
        std::size_t m_length = 0;
    };
    struct Signals {
        std::atomic<bool> lost{false};
        Note why_lost;
        wgpu::ErrorType error = wgpu::ErrorType::none;
        Note why;
    };
    struct Mapping {
        bool done = false;
        std::uint32_t status = 0;
        Note why;
    };

    WebGpuDevice(WebGpuAdapters found, std::size_t index);
    Status request_device();
    // What came of the calls since the last time it was asked.
    Status outcome(std::string_view doing);

    static void on_lost(const wgpu::Device* device, std::uint32_t reason, wgpu::Text message, void* user, void* unused);
    static void on_error(const wgpu::Device* device, wgpu::ErrorType type, wgpu::Text message, void* user,
                         void* unused);
    static void on_map(std::uint32_t status, wgpu::Text message, void* user, void* unused);

    // Before the handles, which call back until they are gone.
    Signals m_signals;
    Mapping m_mapping;
    std::shared_ptr<const wgpu::Api> m_api;
    device::Device m_device;
    wgpu::Limits m_limits;
    wgpu::Owned<wgpu::Instance> m_instance;
    wgpu::Owned<wgpu::Adapter> m_adapter;
    wgpu::Owned<wgpu::Device> m_handle;
    wgpu::Owned<wgpu::Queue> m_queue;
};

}  // namespace hearth::gpu
