#include "base/hazard.hpp"

#include "base/fork.hpp"
#include "base/of_process.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace hearth::base {

// One for the process.
struct HazardDomain {
    ForkSafeMutex mutex{LockLevel::reclaim};  // guards all that follows
    HazardSlot* slots = nullptr;
    std::size_t slot_count = 0;
    HazardSlot* free_slots = nullptr;
    Reclaimable* waiting = nullptr;  // retired since the last scan
    std::size_t waiting_count = 0;
    std::size_t retired_count = 0;        // waiting, being scanned, or held
    std::vector<Reclaimable*> asked_for;  // kept for its memory
    std::size_t slots_visited = 0;

    static Reclaimable*& next(Reclaimable* object) { return object->m_next_retired; }
    static std::size_t& holders(Reclaimable* object) { return object->m_holders; }

    HazardSlot* take()
    {
        const std::lock_guard lock(mutex);
        if (!free_slots) {
            static constexpr std::size_t k_block = 32;
            auto* block = new HazardSlot[k_block];
            for (std::size_t i = 0; i < k_block; ++i) {
                block[i].next_free = free_slots;
                free_slots = &block[i];
                block[i].next = slots;
                slots = &block[i];
            }
            slot_count += k_block;
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

    void retire(std::span<Reclaimable* const> objects)
    {
        if (objects.empty())
            return;
        {
            const std::lock_guard lock(mutex);
            for (Reclaimable* object : objects) {
                next(object) = waiting;
                waiting = object;
            }
            waiting_count += objects.size();
            retired_count += objects.size();
            if (waiting_count < slot_count / k_slots_for_one)
                return;
        }
        scan();
    }

    // One barrier and one walk over the slots serve all that wait: there may be thousands of leases and of evictions.
    void scan()
    {
        Reclaimable* scanned = nullptr;
        {
            const std::lock_guard lock(mutex);
            // Without memory to list them they go on waiting. What is reserved stays, also if another scans meanwhile.
            try {
                asked_for.reserve(waiting_count);
            } catch (const std::bad_alloc&) {
                return;
            }
            scanned = std::exchange(waiting, nullptr);
            waiting_count = 0;
        }
        // Not under the lock, which releases take. What is retired meanwhile waits for the next scan.
        heavy_barrier();
        Reclaimable* to_free = nullptr;
        {
            const std::lock_guard lock(mutex);
            for (HazardSlot* slot = ask_for(scanned); slot; slot = slot->next)
                visit(*slot, to_free);
            for (Reclaimable* object : asked_for)
                if (holders(object) == 0)
                    add_to(to_free, object);
        }
        free_all(to_free);
    }

    // Lists what this scan is about, each without holders so far. Returns the first slot.
    HazardSlot* ask_for(Reclaimable* scanned)
    {
        asked_for.clear();
        while (scanned) {
            Reclaimable* object = std::exchange(scanned, next(scanned));
            holders(object) = 0;
            asked_for.push_back(object);
        }
        std::sort(asked_for.begin(), asked_for.end(), std::less<>());
        return slots;
    }

    // What a slot names may have been freed long ago, if its reader has yet to look again: it is compared, never read.
    void visit(HazardSlot& slot, Reclaimable*& to_free)
    {
        ++slots_visited;
        // acquire: pairs with the release in release_slot() and announce().
        const Reclaimable* object = slot.object.load(std::memory_order_acquire);
        // A release that met the scan that asked for it.
        if (Reclaimable* wanted = slot.wanted.load(std::memory_order_relaxed); wanted && wanted != object) {
            slot.wanted.store(nullptr, std::memory_order_relaxed);
            if (--holders(wanted) == 0)
                add_to(to_free, wanted);
        }
        const auto found = std::lower_bound(asked_for.begin(), asked_for.end(), object, std::less<>());
        if (object && found != asked_for.end() && *found == object) {
            slot.wanted.store(*found, std::memory_order_relaxed);
            ++holders(*found);
        }
    }

    void hold_no_longer(HazardSlot& slot)
    {
        Reclaimable* to_free = nullptr;
        {
            const std::lock_guard lock(mutex);
            Reclaimable* wanted = slot.wanted.load(std::memory_order_relaxed);
            slot.wanted.store(nullptr, std::memory_order_relaxed);
            if (wanted && --holders(wanted) == 0)
                add_to(to_free, wanted);
        }
        free_all(to_free);
    }

    void add_to(Reclaimable*& list, Reclaimable* object)
    {
        next(object) = list;
        list = object;
        --retired_count;
    }

    // Destructors run outside the lock: they may release leases of their own.
    static void free_all(Reclaimable* list)
    {
        while (list)
            delete std::exchange(list, next(list));
    }
};

namespace {

HazardDomain& domain()
{
    return of_process<HazardDomain>();
}

// Lets a thread keep free slots from now on, and gives them back when it ends.
struct SlotsOfThread {
    SlotsOfThread() { detail::t_own.free_slot_count = 0; }
    SlotsOfThread(const SlotsOfThread&) = delete;
    SlotsOfThread& operator=(const SlotsOfThread&) = delete;
    ~SlotsOfThread()
    {
        while (HazardSlot* slot = detail::t_own.free_slots) {
            detail::t_own.free_slots = slot->next_free;
            domain().give_back(slot);
        }
        detail::t_own.free_slot_count =
            detail::k_free_slots_kept;  // releases in later thread-local destructors go straight to the domain
    }
};

}  // namespace

namespace detail {

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
    if (t_own.free_slot_count >= k_free_slots_kept) {
        domain().give_back(slot);
        return;
    }
    slot->next_free = t_own.free_slots;
    t_own.free_slots = slot;
    ++t_own.free_slot_count;
}

void hold_no_longer(HazardSlot* slot) noexcept
{
    domain().hold_no_longer(*slot);
}

}  // namespace detail

void reclaim() noexcept
{
    domain().scan();
}

void retire(std::span<Reclaimable* const> objects) noexcept
{
    domain().retire(objects);
}

std::vector<const Reclaimable*> announced()
{
    std::vector<const Reclaimable*> objects;
    HazardDomain& all = domain();
    {
        const std::lock_guard lock(all.mutex);
        for (const HazardSlot* slot = all.slots; slot; slot = slot->next)
            if (const Reclaimable* object = slot->object.load(std::memory_order_acquire))
                objects.push_back(object);
    }
    std::sort(objects.begin(), objects.end(), std::less<>());
    return objects;
}

std::size_t retired_count() noexcept
{
    HazardDomain& all = domain();
    const std::lock_guard lock(all.mutex);
    return all.retired_count;
}

std::size_t slots_visited() noexcept
{
    HazardDomain& all = domain();
    const std::lock_guard lock(all.mutex);
    return all.slots_visited;
}

}  // namespace hearth::base
