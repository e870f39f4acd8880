#include "modules/module_table.hpp"

#include "base/error.hpp"
#include "base/of_process.hpp"
#include "modules/image.hpp"
#include "modules/loaded_function.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <mutex>

namespace hearth::cuda {

namespace {

ModuleTable& process_table()
{
    return base::of_process<ModuleTable>();
}

Error load_error(const gpu::CudaDriver& driver, const LoadedImage& image, std::uint64_t bytes)
{
    return {image.rejected() ? Code::other_version : Code::unavailable,
            fmt::format("The driver does not load an image of {} bytes: {}.", bytes, describe(driver, image.error)),
            image.log};
}

}  // namespace

LoadedModule::LoadedModule(ModuleTable& its_table, const gpu::CudaDriver& its_driver,
                           const gpu::CudaContext& its_context, const Key& its_key, CUmod_st* its_handle,
                           std::uint64_t its_bytes)
    : table(its_table), driver(its_driver), context(its_context), key(its_key), handle(its_handle), bytes(its_bytes)
{
}

LoadedModule::~LoadedModule() = default;

ModuleLease::~ModuleLease()
{
    if (m_module != nullptr)
        ModuleTable::release(m_module);
}

ModuleTable::~ModuleTable()
{
    unload_unused();
}

ModuleTable& ModuleTable::of_process()
{
    return process_table();
}

Result<ModuleLease> ModuleTable::get(const gpu::CudaDriver& driver, const gpu::CudaContext& context, const Key& key,
                                     ByteView image, const Replace& replace)
{
    const ModuleId id{context.id, key, base::sum_of(image)};
    const auto flight = std::make_shared<Flight>();
    {
        std::unique_lock lock(m_mutex);
        for (;;) {
            if (std::optional<ModuleLease> found = listed(id))
                return *std::move(found);
            const auto [place, ours] = m_flights.try_emplace(id, flight);
            if (ours)
                break;
            const std::shared_ptr<Flight> other = place->second;
            m_landed.wait(lock, [&] { return other->landed; });
            if (other->error)
                return *other->error;
        }
    }

    const Result<Loaded> loaded = [&]() -> Result<Loaded> {
        try {
            forget_dead_contexts(driver, context);
            return load(driver, context, image, id.image, replace);
        } catch (const std::exception& error) {
            // Whoever waits for this flight must be told.
            return hearth::error(Code::unavailable, "A module could not be loaded: {}.", error.what());
        }
    }();
    Victims victims;
    ModuleLease ours;
    {
        const std::lock_guard lock(m_mutex);
        m_flights.erase(id);
        flight->landed = true;
        if (loaded) {
            // Not `key`: replace() may have changed what it refers to.
            put_in(new LoadedModule(*this, driver, context, id.key, loaded->handle, loaded->bytes));
            list(m_order.begin(), id);
            list(m_order.begin(), {id.context, id.key, loaded->image});
            ++m_stats.loads;
            ++m_stats.loaded;
            m_stats.loaded_bytes += loaded->bytes;
            ours = lease(m_order.front());
            take_victims(victims);
        } else {
            flight->error = loaded.error();
        }
    }
    m_landed.notify_all();
    release(victims);
    HEARTH_TRY(loaded);
    return ours;
}

std::optional<ModuleLease> ModuleTable::find(std::uint64_t context, const Key& key)
{
    const std::lock_guard lock(m_mutex);
    return listed({context, key});
}

void ModuleTable::also_by(const ModuleLease& module, const Key& other)
{
    const std::lock_guard lock(m_mutex);
    // It may have been evicted meanwhile.
    if (!module->ids.empty())
        list(m_modules.find(module->ids.front())->second, {module->context.id, other});
}

Result<ModuleTable::Loaded> ModuleTable::load(const gpu::CudaDriver& driver, const gpu::CudaContext& context,
                                              ByteView image, const base::MemorySum& sum, const Replace& replace)
{
    Loaded made{nullptr, image.size(), sum};
    const gpu::AllowedInCapture allowed(driver);
    LoadedImage loaded = load_image(driver, image);
    Bytes other;
    for (bool may_replace = static_cast<bool>(replace); loaded.rejected(); may_replace = false) {
        {
            const std::lock_guard lock(m_mutex);
            ++m_stats.rejected;
        }
        const Error rejection = load_error(driver, loaded, made.bytes);
        if (!may_replace)
            return rejection;
        Result<Bytes> found = replace(rejection);
        HEARTH_TRY(found);
        other = *std::move(found);
        made.bytes = other.size();
        made.image = base::sum_of(other);
        loaded = load_image(driver, other);
    }
    made.handle = loaded.module;
    if (loaded.error == gpu::cuda::k_success)
        return made;
    // Another thread may have destroyed the context since this one looked it up.
    if (!is_alive(driver, context))
        return error(Code::unavailable, "The CUDA context was destroyed while a module was loaded into it.");
    return load_error(driver, loaded, made.bytes);
}

// A destroyed context takes its modules along; here they are taken off the table. This is done when something is
// loaded, so that they do not pile up in a program that creates one context after another.
void ModuleTable::forget_dead_contexts(const gpu::CudaDriver& driver, const gpu::CudaContext& current)
{
    std::vector<gpu::CudaContext> others;
    {
        const std::lock_guard lock(m_mutex);
        for (const auto& [id, modules] : m_contexts)
            if (id != current.id)
                others.push_back(modules.context);
    }
    std::erase_if(others, [&](const gpu::CudaContext& other) { return is_alive(driver, other); });
    if (others.empty())
        return;
    Victims gone;
    {
        const std::lock_guard lock(m_mutex);
        for (auto place = m_order.begin(); place != m_order.end();) {
            const auto here = place++;
            LoadedModule* module = *here;
            if (std::find(others.begin(), others.end(), module->context) == others.end())
                continue;
            module->lost = true;
            ++m_stats.lost;
            --m_stats.loaded;
            m_stats.loaded_bytes -= module->bytes;
            gone.push_back(module);
            take_out(here);
        }
    }
    release(gone);
}

std::optional<ModuleLease> ModuleTable::listed(const ModuleId& id)
{
    const auto found = m_modules.find(id);
    if (found == m_modules.end())
        return std::nullopt;
    ++m_stats.hits;
    m_order.splice(m_order.begin(), m_order, found->second);
    return lease(*found->second);
}

ModuleLease ModuleTable::lease(LoadedModule* module) noexcept
{
    // relaxed: the mutex orders it with the table's reads of the count.
    module->references.fetch_add(1, std::memory_order_relaxed);
    return ModuleLease(module);
}

bool ModuleTable::over_budget() const noexcept
{
    return (m_limits.max_modules != 0 && m_order.size() > m_limits.max_modules) ||
           (m_limits.max_bytes != 0 && m_listed_bytes > m_limits.max_bytes);
}

void ModuleTable::put_in(LoadedModule* module)
{
    m_order.push_front(module);
    m_listed_bytes += module->bytes;
    ModulesOfContext& modules = m_contexts[module->context.id];
    modules.context = module->context;
    ++modules.count;
}

void ModuleTable::list(Order::iterator place, const ModuleId& id)
{
    if (m_modules.emplace(id, place).second)
        (*place)->ids.push_back(id);
}

void ModuleTable::take_out(Order::iterator place)
{
    LoadedModule* module = *place;
    m_listed_bytes -= module->bytes;
    if (const auto modules = m_contexts.find(module->context.id); --modules->second.count == 0)
        m_contexts.erase(modules);
    for (const ModuleId& id : std::exchange(module->ids, {}))
        m_modules.erase(id);
    m_order.erase(place);
}

void ModuleTable::take_victims(Victims& victims)
{
    if (over_budget())
        m_over.store(true, std::memory_order_seq_cst);  // before the counts are looked at: see the top of the header
    for (auto place = m_order.end(); over_budget() && place != m_order.begin();) {
        --place;
        if ((*place)->references.load(std::memory_order_seq_cst) != 1)
            continue;
        const auto victim = place++;
        victims.push_back(*victim);
        take_out(victim);
    }
    if (!over_budget())
        m_over.store(false, std::memory_order_seq_cst);
}

void ModuleTable::trim()
{
    Victims victims;
    {
        const std::lock_guard lock(m_mutex);
        take_victims(victims);
    }
    release(victims);
}

void ModuleTable::set_limits(const ModuleLimits& limits)
{
    {
        const std::lock_guard lock(m_mutex);
        m_limits = limits;
    }
    trim();
}

void ModuleTable::evict(const Key& key)
{
    Victims victims;
    {
        const std::lock_guard lock(m_mutex);
        for (auto place = m_order.begin(); place != m_order.end();) {
            const auto here = place++;
            if ((*here)->key != key)
                continue;
            victims.push_back(*here);
            take_out(here);
        }
    }
    release(victims);
}

void ModuleTable::unload_unused()
{
    Victims victims;
    {
        const std::lock_guard lock(m_mutex);
        for (auto place = m_order.begin(); place != m_order.end();) {
            const auto here = place++;
            if ((*here)->references.load(std::memory_order_seq_cst) != 1)
                continue;
            victims.push_back(*here);
            take_out(here);
        }
    }
    release(victims);
}

ModuleStats ModuleTable::stats() const
{
    const std::lock_guard lock(m_mutex);
    return m_stats;
}

void ModuleTable::release(LoadedModule* module) noexcept
{
    ModuleTable& table = module->table;
    // seq_cst: see the top of the header. It is also a release, so that what the holder did with the module comes
    // before its unloading, and an acquire for the thread that unloads it. From here on the module may be gone.
    const std::uint32_t before = module->references.fetch_sub(1, std::memory_order_seq_cst);
    if (before == 1)
        table.unload(module);
    else if (before == 2 && table.m_over.load(std::memory_order_seq_cst))
        table.trim();
}

void ModuleTable::release(const Victims& victims) noexcept
{
    for (LoadedModule* module : victims)
        release(module);
}

void ModuleTable::unload(LoadedModule* module) noexcept
{
    const std::unique_ptr<LoadedModule> last(module);
    {
        const std::lock_guard lock(m_mutex);
        if (module->lost)
            return;
    }
    bool unloaded = false;
    {
        // A context that is gone has taken the module with it, and its handle must not be used.
        const gpu::ScopedContext context(module->driver, module->context);
        const gpu::AllowedInCapture allowed(module->driver);
        unloaded = context.ok() && module->driver.unload(module->handle) == gpu::cuda::k_success;
    }
    const std::lock_guard lock(m_mutex);
    ++(unloaded ? m_stats.unloads : m_stats.lost);
    --m_stats.loaded;
    m_stats.loaded_bytes -= module->bytes;
}

ModuleStats module_stats()
{
    return ModuleTable::of_process().stats();
}

void set_module_limits(const ModuleLimits& limits)
{
    ModuleTable::of_process().set_limits(limits);
}

void evict_module(const Key& key)
{
    ModuleTable::of_process().evict(key);
}

void unload_unused_modules()
{
    ModuleTable::of_process().unload_unused();
}

}  // namespace hearth::cuda
