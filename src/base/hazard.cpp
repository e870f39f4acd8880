#include "base/hazard.hpp"

#include <mutex>

namespace hearth::base {

// One for the process and never destroyed: leases may outlive every cache, and threads outlive main().
struct HazardDomain {
    std::mutex mutex;
    std::atomic<HazardSlot*> slots{nullptr};
    HazardSlot* free_slots = nullptr;     // guarded by mutex
    Reclaimable* retired = nullptr;       // guarded by mutex
    std::size_t retired_count = 0;        // guarded by mutex

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
                // release: pairs with the acquire in is_protected(), which walks the list without the lock held by us.
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

    bool is_protected(const Reclaimable* object) const
    {
        bool found = false;
        for (HazardSlot* slot = slots.load(std::memory_order_acquire); slot; slot = slot->next) {
            if (slot->object.load(std::memory_order_seq_cst) != object)
                continue;
            // Asked first and looked at again: see the drawing in the header.
            slot->wanted.store(true, std::memory_order_seq_cst);
            found |= slot->object.load(std::memory_order_seq_cst) == object;
        }
        return found;
    }

    void retire(Reclaimable* object)
    {
        {
            const std::lock_guard lock(mutex);
            next(object) = retired;
            retired = object;
            ++retired_count;
        }
        reclaim();
    }

    void reclaim()
    {
        Reclaimable* to_free = nullptr;
        {
            const std::lock_guard lock(mutex);
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

// A few free slots at hand, so that taking one is a pop from memory only this thread uses.
struct SlotCache {
    static constexpr int k_keep = 16;

    HazardSlot* head = nullptr;
    int count = 0;

    ~SlotCache()
    {
        while (head) {
            HazardSlot* slot = head;
            head = slot->next_free;
            domain().give_back(slot);
        }
        count = k_keep;  // releases in later thread-local destructors go straight to the domain
    }
};

thread_local SlotCache t_slots;

}  // namespace

HazardSlot* acquire_slot() noexcept
{
    SlotCache& cache = t_slots;
    if (HazardSlot* slot = cache.head) {
        cache.head = slot->next_free;
        --cache.count;
        return slot;
    }
    return domain().take();
}

void release_slot(HazardSlot* slot) noexcept
{
    slot->object.store(nullptr, std::memory_order_seq_cst);
    if (slot->wanted.load(std::memory_order_seq_cst)) {
        slot->wanted.store(false, std::memory_order_relaxed);
        domain().reclaim();
    }
    SlotCache& cache = t_slots;
    if (cache.count < SlotCache::k_keep) {
        slot->next_free = cache.head;
        cache.head = slot;
        ++cache.count;
    } else {
        domain().give_back(slot);
    }
}

void retire(Reclaimable* object) noexcept
{
    domain().retire(object);
}

std::size_t retired_count() noexcept
{
    HazardDomain& all = domain();
    const std::lock_guard lock(all.mutex);
    return all.retired_count;
}

}  // namespace hearth::base
