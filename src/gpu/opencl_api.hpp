#pragma once

#include "hearth/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

// OpenCL, loaded at run time: the types, numbers and functions of CL/cl.h that Hearth uses, so that it builds where
// there is no OpenCL.

namespace hearth::gpu::cl {

using Int = std::int32_t;
using UInt = std::uint32_t;
using ULong = std::uint64_t;

// Pointers to what only the driver knows.
using PlatformId = struct OpaquePlatform*;
using DeviceId = struct OpaqueDevice*;
using ContextId = struct OpaqueContext*;
using QueueId = struct OpaqueQueue*;
using ProgramId = struct OpaqueProgram*;
using KernelId = struct OpaqueKernel*;
using MemId = struct OpaqueMem*;

enum ErrorCode : Int {
    k_success = 0,
    k_device_not_found = -1,
    k_device_not_available = -2,
    k_mem_object_allocation_failure = -4,
    k_out_of_resources = -5,
    k_out_of_host_memory = -6,
    k_build_program_failure = -11,
    k_invalid_context = -34,
    k_invalid_binary = -42,
    k_invalid_build_options = -43,
    k_invalid_buffer_size = -61,
    k_platform_not_found = -1001,
};

enum Name : UInt {
    k_platform_version = 0x0901,
    k_platform_name = 0x0902,
    k_device_type = 0x1000,
    k_device_vendor_id = 0x1001,
    k_device_address_bits = 0x100D,
    k_device_max_allocation = 0x1010,
    k_device_base_alignment = 0x1019,  // in bits
    k_device_memory_size = 0x101F,
    k_device_name = 0x102B,
    k_device_vendor = 0x102C,
    k_device_driver_version = 0x102D,
    k_device_version = 0x102F,
    k_device_il_version = 0x105B,
    k_context_devices = 0x1081,
    k_context_platform = 0x1084,
    k_device_platform = 0x1031,
    k_program_devices = 0x1163,
    k_program_binary_sizes = 0x1165,
    k_program_binaries = 0x1166,
    k_program_build_log = 0x1183,
    k_kernel_num_args = 0x1191,
};

constexpr ULong k_device_type_cpu = 1U << 1U;
constexpr ULong k_device_type_gpu = 1U << 2U;
constexpr ULong k_device_type_accelerator = 1U << 3U;
constexpr ULong k_device_type_all = 0xFFFFFFFF;
constexpr ULong k_mem_read_write = 1U << 0U;
constexpr ULong k_mem_copy_host_ptr = 1U << 5U;
constexpr UInt k_true = 1;
constexpr UInt k_false = 0;

// The functions of a loaded libOpenCL. None of them is null but create_program_with_il, which OpenCL 2.1 brought.
struct Api {
    Int (*get_platforms)(UInt, PlatformId*, UInt*);
    Int (*get_platform_info)(PlatformId, UInt, std::size_t, void*, std::size_t*);
    Int (*get_devices)(PlatformId, ULong, UInt, DeviceId*, UInt*);
    Int (*get_device_info)(DeviceId, UInt, std::size_t, void*, std::size_t*);
    ContextId (*create_context)(const std::intptr_t*, UInt, const DeviceId*,
                                void (*)(const char*, const void*, std::size_t, void*), void*, Int*);
    Int (*get_context_info)(ContextId, UInt, std::size_t, void*, std::size_t*);
    Int (*retain_context)(ContextId);
    Int (*release_context)(ContextId);
    QueueId (*create_queue)(ContextId, DeviceId, ULong, Int*);
    Int (*retain_queue)(QueueId);
    Int (*release_queue)(QueueId);
    Int (*finish)(QueueId);
    ProgramId (*create_program_with_source)(ContextId, UInt, const char**, const std::size_t*, Int*);
    ProgramId (*create_program_with_binary)(ContextId, UInt, const DeviceId*, const std::size_t*, const unsigned char**,
                                            Int*, Int*);
    ProgramId (*create_program_with_il)(ContextId, const void*, std::size_t, Int*);
    Int (*release_program)(ProgramId);
    Int (*build_program)(ProgramId, UInt, const DeviceId*, const char*, void (*)(ProgramId, void*), void*);
    Int (*get_program_info)(ProgramId, UInt, std::size_t, void*, std::size_t*);
    Int (*get_program_build_info)(ProgramId, DeviceId, UInt, std::size_t, void*, std::size_t*);
    KernelId (*create_kernel)(ProgramId, const char*, Int*);
    Int (*release_kernel)(KernelId);
    Int (*get_kernel_info)(KernelId, UInt, std::size_t, void*, std::size_t*);
    Int (*set_kernel_arg)(KernelId, UInt, std::size_t, const void*);
    Int (*enqueue_kernel)(QueueId, KernelId, UInt, const std::size_t*, const std::size_t*, const std::size_t*, UInt,
                          const void*, void**);
    MemId (*create_buffer)(ContextId, ULong, std::size_t, void*, Int*);
    Int (*release_mem)(MemId);
    Int (*enqueue_read)(QueueId, MemId, UInt, std::size_t, std::size_t, void*, UInt, const void*, void**);
    Int (*enqueue_copy)(QueueId, MemId, MemId, std::size_t, std::size_t, std::size_t, UInt, const void*, void**);
    Int (*enqueue_write)(QueueId, MemId, UInt, std::size_t, std::size_t, const void*, UInt, const void*, void**);
};

// Loads HEARTH_OPENCL, or the system's libOpenCL.so.1.
Result<std::shared_ptr<const Api>> load();

// "CL_BUILD_PROGRAM_FAILURE (-11)"
std::string error_name(Int code);

}  // namespace hearth::gpu::cl
