#pragma once

#include "gpu/cuda/cuda_context.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace hearth::test {

// A driver in memory, of a device that is an sm_90: it counts, and notices when it is misused. Its device memory is the
// host's, what is put into a stream is done when the call returns, and it launches nothing: a test that launches, or
// wants a failure, puts a function of its own into a copy of driver().
// Thread safety: all of it. One at a time: a driver is functions without state of ours.
class FakeCuda {
public:
    FakeCuda();
    ~FakeCuda();
    FakeCuda(const FakeCuda&) = delete;
    FakeCuda& operator=(const FakeCuda&) = delete;

    const gpu::CudaDriver& driver() const { return m_driver; }

    // A context at a place of its own, or at one where another lay before. Places are small numbers; the primary
    // context's is 1, and one that the driver is asked to make gets the next.
    gpu::CudaContext make_context(int place);
    void destroy_context(const gpu::CudaContext& context);
    int last_place() const { return m_last_place; }
    // For the calling thread.
    static void make_current(const gpu::CudaContext& context);

    // Called in every load, with no lock held; gets what is loaded.
    std::function<void(const std::string& image)> in_load;
    // Images that are rejected, with the log of the driver's compiler.
    std::map<std::string, std::string> rejected;
    // Kernels that no module has; every other name is one, whose handle is its module's.
    std::set<std::string> absent;

    int loads() const { return m_loads; }
    int unloads() const { return m_unloads; }
    int functions_asked_for() const { return m_functions; }
    std::size_t loaded() const;
    // Events that were made and not given back.
    int events() const { return m_events; }
    // Modules unloaded in the wrong context, twice, or after their context; contexts popped that were not pushed.
    int misuses() const { return m_misuses; }

private:
    void set_contexts();
    void set_modules();
    void set_memory();
    int load(CUmod_st** module, const std::string& image);
    int unload(CUmod_st* module);

    gpu::CudaDriver m_driver{};
    mutable std::mutex m_mutex;
    std::uint64_t m_last_id = 0;
    std::map<CUctx_st*, std::uint64_t> m_contexts;  // that live
    std::map<CUmod_st*, std::uint64_t> m_modules;   // and the context of each
    std::uintptr_t m_last_module = 0;
    std::atomic<int> m_last_place{1};
    std::atomic<std::uintptr_t> m_last_event{0};
    std::atomic<int> m_events{0};
    std::atomic<int> m_loads{0};
    std::atomic<int> m_unloads{0};
    std::atomic<int> m_functions{0};
    std::atomic<int> m_misuses{0};
};

}  // namespace hearth::test
