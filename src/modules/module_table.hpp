#pragma once

#include "base/fork.hpp"
#include "base/memory_sum.hpp"
#include "gpu/cuda/cuda_context.hpp"
#include "hearth/cuda.hpp"
#include "modules/growing_list.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

// The loaded modules of a process: by context identity, artifact key and what the image holds, counted, within a
// budget. A key alone does not name an image: where an entry was removed, or nothing is kept, the next result of the
// same question has its key, and another header may have gone into it. A module may be known by other keys too: all
// that its code was compiled from, so that it is found before any tier is asked.
//
// A module's references are its leases, and one more while the table lists it. New references to a listed module are
// only taken under the mutex. So if the table, under its mutex, sees one reference, nobody holds the module, and that
// stays so. Whoever drops the last reference unloads the module, with no lock held.
//
//   lease ends (no lock)                           table over its budget (mutex held)
//   references.fetch_sub(1)      (seq_cst)         over.store(true)          (seq_cst)
//   over.load() ? -> trim()      (seq_cst)         references.load() == 1 ?  (seq_cst)  -> victim
//
// All four have one total order: either the table sees that the lease has ended, or the ending lease sees that the
// table is over its budget. Otherwise a module could stay loaded beyond the budget until the next load.

namespace hearth::cuda {

class ModuleTable;

struct ModuleId {
    std::uint64_t context;
    Key key;
    base::MemorySum image{};  // none: the key stands for it
    friend bool operator==(const ModuleId&, const ModuleId&) = default;
};

class LoadedModule {
public:
    LoadedModule(ModuleTable& its_table, const gpu::CudaDriver& its_driver, const gpu::CudaContext& its_context,
                 const Key& its_key, CUmod_st* its_handle, std::uint64_t its_bytes);
    ~LoadedModule();
    LoadedModule(const LoadedModule&) = delete;
    LoadedModule& operator=(const LoadedModule&) = delete;

    ModuleTable& table;
    const gpu::CudaDriver& driver;
    const gpu::CudaContext context;
    const Key key;
    CUmod_st* const handle;
    const std::uint64_t bytes;
    std::atomic<std::uint32_t> references{1};  // the table's
    bool lost = false;                         // its context is gone; guarded by the table's mutex
    std::vector<ModuleId> ids;                 // by which it is listed; guarded by the table's mutex
    // Those that were asked for. They end with the module, so whoever uses one holds a lease.
    mutable GrowingList<std::unique_ptr<const LoadedFunction>> functions;
};

// Keeps a module loaded. Move-only.
class ModuleLease {
public:
    ModuleLease() = default;
    explicit ModuleLease(LoadedModule* counted) noexcept : m_module(counted) {}
    ModuleLease(ModuleLease&& other) noexcept : m_module(std::exchange(other.m_module, nullptr)) {}
    ModuleLease& operator=(ModuleLease&& other) noexcept
    {
        std::swap(m_module, other.m_module);
        return *this;
    }
    ModuleLease(const ModuleLease&) = delete;
    ModuleLease& operator=(const ModuleLease&) = delete;
    ~ModuleLease();

    const LoadedModule* operator->() const noexcept { return m_module; }
    const LoadedModule& operator*() const noexcept { return *m_module; }

private:
    LoadedModule* m_module = nullptr;
};

// Thread safety: all of it. The mutex is never held over a call into the driver.
// Ownership: the table must outlive its leases; the process's own is never destroyed.
// Cost: get() of a loaded module reads its image once (10 KB: 0.4 us); find() and it take the mutex and one probe; a
// kernel comes here once a context, not once a launch.
class ModuleTable {
public:
    // Another image for one that the driver has rejected, or why there is none.
    using Replace = std::function<Result<Bytes>(const Error& rejection)>;

    explicit ModuleTable(const ModuleLimits& limits = {}) : m_limits(limits) {}
    ~ModuleTable();
    ModuleTable(const ModuleTable&) = delete;
    ModuleTable& operator=(const ModuleTable&) = delete;

    // The process's own, for the machine's driver.
    static ModuleTable& of_process();

    // The module of `key` with this image in `context`, which has to be the current one. If it is not there, it is
    // loaded: once, however many threads ask. The others wait for the one that loads.
    Result<ModuleLease> get(const gpu::CudaDriver& driver, const gpu::CudaContext& context, const Key& key,
                            ByteView image, const Replace& replace = {});

    // The module that is known by `key` in a context, if it is loaded.
    std::optional<ModuleLease> find(std::uint64_t context, const Key& key);
    // From now on the module is found by `other` too, as long as it is listed here.
    void also_by(const ModuleLease& module, const Key& other);

    void set_limits(const ModuleLimits& limits);
    void evict(const Key& key);
    void unload_unused();
    ModuleStats stats() const;

private:
    friend class ModuleLease;

    struct IdHash {
        std::size_t operator()(const ModuleId& id) const noexcept
        {
            return id.key.hash() ^ (id.context * 0x9e3779b97f4a7c15U) ^ id.image.first;
        }
    };
    using Order = std::list<LoadedModule*>;
    // A module that a thread is loading now.
    struct Flight {
        bool landed = false;
        std::optional<Error> error;
    };
    struct ModulesOfContext {
        gpu::CudaContext context;
        std::size_t count = 0;
    };
    using Victims = std::vector<LoadedModule*>;

    struct Loaded {
        CUmod_st* handle;
        std::uint64_t bytes;
        base::MemorySum image;  // that the driver took
    };
    Result<Loaded> load(const gpu::CudaDriver& driver, const gpu::CudaContext& context, ByteView image,
                        const base::MemorySum& sum, const Replace& replace);
    void forget_dead_contexts(const gpu::CudaDriver& driver, const gpu::CudaContext& current);

    std::optional<ModuleLease> listed(const ModuleId& id);  // with m_mutex held
    ModuleLease lease(LoadedModule* module) noexcept;       // with m_mutex held
    bool over_budget() const noexcept;                      // with m_mutex held
    void put_in(LoadedModule* module);                      // with m_mutex held
    void list(Order::iterator place, const ModuleId& id);   // with m_mutex held
    void take_out(Order::iterator place);  // with m_mutex held; the table's reference passes to the caller
    void take_victims(Victims& victims);   // with m_mutex held
    void trim();

    static void release(LoadedModule* module) noexcept;
    static void release(const Victims& victims) noexcept;
    void unload(LoadedModule* module) noexcept;

    mutable base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::condition_variable_any m_landed;  // one for all flights: they are rare, and waiters look again
    ModuleLimits m_limits;
    Order m_order;  // the most recently used first
    std::unordered_map<ModuleId, Order::iterator, IdHash> m_modules;
    std::unordered_map<ModuleId, std::shared_ptr<Flight>, IdHash> m_flights;
    std::unordered_map<std::uint64_t, ModulesOfContext> m_contexts;  // with modules in m_order, by identity
    std::uint64_t m_listed_bytes = 0;
    ModuleStats m_stats;
    std::atomic<bool> m_over{false};
};

}  // namespace hearth::cuda
