#pragma once

#include "hearth/compiled.hpp"
#include "hearth/explain.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// OpenCL programs, built through the cache: on a hit the program is created from a stored binary, and nothing is
// compiled.
// OpenCL's own handles appear as void*: cl_context, cl_device_id, cl_command_queue, cl_program, cl_kernel, cl_mem.

namespace hearth::opencl {

enum class DeviceType : std::uint8_t { cpu, gpu, accelerator, other };
HEARTH_API std::string_view to_string(DeviceType type);

// A device of this machine, as its driver describes it.
struct Device {
    std::size_t index = 0;  // among devices()
    DeviceType type = DeviceType::other;
    std::string name;
    std::string vendor;
    std::uint32_t vendor_id = 0;
    std::string version;         // "OpenCL 3.0 ..."
    std::string driver_version;  // of the driver that compiles for it
    std::uint32_t address_bits = 0;
    std::string il_version;  // "SPIR-V_1.2 ..."; empty: it takes no IL
    std::string platform;
    std::string platform_version;
    void* platform_id = nullptr;
    void* id = nullptr;
};

// Every device of every platform, in the order the machine lists them. An Error if there is no OpenCL.
HEARTH_API Result<std::vector<Device>> devices();
HEARTH_API Result<Device> find_device(std::size_t index);
// By its name, or by a part of its name or its platform's name, if that fits only one device.
HEARTH_API Result<Device> find_device(std::string_view name);

struct ContextState;
class ProgramState;
struct KernelState;

// Device memory.
// Thread safety: as a shared_ptr. Ownership: copies share the memory, which is freed with the last of them.
class HEARTH_API Buffer {
public:
    std::size_t size() const noexcept { return m_size; }  // in bytes
    void* handle() const noexcept { return m_handle.get(); }

    // Both wait for what was launched before in the context's queue, and until the copy is done. What was launched in
    // another queue has to be finished by the caller.
    Status write(ByteView data) const;
    Status read(std::span<std::byte> out) const;
    // As many values as the buffer holds.
    template <class T>
    Result<std::vector<T>> read_as() const
    {
        static_assert(std::is_trivially_copyable_v<T>);
        std::vector<T> values(m_size / sizeof(T));
        if (Status status = read(std::as_writable_bytes(std::span(values))); !status.ok())
            return status.error();
        return values;
    }

private:
    friend class Context;
    Buffer(std::shared_ptr<const ContextState> context, std::shared_ptr<void> handle, std::size_t size)
        : m_context(std::move(context)), m_handle(std::move(handle)), m_size(size)
    {
    }

    std::shared_ptr<const ContextState> m_context;
    std::shared_ptr<void> m_handle;
    std::size_t m_size;
};

// An OpenCL context with one of its devices and a queue. It is our own, or the caller's.
// Thread safety: as a shared_ptr. Ownership: copies share it, and so does everything that is created in it.
class HEARTH_API Context {
public:
    static Result<Context> open(const Device& device);
    // The caller's context and queue; both are retained. Without a device, the context's first is used. Without a
    // queue, a new one is created in the context.
    static Result<Context> adopt(void* context, void* device = nullptr, void* queue = nullptr);

    const Device& device() const noexcept;
    void* handle() const noexcept;
    void* queue() const noexcept;

    Result<Buffer> buffer(std::size_t size) const;
    Result<Buffer> buffer(ByteView data) const;
    template <class T>
    Result<Buffer> buffer_of(const std::vector<T>& values) const
    {
        static_assert(std::is_trivially_copyable_v<T>);
        return buffer(ByteView(std::as_bytes(std::span(values))));
    }
    // Waits for everything that was launched on its queue.
    Status finish() const;

    const std::shared_ptr<const ContextState>& state() const noexcept { return m_state; }

private:
    explicit Context(std::shared_ptr<const ContextState> state) : m_state(std::move(state)) {}

    std::shared_ptr<const ContextState> m_state;
};

// Everything that a build is given: OpenCL C or IL, one of the two.
struct Source {
    std::string text{};                  // OpenCL C
    Bytes il{};                          // SPIR-V
    std::string name{};                  // for people: what `hearth ls` shows
    std::vector<std::string> options{};  // as clBuildProgram takes them
};

struct BuildOptions {
    std::chrono::milliseconds deadline{0};
};

using hearth::Outcome;

// A place in the local memory of a work-group, given as an argument.
struct LocalMemory {
    std::size_t size = 0;  // in bytes
};

// One argument of a kernel: a buffer, local memory, or a value that is copied as it is. It is a view: what it refers to
// must live until the launch has returned.
class Argument {
public:
    Argument(const Buffer& buffer) : m_handle(buffer.handle()), m_size(sizeof(void*)), m_kind(Kind::handle) {}
    Argument(const LocalMemory& local) : m_size(local.size), m_kind(Kind::local) {}
    template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_same_v<T, bool>)
        Argument(const T& value)
        : m_value(&value), m_size(sizeof(T)), m_kind(Kind::value)
    {
    }

    std::size_t size() const noexcept { return m_size; }
    // As clSetKernelArg takes it.
    const void* data() const noexcept { return m_kind == Kind::handle ? &m_handle : m_value; }

private:
    enum class Kind : std::uint8_t { handle, local, value };

    const void* m_value = nullptr;
    void* m_handle = nullptr;
    std::size_t m_size = 0;
    Kind m_kind = Kind::value;
};

// A number of work-items in up to three dimensions; 0: that dimension is not used.
struct Extent {
    Extent(std::size_t its_x = 0, std::size_t its_y = 0, std::size_t its_z = 0) : x(its_x), y(its_y), z(its_z) {}

    std::size_t x;
    std::size_t y;
    std::size_t z;
};

struct Launch {
    Extent global{};
    Extent local{};         // left empty: the driver chooses
    Extent offset{};        // of the first work-item
    void* queue = nullptr;  // the context's own when left empty
};

// A kernel of a program, ready to be launched.
// Thread safety: all of it, but handle() is the cl_kernel itself. Copies share it, so their launches are enqueued one
// after the other; threads that launch all the time better have one from Program::kernel() each.
// Cost: some drivers compile a kernel at its first launch with a local size. So the first launch of a kind that the
// stored binary was not launched with may wait for the kernel's end and store the binary again. Every other launch
// waits for nothing.
class HEARTH_API Kernel {
public:
    // Enqueues it. An Error names the argument and what OpenCL says of it.
    template <class... Arguments>
    Status launch(const Launch& range, const Arguments&... arguments)
    {
        const std::array<Argument, sizeof...(Arguments)> list{Argument(arguments)...};
        return launch_with(range, list);
    }
    Status launch_with(const Launch& range, std::span<const Argument> arguments);

    std::uint32_t argument_count() const noexcept;
    const std::string& name() const noexcept;
    void* handle() const noexcept;

private:
    friend class Program;
    explicit Kernel(std::shared_ptr<const KernelState> state) : m_state(std::move(state)) {}

    std::shared_ptr<const KernelState> m_state;
};

// A built program, from a hit or not. A build error is a result too: failed(), with its log.
// Thread safety: every function, from any thread. Ownership: copies and kernels share it; the Cache must outlive
// them, and may be moved meanwhile.
class HEARTH_API Program {
public:
    bool failed() const noexcept { return artifact().failed(); }
    int status() const noexcept { return artifact().status; }                 // what clBuildProgram returned
    std::string_view log() const noexcept { return artifact().text("log"); }  // of the build
    ByteView binary() const noexcept { return artifact().bytes("binary"); }   // as it was found or first compiled
    const Artifact& artifact() const noexcept;

    Result<Kernel> kernel(const std::string& name) const;
    void* handle() const noexcept;  // null when it failed

    Outcome outcome() const noexcept;
    const std::string& reason() const noexcept;  // why it missed, went past the cache, or was refused as a binary
    const std::string& tier() const noexcept;    // that hit; empty when none did
    const Request& request() const noexcept;
    const Key& key() const noexcept { return request().key(); }

    // Stores the program's present binary in place of the old one. Kernel::launch does so when it helps; this is for
    // programs whose kernels are launched by other means.
    Status store_again() const;

private:
    friend HEARTH_API Result<Program> build(Cache& cache, const Context& context, const Source& source,
                                            const BuildOptions& options);
    explicit Program(std::shared_ptr<ProgramState> state) : m_state(std::move(state)) {}

    std::shared_ptr<ProgramState> m_state;
};

// Builds through the cache, for the context's device. A binary that the driver refuses is removed from the cache and
// the program built from its source, once.
// An Error means that nothing could be built at all: no compiler, a source that cannot be given, a deadline.
HEARTH_API Result<Program> build(Cache& cache, const Context& context, const Source& source,
                                 const BuildOptions& options = {});

// Whether build() would hit, and if not, what is different from the nearest entry. Nothing is built and nothing is
// counted.
HEARTH_API Result<Explanation> explain(Cache& cache, const Device& device, const Source& source);

// How many stored binaries drivers have refused in this process.
HEARTH_API std::uint64_t rejected_binaries() noexcept;

}  // namespace hearth::opencl
