// Holds what webgpu_api.hpp declares against wgpu-native's own headers, at compile time: give the compiler their folder
// (wgpu/resources of the Python package) for each version that is accepted.

#include "gpu/webgpu/webgpu_api.hpp"

#include <wgpu.h>

namespace {

namespace wgpu = hearth::gpu::wgpu;

template <class A, class B>
constexpr bool k_same_size = sizeof(A) == sizeof(B) && alignof(A) == alignof(B);

#define HEARTH_SAME_MEMBER(ours, member, theirs, their_member)                                                         \
    static_assert(offsetof(ours, member) == offsetof(theirs, their_member) &&                                          \
                  sizeof(ours::member) == sizeof(theirs::their_member))
#define HEARTH_SAME_OFFSET(ours, member, theirs, their_member)                                                         \
    static_assert(offsetof(ours, member) == offsetof(theirs, their_member))

static_assert(k_same_size<wgpu::Bool, WGPUBool> && k_same_size<wgpu::Flags, WGPUFlags>);
static_assert(k_same_size<wgpu::Flags, WGPUBufferUsage> && k_same_size<wgpu::Flags, WGPUMapMode>);
static_assert(k_same_size<std::uint64_t, WGPUSubmissionIndex>);

static_assert(wgpu::k_usage_map_read == WGPUBufferUsage_MapRead);
static_assert(wgpu::k_usage_copy_source == WGPUBufferUsage_CopySrc);
static_assert(wgpu::k_usage_copy_target == WGPUBufferUsage_CopyDst);
static_assert(wgpu::k_usage_storage == WGPUBufferUsage_Storage);
static_assert(wgpu::k_map_read == WGPUMapMode_Read);
static_assert(wgpu::k_backends_primary == WGPUInstanceBackend_Primary);
static_assert(wgpu::k_success == WGPUStatus_Success && wgpu::k_success == WGPUMapAsyncStatus_Success &&
              wgpu::k_success == WGPURequestDeviceStatus_Success);
static_assert(wgpu::k_callback_any_time == WGPUCallbackMode_AllowSpontaneous);
static_assert(sizeof(WGPUCallbackMode) == 4 && sizeof(WGPUStatus) == 4 && sizeof(WGPUMapAsyncStatus) == 4 &&
              sizeof(WGPURequestDeviceStatus) == 4 && sizeof(WGPUDeviceLostReason) == 4 && sizeof(WGPUSType) == 4);

template <class Ours, class Theirs>
constexpr bool equal(Ours a, Theirs b)
{
    return static_cast<std::uint32_t>(a) == static_cast<std::uint32_t>(b);
}
static_assert(sizeof(wgpu::AdapterType) == sizeof(WGPUAdapterType));
static_assert(equal(wgpu::AdapterType::discrete_gpu, WGPUAdapterType_DiscreteGPU));
static_assert(equal(wgpu::AdapterType::integrated_gpu, WGPUAdapterType_IntegratedGPU));
static_assert(equal(wgpu::AdapterType::cpu, WGPUAdapterType_CPU));
static_assert(equal(wgpu::AdapterType::unknown, WGPUAdapterType_Unknown));

static_assert(sizeof(wgpu::ErrorType) == sizeof(WGPUErrorType));
static_assert(equal(wgpu::ErrorType::none, WGPUErrorType_NoError));
static_assert(equal(wgpu::ErrorType::validation, WGPUErrorType_Validation));
static_assert(equal(wgpu::ErrorType::out_of_memory, WGPUErrorType_OutOfMemory));
static_assert(equal(wgpu::ErrorType::internal, WGPUErrorType_Internal));
static_assert(equal(wgpu::ErrorType::unknown, WGPUErrorType_Unknown));

static_assert(k_same_size<wgpu::Text, WGPUStringView>);
HEARTH_SAME_MEMBER(wgpu::Text, data, WGPUStringView, data);
HEARTH_SAME_MEMBER(wgpu::Text, length, WGPUStringView, length);

static_assert(k_same_size<wgpu::Chain, WGPUChainedStruct>);
HEARTH_SAME_MEMBER(wgpu::Chain, next, WGPUChainedStruct, next);
HEARTH_SAME_MEMBER(wgpu::Chain, type, WGPUChainedStruct, sType);

static_assert(k_same_size<wgpu::InstanceDescriptor, WGPUInstanceDescriptor>);
HEARTH_SAME_MEMBER(wgpu::InstanceDescriptor, next, WGPUInstanceDescriptor, nextInChain);

static_assert(sizeof(wgpu::InstanceExtras) >= sizeof(WGPUInstanceExtras));
HEARTH_SAME_MEMBER(wgpu::InstanceExtras, chain, WGPUInstanceExtras, chain);
HEARTH_SAME_MEMBER(wgpu::InstanceExtras, backends, WGPUInstanceExtras, backends);
HEARTH_SAME_MEMBER(wgpu::InstanceExtras, flags, WGPUInstanceExtras, flags);

static_assert(k_same_size<wgpu::EnumerateOptions, WGPUInstanceEnumerateAdapterOptions>);
HEARTH_SAME_MEMBER(wgpu::EnumerateOptions, next, WGPUInstanceEnumerateAdapterOptions, nextInChain);
HEARTH_SAME_MEMBER(wgpu::EnumerateOptions, backends, WGPUInstanceEnumerateAdapterOptions, backends);

HEARTH_SAME_MEMBER(wgpu::AdapterInfo, next, WGPUAdapterInfo, nextInChain);
HEARTH_SAME_MEMBER(wgpu::AdapterInfo, vendor, WGPUAdapterInfo, vendor);
HEARTH_SAME_MEMBER(wgpu::AdapterInfo, architecture, WGPUAdapterInfo, architecture);
HEARTH_SAME_MEMBER(wgpu::AdapterInfo, device, WGPUAdapterInfo, device);
HEARTH_SAME_MEMBER(wgpu::AdapterInfo, description, WGPUAdapterInfo, description);
HEARTH_SAME_MEMBER(wgpu::AdapterInfo, backend, WGPUAdapterInfo, backendType);
HEARTH_SAME_MEMBER(wgpu::AdapterInfo, type, WGPUAdapterInfo, adapterType);
HEARTH_SAME_MEMBER(wgpu::AdapterInfo, vendor_id, WGPUAdapterInfo, vendorID);
HEARTH_SAME_MEMBER(wgpu::AdapterInfo, device_id, WGPUAdapterInfo, deviceID);
// As an argument it goes through memory in both, so that a longer one may be handed to an older version.
template <class Theirs>
constexpr bool same_adapter_info()
{
    if constexpr (requires { &Theirs::subgroupMinSize; })
        return k_same_size<wgpu::AdapterInfo, Theirs> &&
               offsetof(wgpu::AdapterInfo, subgroup_sizes) == offsetof(Theirs, subgroupMinSize);
    else
        return offsetof(wgpu::AdapterInfo, subgroup_sizes) == sizeof(Theirs) && sizeof(Theirs) > 4 * sizeof(void*);
}
static_assert(same_adapter_info<WGPUAdapterInfo>());

HEARTH_SAME_MEMBER(wgpu::Limits, next, WGPULimits, nextInChain);
HEARTH_SAME_OFFSET(wgpu::Limits, textures_and_bindings, WGPULimits, maxTextureDimension1D);
HEARTH_SAME_MEMBER(wgpu::Limits, max_uniform_binding, WGPULimits, maxUniformBufferBindingSize);
HEARTH_SAME_MEMBER(wgpu::Limits, max_storage_binding, WGPULimits, maxStorageBufferBindingSize);
HEARTH_SAME_OFFSET(wgpu::Limits, alignments, WGPULimits, minUniformBufferOffsetAlignment);
HEARTH_SAME_MEMBER(wgpu::Limits, max_buffer_size, WGPULimits, maxBufferSize);
HEARTH_SAME_OFFSET(wgpu::Limits, vertices_and_workgroups, WGPULimits, maxVertexAttributes);
template <class Theirs>
constexpr bool same_limits()
{
    if constexpr (requires { &Theirs::maxImmediateSize; })
        return k_same_size<wgpu::Limits, Theirs> &&
               offsetof(wgpu::Limits, max_immediate_size) == offsetof(Theirs, maxImmediateSize);
    else
        return sizeof(wgpu::Limits) >= sizeof(Theirs) &&
               offsetof(wgpu::Limits, max_immediate_size) ==
                   offsetof(Theirs, maxComputeWorkgroupsPerDimension) + sizeof(std::uint32_t);
}
static_assert(same_limits<WGPULimits>());

template <class Ours, class Theirs>
constexpr bool same_callback_info()
{
    if constexpr (requires { &Theirs::mode; })
        if (offsetof(Ours, mode) != offsetof(Theirs, mode))
            return false;
    return k_same_size<Ours, Theirs> && offsetof(Ours, next) == offsetof(Theirs, nextInChain) &&
           offsetof(Ours, callback) == offsetof(Theirs, callback) &&
           offsetof(Ours, user) == offsetof(Theirs, userdata1) && offsetof(Ours, unused) == offsetof(Theirs, userdata2);
}
static_assert(same_callback_info<wgpu::CallbackInfo<wgpu::LostCallback>, WGPUDeviceLostCallbackInfo>());
static_assert(same_callback_info<wgpu::CallbackInfo<wgpu::DeviceCallback>, WGPURequestDeviceCallbackInfo>());
static_assert(same_callback_info<wgpu::CallbackInfo<wgpu::MapCallback>, WGPUBufferMapCallbackInfo>());
static_assert(same_callback_info<wgpu::ErrorCallbackInfo, WGPUUncapturedErrorCallbackInfo>());

static_assert(k_same_size<wgpu::QueueDescriptor, WGPUQueueDescriptor>);
HEARTH_SAME_MEMBER(wgpu::QueueDescriptor, next, WGPUQueueDescriptor, nextInChain);
HEARTH_SAME_MEMBER(wgpu::QueueDescriptor, label, WGPUQueueDescriptor, label);

static_assert(k_same_size<wgpu::DeviceDescriptor, WGPUDeviceDescriptor>);
HEARTH_SAME_MEMBER(wgpu::DeviceDescriptor, next, WGPUDeviceDescriptor, nextInChain);
HEARTH_SAME_MEMBER(wgpu::DeviceDescriptor, label, WGPUDeviceDescriptor, label);
HEARTH_SAME_MEMBER(wgpu::DeviceDescriptor, feature_count, WGPUDeviceDescriptor, requiredFeatureCount);
HEARTH_SAME_MEMBER(wgpu::DeviceDescriptor, features, WGPUDeviceDescriptor, requiredFeatures);
HEARTH_SAME_MEMBER(wgpu::DeviceDescriptor, limits, WGPUDeviceDescriptor, requiredLimits);
HEARTH_SAME_MEMBER(wgpu::DeviceDescriptor, queue, WGPUDeviceDescriptor, defaultQueue);
HEARTH_SAME_MEMBER(wgpu::DeviceDescriptor, lost, WGPUDeviceDescriptor, deviceLostCallbackInfo);
HEARTH_SAME_MEMBER(wgpu::DeviceDescriptor, error, WGPUDeviceDescriptor, uncapturedErrorCallbackInfo);

static_assert(k_same_size<wgpu::BufferDescriptor, WGPUBufferDescriptor>);
HEARTH_SAME_MEMBER(wgpu::BufferDescriptor, next, WGPUBufferDescriptor, nextInChain);
HEARTH_SAME_MEMBER(wgpu::BufferDescriptor, label, WGPUBufferDescriptor, label);
HEARTH_SAME_MEMBER(wgpu::BufferDescriptor, usage, WGPUBufferDescriptor, usage);
HEARTH_SAME_MEMBER(wgpu::BufferDescriptor, size, WGPUBufferDescriptor, size);
HEARTH_SAME_MEMBER(wgpu::BufferDescriptor, mapped, WGPUBufferDescriptor, mappedAtCreation);

static_assert(k_same_size<wgpu::Future, WGPUFuture>);

// A parameter of ours stands for one of theirs when both travel the same way.
template <class Ours, class Theirs>
constexpr bool same_parameter()
{
    if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>)
        return std::is_void_v<Ours> && std::is_void_v<Theirs>;
    else if constexpr (std::is_same_v<Theirs, WGPUAdapterInfo>)
        return std::is_same_v<Ours, wgpu::AdapterInfo>;
    else if constexpr (std::is_class_v<Theirs>)
        return std::is_class_v<Ours> && k_same_size<Ours, Theirs>;
    else
        return std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
}

template <class Ours, class... OurParameters, class Theirs, class... TheirParameters>
constexpr bool same_call(Ours (*)(OurParameters...), Theirs (*)(TheirParameters...))
{
    if constexpr (sizeof...(OurParameters) != sizeof...(TheirParameters))
        return false;
    else
        return same_parameter<Ours, Theirs>() && (same_parameter<OurParameters, TheirParameters>() && ...);
}
// Their functions are declared and never defined here: only the type is looked at.
template <class Ours, class Theirs>
constexpr bool k_same_call = same_call(static_cast<Ours>(nullptr), static_cast<Theirs>(nullptr));

#define HEARTH_SAME_CALL(member, function) static_assert(k_same_call<decltype(wgpu::Api::member), decltype(&function)>)

HEARTH_SAME_CALL(create_instance, wgpuCreateInstance);
HEARTH_SAME_CALL(release_instance, wgpuInstanceRelease);
HEARTH_SAME_CALL(enumerate_adapters, wgpuInstanceEnumerateAdapters);
HEARTH_SAME_CALL(adapter_info, wgpuAdapterGetInfo);
HEARTH_SAME_CALL(free_adapter_info, wgpuAdapterInfoFreeMembers);
HEARTH_SAME_CALL(adapter_limits, wgpuAdapterGetLimits);
HEARTH_SAME_CALL(request_device, wgpuAdapterRequestDevice);
HEARTH_SAME_CALL(release_adapter, wgpuAdapterRelease);
HEARTH_SAME_CALL(device_queue, wgpuDeviceGetQueue);
HEARTH_SAME_CALL(poll, wgpuDevicePoll);
HEARTH_SAME_CALL(release_device, wgpuDeviceRelease);
HEARTH_SAME_CALL(create_buffer, wgpuDeviceCreateBuffer);
HEARTH_SAME_CALL(map, wgpuBufferMapAsync);
HEARTH_SAME_CALL(mapped, wgpuBufferGetConstMappedRange);
HEARTH_SAME_CALL(unmap, wgpuBufferUnmap);
HEARTH_SAME_CALL(release_buffer, wgpuBufferRelease);
HEARTH_SAME_CALL(create_encoder, wgpuDeviceCreateCommandEncoder);
HEARTH_SAME_CALL(copy, wgpuCommandEncoderCopyBufferToBuffer);
HEARTH_SAME_CALL(finish, wgpuCommandEncoderFinish);
HEARTH_SAME_CALL(release_encoder, wgpuCommandEncoderRelease);
HEARTH_SAME_CALL(release_commands, wgpuCommandBufferRelease);
HEARTH_SAME_CALL(write, wgpuQueueWriteBuffer);
HEARTH_SAME_CALL(submit, wgpuQueueSubmit);
HEARTH_SAME_CALL(release_queue, wgpuQueueRelease);
static_assert(k_same_call<wgpu::LostCallback, WGPUDeviceLostCallback>);
static_assert(k_same_call<wgpu::ErrorCallback, WGPUUncapturedErrorCallback>);
static_assert(k_same_call<wgpu::DeviceCallback, WGPURequestDeviceCallback>);
static_assert(k_same_call<wgpu::MapCallback, WGPUBufferMapCallback>);

}  // namespace

int main()
{
    return 0;
}
