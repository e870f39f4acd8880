#pragma once

#include "base/memory_sum.hpp"
#include "hearth/bytes.hpp"
#include "hearth/device_tier.hpp"
#include "hearth/result.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

// Memory in which a tier can keep bytes: of a CUDA, OpenCL or WebGPU device, or of the host if there is no device.

namespace hearth::gpu {

using device::Backend;

// Memory as it was allocated. Depending on the backend it is at an address (CUDA, host) or in a buffer (cl_mem,
// WGPUBuffer).
struct DeviceBlock {
    std::uint64_t address = 0;
    void* buffer = nullptr;
    std::uint64_t bytes = 0;
};

// A part of a block.
struct DevicePart {
    DeviceBlock block;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

// One of many parts to be read at once, and where in the target its bytes go.
struct GatherPart {
    DevicePart from;
    std::uint64_t target = 0;
};

// Names a write. Writes of one memory are numbered in the order in which they were issued.
using WriteTicket = std::uint64_t;

// Host memory that the device can reach fast (pinned), lent from a pool and given back at the end. It is plain memory
// if the backend has no pinned memory.
class StagingBuffer {
public:
    virtual ~StagingBuffer() = default;
    std::span<std::byte> bytes() const noexcept { return m_bytes; }
    // Whether kernels of the device reach it at its address. The driver need not be asked then.
    bool pinned() const noexcept { return m_pinned; }

protected:
    std::span<std::byte> m_bytes;
    bool m_pinned = false;
};

// The same for a Gathering, as short as it can be: there may be thousands.
struct RegionRead {
    device::Region from;
    std::uint64_t target = 0;
    std::uint64_t number = 0;  // the caller's own
};

// Reads many parts while the caller looks for more: several gathers, then one wait for all of them.
// For one thread. Its destructor waits for what is under way.
class Gathering {
public:
    virtual ~Gathering() = default;
    // What is read is in `out`, which must live until then, once finish() has succeeded.
    virtual Status start(std::span<const RegionRead> reads, const StagingBuffer& out) = 0;
    virtual Status finish() = 0;
};

// A place in a stream of the caller's.
// Thread safety: one thread at a time. It must not outlive its memory.
class StreamPoint {
public:
    virtual ~StreamPoint() = default;
    // Whether all that was put into the stream before it is done, or gone with its device. Never waits.
    virtual bool passed() noexcept = 0;
};

// The memory of one device.
// Thread safety: every function, from any thread at any time.
// Failure: nothing throws. Once the device or its context is lost every call gives Code::unavailable, and lost() is
// true from then on.
// The contract in full is tests/gpu/memory_conformance_test.cpp.
class DeviceMemory {
public:
    virtual ~DeviceMemory() = default;

    virtual const device::Device& device() const noexcept = 0;
    // Parts of a block should start at multiples of this, so that kernels may use them as they are.
    virtual std::uint64_t alignment() const noexcept = 0;
    // Cheap enough to call before every use.
    virtual bool lost() noexcept = 0;

    // The largest block that is possible, however much is free.
    virtual std::uint64_t max_block_bytes() const noexcept { return UINT64_MAX; }
    // Code::no_space if the device has no room for it.
    virtual Result<DeviceBlock> allocate(std::uint64_t bytes) = 0;
    virtual void free(const DeviceBlock& block) noexcept = 0;

    // Returns when `data` may be reused; the device may not be done yet. Reads and copies of this memory always come
    // after the write. For what the caller launches, see the two functions below.
    virtual Result<WriteTicket> write(const DevicePart& to, ByteView data) = 0;
    // The same, and tells the sum of the bytes: all but free where they are copied on their way.
    virtual Result<WriteTicket> write_summed(const DevicePart& to, ByteView data, base::MemorySum& sum);
    // Whether the device has done all writes up to this one. May return false too long, but never true too early.
    virtual bool settled(WriteTicket ticket) const noexcept = 0;
    virtual Status wait(WriteTicket ticket) = 0;
    // What is put into the caller's stream (CUstream) from now on comes after that write. A backend without streams
    // waits for the write.
    virtual Status order_after(WriteTicket ticket, device::Stream stream) = 0;

    // The place behind all that is in the caller's stream now (CUstream, cl_command_queue). Null if all of it is done,
    // as it always is where nothing runs by itself, or if the device is lost.
    virtual Result<std::unique_ptr<StreamPoint>> mark(device::Stream /*stream*/)
    {
        return std::unique_ptr<StreamPoint>{};
    }

    virtual Status read(const DevicePart& from, std::span<std::byte> out) = 0;
    // Reads all parts with one wait, each to its place in `out`.
    virtual Status gather(std::span<const GatherPart> parts, std::span<std::byte> out) = 0;
    // Whether what start() has begun goes on in the background. If not, each start() is a gather().
    virtual bool gathers_in_background() const noexcept { return false; }
    virtual std::unique_ptr<Gathering> begin_gathering();
    // Copies from this memory to another one of any backend: device to device if the two can reach each other.
    virtual Status copy(const DevicePart& from, DeviceMemory& to_memory, const DevicePart& to) = 0;

    // The fastest host memory for read() and gather(). Null if there is none.
    virtual std::unique_ptr<StagingBuffer> staging(std::uint64_t bytes) = 0;
};

// Copies between two memories that cannot reach each other.
Status copy_through_host(DeviceMemory& from_memory, const DevicePart& from, DeviceMemory& to_memory,
                         const DevicePart& to);

// What a backend found on this machine: its devices, or an Error that says what was looked for and how to get it.
struct BackendProbe {
    Backend backend = Backend::host;
    std::vector<device::Device> devices;
    Error missing;  // meaningful only without devices
};

BackendProbe probe_host();
BackendProbe probe_cuda();
BackendProbe probe_opencl();
BackendProbe probe_webgpu();

Result<std::shared_ptr<DeviceMemory>> open_host_memory(int index);
Result<std::shared_ptr<DeviceMemory>> open_cuda_memory(int index);
// Opens it in a context of its own and not in the primary one, so that one GPU is enough to test two memories.
Result<std::shared_ptr<DeviceMemory>> open_cuda_memory_in_own_context(int index);
Result<std::shared_ptr<DeviceMemory>> open_opencl_memory(int index);
Result<std::shared_ptr<DeviceMemory>> open_webgpu_memory(int index);

// Opens the backend; Backend::automatic is the best one here: CUDA, OpenCL on a GPU, WebGPU on a GPU, host.
Result<std::shared_ptr<DeviceMemory>> open_device_memory(Backend backend, int index);

}  // namespace hearth::gpu
