#pragma once

#include "hearth/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

// WebGPU as wgpu-native has it, loaded at run time: the types, numbers and functions of webgpu.h and wgpu.h that Hearth
// uses, so that neither is needed to build it.
// Layouts are those of wgpu-native 29. The other versions that are accepted lack what is marked, at the end of structs
// that only the library fills in. tests/gpu/webgpu_layout_test.cpp compares all of them with the real headers.

namespace hearth::gpu::wgpu {

using Bool = std::uint32_t;
using Flags = std::uint64_t;

// Opaque pointers of the library.
using Instance = struct OpaqueInstance*;
using Adapter = struct OpaqueAdapter*;
using Device = struct OpaqueDevice*;
using Queue = struct OpaqueQueue*;
using Buffer = struct OpaqueBuffer*;
using CommandEncoder = struct OpaqueCommandEncoder*;
using CommandBuffer = struct OpaqueCommandBuffer*;

constexpr Flags k_usage_map_read = 0x01;
constexpr Flags k_usage_copy_source = 0x04;
constexpr Flags k_usage_copy_target = 0x08;
constexpr Flags k_usage_storage = 0x80;
constexpr Flags k_map_read = 0x01;
// Vulkan, Metal and Direct3D 12. OpenGL would show the same devices a second time, and slower.
constexpr Flags k_backends_primary = 1U << 0U | 1U << 2U | 1U << 3U | 1U << 5U;
constexpr std::uint32_t k_success = 1;  // of every status
constexpr std::uint32_t k_callback_any_time = 3;

enum class AdapterType : std::uint32_t { discrete_gpu = 1, integrated_gpu = 2, cpu = 3, unknown = 4 };
enum class ErrorType : std::uint32_t { none = 1, validation = 2, out_of_memory = 3, internal = 4, unknown = 5 };

// Not ended by a zero, unless its length is SIZE_MAX.
struct Text {
    const char* data = nullptr;
    std::size_t length = 0;
};
std::string_view view(const Text& text) noexcept;

struct Chain {
    Chain* next = nullptr;
    std::uint32_t type = 0;
};

struct InstanceDescriptor {
    Chain* next = nullptr;
    std::array<std::uint64_t, 3> unused{};  // features, which differ in each version; zero asks for none
};

// After the first two members each version has its own; zero is the default of all of them.
struct InstanceExtras {
    Chain chain;
    Flags backends = 0;
    Flags flags = 0;
    std::array<std::uint64_t, 24> unused{};
};

struct EnumerateOptions {
    const Chain* next = nullptr;
    Flags backends = 0;
};

struct AdapterInfo {
    Chain* next = nullptr;
    Text vendor;
    Text architecture;
    Text device;
    Text description;
    std::uint32_t backend = 0;
    AdapterType type = AdapterType::unknown;
    std::uint32_t vendor_id = 0;
    std::uint32_t device_id = 0;
    std::array<std::uint32_t, 2> subgroup_sizes{};  // from 29 on
};

// Only two of them matter here. The others go from the adapter to the device as they are.
struct Limits {
    Chain* next = nullptr;
    std::array<std::uint32_t, 14> textures_and_bindings{};
    std::uint64_t max_uniform_binding = 0;
    std::uint64_t max_storage_binding = 0;
    std::array<std::uint32_t, 3> alignments{};
    std::uint64_t max_buffer_size = 0;
    std::array<std::uint32_t, 11> vertices_and_workgroups{};
    std::uint32_t max_immediate_size = 0;  // from 29 on
};

using LostCallback = void (*)(const Device*, std::uint32_t reason, Text, void*, void*);
using ErrorCallback = void (*)(const Device*, ErrorType, Text, void*, void*);
using DeviceCallback = void (*)(std::uint32_t status, Device, Text, void*, void*);
using MapCallback = void (*)(std::uint32_t status, Text, void*, void*);

template <class Callback>
struct CallbackInfo {
    Chain* next = nullptr;
    std::uint32_t mode = k_callback_any_time;
    Callback callback = nullptr;
    void* user = nullptr;
    void* unused = nullptr;
};

struct ErrorCallbackInfo {
    Chain* next = nullptr;
    ErrorCallback callback = nullptr;
    void* user = nullptr;
    void* unused = nullptr;
};

struct QueueDescriptor {
    Chain* next = nullptr;
    Text label;
};

struct DeviceDescriptor {
    Chain* next = nullptr;
    Text label;
    std::size_t feature_count = 0;
    const std::uint32_t* features = nullptr;
    const Limits* limits = nullptr;
    QueueDescriptor queue;
    CallbackInfo<LostCallback> lost;
    ErrorCallbackInfo error;
};

struct BufferDescriptor {
    Chain* next = nullptr;
    Text label;
    Flags usage = 0;
    std::uint64_t size = 0;
    Bool mapped = 0;
};

struct Future {
    std::uint64_t id = 0;
};

// The functions of a loaded libwgpu_native, none of them null.
struct Api {
    std::string path;
    std::string version;                 // "29.0.1.1"
    std::uint32_t instance_extras_type;  // differs between versions

    Instance (*create_instance)(const InstanceDescriptor*);
    void (*release_instance)(Instance);
    std::size_t (*enumerate_adapters)(Instance, const EnumerateOptions*, Adapter*);
    std::uint32_t (*adapter_info)(Adapter, AdapterInfo*);
    void (*free_adapter_info)(AdapterInfo);
    std::uint32_t (*adapter_limits)(Adapter, Limits*);
    Future (*request_device)(Adapter, const DeviceDescriptor*, CallbackInfo<DeviceCallback>);
    void (*release_adapter)(Adapter);
    Queue (*device_queue)(Device);
    Bool (*poll)(Device, Bool wait, const std::uint64_t* submission);
    void (*release_device)(Device);
    Buffer (*create_buffer)(Device, const BufferDescriptor*);
    Future (*map)(Buffer, Flags mode, std::size_t offset, std::size_t bytes, CallbackInfo<MapCallback>);
    const void* (*mapped)(Buffer, std::size_t offset, std::size_t bytes);
    void (*unmap)(Buffer);
    void (*release_buffer)(Buffer);
    CommandEncoder (*create_encoder)(Device, const void* descriptor);
    void (*copy)(CommandEncoder, Buffer from, std::uint64_t offset, Buffer to, std::uint64_t to_offset,
                 std::uint64_t bytes);
    CommandBuffer (*finish)(CommandEncoder, const void* descriptor);
    void (*release_encoder)(CommandEncoder);
    void (*release_commands)(CommandBuffer);
    void (*write)(Queue, Buffer, std::uint64_t offset, const void*, std::size_t bytes);
    void (*submit)(Queue, std::size_t count, const CommandBuffer*);
    void (*release_queue)(Queue);
};

// Loads HEARTH_WEBGPU; or the loader's libwgpu_native.so, or the one in an installed Python package `wgpu`. An Error
// says what was looked for, or which version was found and which ones are known.
Result<std::shared_ptr<const Api>> load();

// Releases a handle with its own function of the Api.
template <class Handle>
struct Releaser {
    void (*release)(Handle) = nullptr;
    void operator()(Handle handle) const noexcept { release(handle); }
};
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Releaser<Handle>>;

}  // namespace hearth::gpu::wgpu
