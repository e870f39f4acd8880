#pragma once

#include "hearth/nvrtc.hpp"
#include "hearth/ptx.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// CUDA's own tags: a CUfunction, CUstream or cudaStream_t of cuda.h can be passed as it is.
struct CUfunc_st;
struct CUstream_st;

// Kernels that are a function pointer away: compiled through the cache, loaded once for each context, launched.
// The driver is found at run time. Without one, or without a GPU, every call here only returns an Error.

namespace hearth::cuda {

using Function = ::CUfunc_st*;
using Stream = ::CUstream_st*;

struct LoadedFunction;
struct Variants;
struct VariantRecord;

// Blocks in a grid, or threads in a block. It keeps what it is given, so that launch() can refuse, with its value, what
// no device has: a number below zero, or one above k_most. Nothing is cut to fewer bits on the way.
struct Extent {
    static constexpr std::int64_t k_most = 0x7fffffff;  // in one dimension, of any device

    std::int64_t x = 1;
    std::int64_t y = 1;
    std::int64_t z = 1;

    constexpr Extent() = default;
    template <std::integral X, std::integral Y = int, std::integral Z = int>
    constexpr Extent(X in_x, Y in_y = 1, Z in_z = 1) : x(kept(in_x)), y(kept(in_y)), z(kept(in_z))
    {
    }

private:
    template <std::integral Number>
    static constexpr std::int64_t kept(Number number)
    {
        if constexpr (std::is_unsigned_v<Number>)
            return static_cast<std::int64_t>(
                std::min<std::uint64_t>(number, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())));
        else
            return number;
    }
};

struct LaunchConfig {
    Extent grid{};
    Extent block{};
    std::uint32_t shared_bytes = 0;  // dynamic; if it is above the default limit, the driver is asked for more
    Stream stream = nullptr;         // null: the default stream
};

// One argument of a launch, as it lies in memory.
struct Argument {
    const void* value = nullptr;
    std::size_t size = 0;
};

namespace detail {

template <class... Values>
std::array<Argument, sizeof...(Values)> arguments(const Values&... values)
{
    static_assert((std::is_trivially_copyable_v<Values> && ...),
                  "a kernel takes plain values: numbers, pointers, PODs");
    static_assert((!std::is_array_v<Values> && ...), "an array is no kernel argument: give a device pointer");
    return {Argument{static_cast<const void*>(&values), sizeof(Values)}...};
}

}  // namespace detail

// A kernel loaded in one context: a lease. Its module stays loaded until the last lease of it goes, whatever the budget
// of loaded modules says. A captured graph that holds the kernel must not outlive the lease.
// Thread safety: all of it, from any thread. Movable and copyable; copies share the lease.
// Cost: function() is one load. It does not check whether the context still lives; launch() does.
class HEARTH_API Loaded {
public:
    Loaded() = default;

    Function function() const noexcept { return m_function; }
    // False once the context has been destroyed or reset: then bind the kernel again.
    bool alive() const noexcept;

    // In the kernel's own context, whichever is current. The number and sizes of the arguments are checked if the
    // driver can tell them (12.4 and later).
    template <class... Values>
    Status launch(const LaunchConfig& config, const Values&... values) const
    {
        return launch_packed(config, detail::arguments(values...));
    }
    Status launch_packed(const LaunchConfig& config, std::span<const Argument> arguments) const;

private:
    friend class Kernel;
    friend struct LoadedFunction;
    Loaded(std::shared_ptr<const void> context, std::shared_ptr<const LoadedFunction> loaded, Function function)
        : m_context(std::move(context)), m_loaded(std::move(loaded)), m_function(function)
    {
    }

    std::shared_ptr<const void> m_context;  // set by on(): keeps the device's primary context; freed after the kernel
    std::shared_ptr<const LoadedFunction> m_loaded;
    Function m_function = nullptr;
};

// A kernel by its program and its name. Nothing happens until it is used: then it is looked up or compiled, loaded into
// the context that is current, once for each context, and kept loaded as long as this object lives.
// Thread safety: all of it, from any thread; the object must outlive its uses. Movable while no other thread uses it.
// Ownership: the cache must outlive it, and may be moved meanwhile.
// Cost of function() and launch() once loaded: the driver is asked which context is current (some ten nanoseconds; a
// thread's own memory of it would be wrong as soon as the program switches contexts), then a list with an entry for
// each context is read: no lock, nothing written. bind() and on() settle the context once: then it is one load.
class HEARTH_API Kernel {
public:
    // `name` is a function's name in the compiled code (extern "C"), or a name expression: it has template arguments or
    // "::", or is one of program.name_expressions. A name expression that is not among those is added to them.
    // If program.target is empty or "device", the kernel is compiled for the device that it is loaded on.
    Kernel(Cache& cache, nvrtc::Program program, std::string name, nvrtc::CompileOptions options = {});
    // With other ways to compile and launch it, the best of which is found while it runs: hearth/variants.hpp. They
    // concern launch(); function(), bind() and on() give the program as it is.
    Kernel(Cache& cache, nvrtc::Program program, std::string name, Variants variants,
           nvrtc::CompileOptions options = {});
    // From PTX or LTO-IR, which becomes a CUBIN through the cache: compiled once a fleet, and the driver only loads it.
    // `name` is a function's name in it. If program.target is empty or "device", it is compiled for the device that it
    // is loaded on, or for that chip alone where the PTX says so (sm_90a). What nvJitLink refuses is given to the
    // driver, which may be newer, unless a linker is named.
    Kernel(Cache& cache, ptx::Program program, std::string name, ptx::CompileOptions options = {});
    // From code that the caller has already: PTX text, or the bytes of a CUBIN, fat binary or PTX. It goes past every
    // cache of Hearth's: the driver compiles PTX anew in each process, unless its own cache has it.
    static Kernel from_image(std::string_view ptx, std::string name);
    static Kernel from_image(ByteView image, std::string name);

    Kernel(Kernel&&) noexcept;
    Kernel& operator=(Kernel&&) noexcept;
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;
    ~Kernel();

    const std::string& name() const noexcept;

    // For the current context; valid as long as this object and that context live.
    Result<Function> function() const;
    // Loads it for the current context and launches nothing: before a stream is captured, or the first request comes.
    Status warm() const;
    // A lease for the current context, or for the primary context of a device, which it keeps alive.
    Result<Loaded> bind() const;
    Result<Loaded> on(int device) const;

    // In the current context. After an Error nothing has been launched. What goes wrong on the device later, the driver
    // reports.
    template <class... Values>
    Status launch(const LaunchConfig& config, const Values&... values) const
    {
        return launch_packed(config, detail::arguments(values...));
    }
    Status launch_packed(const LaunchConfig& config, std::span<const Argument> arguments) const;

    // What is known of its variants, for each class of launches that this process has seen.
    std::vector<VariantRecord> variants() const;

private:
    struct State;
    explicit Kernel(std::unique_ptr<State> state);

    std::unique_ptr<State> m_state;
};

// A kernel of PTX for those who keep no handle: a lease for the current context, as from Kernel(cache, program, name).
// Thread safety: all of it, from any thread. The cache is used for this call alone, and the text is not kept.
// Cost once it is loaded in this context: the driver is asked which context is current, the text is digested, and the
// module is looked up by that, under a lock that all threads share. No tier is asked and the text is not copied.
// It is held only as long as the lease. Without one it stays loaded while ModuleLimits have room for it.
HEARTH_API Result<Loaded> get_or_load(Cache& cache, std::string_view ptx, std::string_view name);
HEARTH_API Result<Loaded> get_or_load(Cache& cache, const ptx::Program& program, std::string_view name,
                                      const ptx::CompileOptions& options = {});

// Limits for the modules this process has loaded, in all contexts. Beyond a limit, the least recently used module that
// nobody holds is unloaded. A held module stays until its last lease ends. A Kernel holds what it has loaded.
struct ModuleLimits {
    std::uint64_t max_modules = 4096;  // 0: no limit
    std::uint64_t max_bytes = 1_GiB;   // of their images; 0: no limit
};

struct ModuleStats {
    std::uint64_t loads = 0;     // modules the driver has loaded
    std::uint64_t hits = 0;      // requests for a loaded module; a kernel that knows its function asks no more
    std::uint64_t unloads = 0;   // modules the driver has unloaded
    std::uint64_t rejected = 0;  // images the driver would not load
    std::uint64_t lost = 0;      // modules that ended with their context
    std::uint64_t loaded = 0;    // now
    std::uint64_t loaded_bytes = 0;
};

HEARTH_API ModuleStats module_stats();
HEARTH_API void set_module_limits(const ModuleLimits& limits);  // takes effect before it returns
// Lets go of an artifact's module in every context. One that is held is unloaded after its last lease.
HEARTH_API void evict_module(const Key& key);
// Unloads every module that nobody holds.
HEARTH_API void unload_unused_modules();

struct PreloadOptions {
    unsigned threads = 0;  // at most; 0: as many as there are cores, at most 8
};

struct PreloadReport {
    std::uint64_t loaded = 0;           // ready now, including those that were ready before
    std::uint64_t skipped = 0;          // not code for this device
    std::vector<std::string> problems;  // a sentence for each that could not be loaded
};

// These load for the current context, several at a time, so that the first request finds everything in place. They load
// the given kernels, or the given programs (their kernels are then found loaded), or the entries that were used most.
HEARTH_API PreloadReport preload(std::span<const Kernel* const> kernels, const PreloadOptions& options = {});
HEARTH_API PreloadReport preload(Cache& cache, std::span<const nvrtc::Program> programs,
                                 const PreloadOptions& options = {});
HEARTH_API PreloadReport preload(Cache& cache, std::span<const ptx::Program> programs,
                                 const PreloadOptions& options = {});
HEARTH_API PreloadReport preload_hottest(Cache& cache, std::size_t count, const PreloadOptions& options = {});

}  // namespace hearth::cuda
