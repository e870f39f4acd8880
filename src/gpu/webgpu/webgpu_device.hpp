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

// A device on which WebGPU can be opened.
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
// Loads the library. An Error if there is none, or if it finds no adapter.
Result<WebGpuAdapters> find_webgpu_adapters();

// From one buffer to another one; offsets and size are multiples of 4.
struct BufferCopy {
    wgpu::Buffer from = nullptr;
    std::uint64_t offset = 0;
    wgpu::Buffer to = nullptr;
    std::uint64_t to_offset = 0;
    std::uint64_t bytes = 0;
};

// A WGPUDevice and its queue, with errors as a Status. wgpu-native reports an error to a callback during the call that
// caused it, and ends the process if there is no callback.
// Thread safety: one thread at a time, so that each error belongs to a known call; lost() from any thread.
// What cannot be caught: if the driver loses the device during a submit or a wait, wgpu-native ends the process.
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

    // Code::no_space if the device is out of memory.
    Result<wgpu::Owned<wgpu::Buffer>> create_buffer(std::uint64_t bytes, wgpu::Flags usage);
    void release(wgpu::Buffer buffer) noexcept { m_api->release_buffer(buffer); }
    // Takes a copy of the bytes, which goes to the device with the next submit().
    Status write(wgpu::Buffer to, std::uint64_t offset, std::span<const std::byte> words);
    // The copies come after everything that was written before.
    Status submit(std::span<const BufferCopy> copies);
    // Waits until the device has done all that was submitted.
    Status wait();
    // Whether the device has done all that was submitted.
    bool idle() noexcept;
    // Waits for all that was submitted; the bytes are there until unmap().
    Result<const std::byte*> map(wgpu::Buffer buffer, std::uint64_t bytes);
    void unmap(wgpu::Buffer buffer) noexcept { m_api->unmap(buffer); }

private:
    // No exception may pass from a callback through the library, so nothing here allocates.
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
    // The result of the calls since the last outcome().
    Status outcome(std::string_view doing);

    static void on_lost(const wgpu::Device* device, std::uint32_t reason, wgpu::Text message, void* user, void* unused);
    static void on_error(const wgpu::Device* device, wgpu::ErrorType type, wgpu::Text message, void* user,
                         void* unused);
    static void on_map(std::uint32_t status, wgpu::Text message, void* user, void* unused);

    // Declared before the handles, which call back until they are destroyed.
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
