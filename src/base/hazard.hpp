#pragma once

#include <atomic>
#include <cstddef>

// Hazard pointers: readers announce what they use in memory of their own; who unlinks an object frees it only once no
// announcement names it.
//
//   reader                                    remover
//   p = source.load()                         source.store(other)        (seq_cst)
//   slot->object.store(p)      (seq_cst)      retire(p): for every slot
//   source.load() == p ?       (seq_cst)        slot->wanted.store(true) (seq_cst)
//   use p                                       slot->object.load() == p ? keep p : free it
//   slot->object.store(null)   (seq_cst)
//   slot->wanted.load() ?      (seq_cst)
//     -> reclaim what was kept
//
// All of these are sequentially consistent, so either the reader sees that the source has changed or the remover sees
// the announcement; and either the remover sees the release or the reader sees that it is wanted. An object kept only
// because of a lease is thus freed by the release of that lease, not by some later operation.
// Cost: a reader writes its slot's own cache line and reads nothing that others write.

namespace hearth::base {

// What can be protected. Deleted through its destructor once retired and no longer protected.
class Reclaimable {
public:
    Reclaimable() = default;
    Reclaimable(const Reclaimable&) = delete;
    Reclaimable& operator=(const Reclaimable&) = delete;
    virtual ~Reclaimable() = default;

private:
    friend struct HazardDomain;
    Reclaimable* m_next_retired = nullptr;
};

struct alignas(64) HazardSlot {
    std::atomic<const Reclaimable*> object{nullptr};
    std::atomic<bool> wanted{false};  // its object has been retired: whoever releases it reclaims
    HazardSlot* next_free = nullptr;  // in a thread's or the process's list of free slots
    HazardSlot* next = nullptr;       // in the list of all slots, which only grows
};

// A slot of the calling thread's, free to announce in. Never fails short of running out of memory.
HazardSlot* acquire_slot() noexcept;
// Ends the announcement, from any thread, and gives the slot back.
void release_slot(HazardSlot* slot) noexcept;

// Announces `object` in `slot`. The caller must then look again whether it is still reachable.
inline void announce(HazardSlot* slot, const Reclaimable* object) noexcept
{
    // seq_cst: pairs with the scan in retire(), as drawn above.
    slot->object.store(object, std::memory_order_seq_cst);
}

// Frees the object, which no new reader can reach, as soon as no slot names it: now, or when the last lease ends.
void retire(Reclaimable* object) noexcept;

// Objects retired and not yet freed. For tests.
std::size_t retired_count() noexcept;

}  // namespace hearth::base
