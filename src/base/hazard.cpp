#include "base/hazard.hpp"

#include "base/fork.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace hearth::base {

// One for the process and never destroyed: leases may outlive every cache, and threads outlive main().
struct HazardDomain {
    ForkSafeMutex mutex{LockLevel::reclaim};
    std::atomic<HazardSlot*> slots{nullptr};
    HazardSlot* free_slots = nullptr;                                   // guarded by mutex
    Reclaimable* retired = nullptr;                                     // guarded by mutex
    std::size_t retired_count = 0;                                      // guarded by mutex
    std::vector<std::pair<const Reclaimable*, HazardSlot*>> announced;  // guarded by mutex; kept for its memory

    static Reclaimable*& next(Reclaimable* object) { return object->m_next_retired; }

    HazardSlot* take()
    {
        const std::lock_guard lock(mutex);
        if (!free_slots) {
            static constexpr std::size_t k_block = 32;
            auto* block = new HazardSlot[k_block];
            for (std::size_t i = 0; i < k_block; ++i) {
                block[i].next_free = free_slots;
                free_slots = &block[i];
                block[i].next = slots.load(std::memory_order_relaxed);
                // release: pairs with the acquire in gather().
                slots.store(&block[i], std::memory_order_release);
            }
        }
        HazardSlot* slot = free_slots;
        free_slots = slot->next_free;
        return slot;
    }

    void give_back(HazardSlot* slot)
    {
        const std::lock_guard lock(mutex);
        slot->next_free = free_slots;
        free_slots = slot;
    }

    // One walk over the slots serves all retired objects: there may be thousands of leases and thousands of evictions.
    void gather()
    {
        announced.clear();
        for (HazardSlot* slot = slots.load(std::memory_order_acquire); slot; slot = slot->next)
            // acquire: pairs with the release in release_slot().
            if (const Reclaimable* object = slot->object.load(std::memory_order_acquire))
                announced.emplace_back(object, slot);
        std::sort(announced.begin(), announced.end());
    }

    bool is_protected(const Reclaimable* object) const
    {
        const auto first =
            std::lower_bound(announced.begin(), announced.end(), std::pair(object, static_cast<HazardSlot*>(nullptr)));
        for (auto it = first; it != announced.end() && it->first == object; ++it)
            it->second->wanted.store(true, std::memory_order_relaxed);
        return first != announced.end() && first->first == object;
    }

    void retire(std::span<Reclaimable* const> objects)
    {
        if (objects.empty())
            return;
        heavy_barrier();
        {
            const std::lock_guard lock(mutex);
            for (Reclaimable* object : objects) {
                next(object) = retired;
                retired = object;
            }
            retired_count += objects.size();
        }
        reclaim();
    }

    void reclaim()
    {
        Reclaimable* to_free = nullptr;
        {
            const std::lock_guard lock(mutex);
            gather();
            Reclaimable** link = &retired;
            while (*link) {
                Reclaimable* object = *link;
                if (is_protected(object)) {
                    link = &next(object);
                } else {
                    *link = next(object);
                    next(object) = to_free;
                    to_free = object;
                    --retired_count;
                }
            }
        }
        // Destructors run outside the lock: they may release leases of their own.
        while (to_free) {
            Reclaimable* object = to_free;
            to_free = next(object);
            delete object;
        }
    }
};

namespace {

HazardDomain& domain()
{
    static auto* instance = new HazardDomain;
    return *instance;
}

// Created when the library is loaded: if a fork came while another thread creates it, the child would wait for that
// thread.
[[maybe_unused]] const HazardDomain& g_domain_made_early = domain();

// Lets a thread keep free slots from now on, and gives them back when it ends.
struct SlotsOfThread {
    SlotsOfThread() { detail::t_free_slot_count = 0; }
    SlotsOfThread(const SlotsOfThread&) = delete;
    SlotsOfThread& operator=(const SlotsOfThread&) = delete;
    ~SlotsOfThread()
    {
        while (HazardSlot* slot = detail::t_free_slots) {
            detail::t_free_slots = slot->next_free;
            domain().give_back(slot);
        }
        detail::t_free_slot_count =
            detail::k_free_slots_kept;  // releases in later thread-local destructors go straight to the domain
    }
};

}  // namespace

namespace detail {

// Full to begin with, so that the first release of a thread that has taken no slot comes to give_slot_back() too.
thread_local constinit int t_free_slot_count = k_free_slots_kept;
thread_local constinit HazardSlot* t_free_slots = nullptr;

namespace {

void keep_slots_until_thread_ends()
{
    thread_local const SlotsOfThread at_thread_end;
    static_cast<void>(at_thread_end);
}

}  // namespace

HazardSlot* take_slot() noexcept
{
    keep_slots_until_thread_ends();
    return domain().take();
}

void give_slot_back(HazardSlot* slot) noexcept
{
    keep_slots_until_thread_ends();
    if (t_free_slot_count >= k_free_slots_kept) {
        domain().give_back(slot);
        return;
    }
    slot->next_free = t_free_slots;
    t_free_slots = slot;
    ++t_free_slot_count;
}

}  // namespace detail

void reclaim() noexcept
{
    domain().reclaim();
}

void retire(std::span<Reclaimable* const> objects) noexcept
{
    domain().retire(objects);
}

std::size_t retired_count() noexcept
{
    HazardDomain& all = domain();
    const std::lock_guard lock(all.mutex);
    return all.retired_count;
}

}  // namespace hearth::base
