#pragma once

#include "hearth/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

// CUDA's own tags, so that its handles need no casts. cuda.h is not needed to build.
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;

namespace hearth::gpu {

// The driver's functions, each in the version that cuda.h 13.0 gives its name to. A plain struct, which tests of the
// layers above fill in by hand. Results are CUresult; handles and enums are those of the driver's binary interface.
struct CudaDriver {
    int (*init)(unsigned flags);
    int (*driver_version)(int* version);
    int (*error_name)(int error, const char** text);
    int (*error_text)(int error, const char** text);

    int (*device_count)(int* count);
    int (*device)(int* device, int ordinal);
    int (*device_attribute)(int* value, int attribute, int device);
    int (*device_name)(char* name, int length, int device);
    int (*device_bytes)(std::size_t* bytes, int device);

    int (*primary_retain)(CUctx_st** context, int device);
    int (*primary_release)(int device);

    int (*create_context)(CUctx_st** context, unsigned flags, int device);
    int (*destroy_context)(CUctx_st* context);
    int (*current_context)(CUctx_st** context);
    int (*set_current)(CUctx_st* context);
    int (*push_current)(CUctx_st* context);
    int (*pop_current)(CUctx_st** context);
    int (*current_device)(int* device);

    int (*load)(CUmod_st** module, const void* image);
    int (*load_with_options)(CUmod_st** module, const void* image, unsigned count, int* options, void** values);
    int (*unload)(CUmod_st* module);
    int (*function)(CUfunc_st** function, CUmod_st* module, const char* name);
    int (*function_attribute)(int* value, int attribute, CUfunc_st* function);
    int (*set_function_attribute)(CUfunc_st* function, int attribute, int value);
    int (*launch)(CUfunc_st* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                  unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream_st* stream, void** arguments,
                  void** extra);
    int (*exchange_capture_mode)(int* mode);
    int (*capture_status)(CUstream_st* stream, int* status);

    int (*memory_info)(std::size_t* free, std::size_t* total);
    int (*allocate)(std::uint64_t* address, std::size_t bytes);
    int (*free)(std::uint64_t address);
    int (*allocate_host)(void** memory, std::size_t bytes, unsigned flags);
    int (*free_host)(void* memory);
    int (*pointer_attribute)(void* value, int attribute, std::uint64_t address);
    int (*copy_to_device)(std::uint64_t to, const void* from, std::size_t bytes, CUstream_st* stream);
    int (*copy_to_host)(void* to, std::uint64_t from, std::size_t bytes, CUstream_st* stream);
    int (*copy_between)(std::uint64_t to, CUctx_st* to_context, std::uint64_t from, CUctx_st* from_context,
                        std::size_t bytes, CUstream_st* stream);

    int (*create_stream)(CUstream_st** stream, unsigned flags);
    int (*destroy_stream)(CUstream_st* stream);
    int (*finish_stream)(CUstream_st* stream);
    int (*wait_in_stream)(CUstream_st* stream, CUevent_st* event, unsigned flags);
    int (*create_event)(CUevent_st** event, unsigned flags);
    int (*destroy_event)(CUevent_st* event);
    int (*record_event)(CUevent_st* event, CUstream_st* stream);
    int (*query_event)(CUevent_st* event);
    int (*event_time)(float* milliseconds, CUevent_st* before, CUevent_st* after);

    // Null if the driver is too old for them; the number is the CUDA version that brought them.
    // A null context means the current one. No two contexts of a process have the same id, even if a handle is reused.
    int (*context_id)(CUctx_st* context, unsigned long long* id);                                           // 12.0
    int (*load_function)(CUfunc_st* function);                                                              // 12.4
    int (*parameter_info)(CUfunc_st* function, std::size_t index, std::size_t* offset, std::size_t* size);  // 12.4
    int (*function_count)(unsigned* count, CUmod_st* module);                                               // 12.4
    int (*list_functions)(CUfunc_st** functions, unsigned count, CUmod_st* module);                         // 12.4
    int (*function_name)(const char** name, CUfunc_st* function);                                           // 12.3
};

// The values of CUresult and the driver's enums that are used here.
namespace cuda {

inline constexpr int k_success = 0;
inline constexpr int k_invalid_value = 1;
inline constexpr int k_out_of_memory = 2;
inline constexpr int k_invalid_image = 200;
inline constexpr int k_invalid_context = 201;
inline constexpr int k_no_binary_for_gpu = 209;
inline constexpr int k_invalid_ptx = 218;
inline constexpr int k_unsupported_ptx = 222;
inline constexpr int k_invalid_source = 300;
inline constexpr int k_not_found = 500;
inline constexpr int k_not_ready = 600;
inline constexpr int k_out_of_resources = 701;  // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
inline constexpr int k_context_is_destroyed = 709;

inline constexpr int k_compute_major = 75;  // CU_DEVICE_ATTRIBUTE_...
inline constexpr int k_compute_minor = 76;
inline constexpr int k_most_shared_bytes = 97;  // if the function allows it

inline constexpr int k_static_shared_bytes = 1;  // CU_FUNC_ATTRIBUTE_...
inline constexpr int k_registers = 4;
inline constexpr int k_dynamic_shared_bytes = 8;

inline constexpr unsigned k_host_portable = 1;  // CU_MEMHOSTALLOC_...
inline constexpr unsigned k_host_mapped = 2;
inline constexpr int k_pointer_memory_type = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
inline constexpr unsigned k_memory_of_host = 1;  // CU_MEMORYTYPE_HOST: pinned; the driver knows no other host memory
inline constexpr unsigned k_stream_non_blocking = 1;
inline constexpr unsigned k_event_timing = 0;  // CU_EVENT_DEFAULT
inline constexpr unsigned k_event_no_timing = 2;

inline constexpr int k_capture_none = 0;     // CU_STREAM_CAPTURE_STATUS_NONE
inline constexpr int k_capture_relaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

}  // namespace cuda

// The driver of this machine, loaded from libcuda.so.1 and initialised when first asked for. An Error says what is
// missing: the library, a function, a device.
// Thread safety: all of it, without a lock, so that a program or the driver itself may fork at any moment.
// Cost: one atomic load once it is loaded.
Result<const CudaDriver*> cuda_driver();
// The same, or null until cuda_driver() has succeeded once.
const CudaDriver* loaded_cuda_driver() noexcept;

// "CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed"
std::string describe(const CudaDriver& driver, int error);

// The target of a GPU of this machine, as NVRTC names it: "sm_90".
Result<std::string> target_of_device(int ordinal);
Result<std::string> target_of_device(const CudaDriver& driver, int device);

}  // namespace hearth::gpu
