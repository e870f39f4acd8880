#pragma once

#include "base/barrier.hpp"
#include "base/of_thread.hpp"

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

// Hazard pointers: readers announce, in memory of their own, which object they use. A thread that unlinks an object
// frees it only once no announcement names it.
//
//   reader                                    remover
//   p = source.load()            (acquire)    source.store(other)
//   slot->object.store(p)        (release)    heavy_barrier()
//   light_barrier()                           for every slot: slot->object.load() == p ?
//   source.load() == p ?                        slot->wanted.store(p), count it among p's holders
//   use p                                     no holders: free p
//   slot->object.store(null)     (release)
//   slot->wanted.load() ?        (relaxed)
//     -> one holder less; the last frees p
//
// The barriers (base/barrier.hpp) make sure that either the reader sees that the source has changed or the remover sees
// the announcement: nothing is freed in use. An object has as many holders as there are slots whose `wanted` names it;
// both change under the domain's lock only. There is no barrier between the reader's last two steps, which keeps
// releases cheap. So an object kept because of a lease is freed by the release of that lease, unless release and scan
// meet within nanoseconds; then by the slot's next release or the next scan, whichever comes first.
// Cost: a reader writes its slot's own cache line and reads nothing that others write; no barrier instruction. A
// release is O(1), also of what was retired. A scan visits all slots, and comes once for every k_slots_for_one of them
// that is retired: where there are fewer than twice as many slots, that is at once.

namespace hearth::base {

// An object that can be protected. It is deleted once it is retired and no longer protected.
class Reclaimable {
public:
    Reclaimable() = default;
    Reclaimable(const Reclaimable&) = delete;
    Reclaimable& operator=(const Reclaimable&) = delete;
    virtual ~Reclaimable() = default;

private:
    friend struct HazardDomain;
    // Retired objects wait in a list for a scan. One that the scan finds protected is in no list: slots name it.
    union {
        Reclaimable* m_next_retired = nullptr;
        std::size_t m_holders;
    };
};

// Two cache lines: processors fetch them in pairs, and what a neighbour's thread writes would be fetched from it.
struct alignas(128) HazardSlot {
    std::atomic<const Reclaimable*> object{nullptr};
    std::atomic<Reclaimable*> wanted{nullptr};  // retired, and this slot is one of its holders
    HazardSlot* next_free = nullptr;            // in a thread's or the process's list of free slots
    HazardSlot* next = nullptr;                 // in the list of all slots, which only grows
};

inline constexpr std::size_t k_slots_for_one = 256;

namespace detail {

HazardSlot* take_slot() noexcept;
void give_slot_back(HazardSlot* slot) noexcept;
void hold_no_longer(HazardSlot* slot) noexcept;

}  // namespace detail

// Frees all that was retired and is no longer protected.
void reclaim() noexcept;

// A slot of the calling thread's, free to announce in. Never fails short of running out of memory.
inline HazardSlot* acquire_slot() noexcept
{
    HazardSlot* slot = detail::t_own.free_slots;
    if (!slot)
        return detail::take_slot();
    detail::t_own.free_slots = slot->next_free;
    --detail::t_own.free_slot_count;
    return slot;
}

// Ends the announcement, from any thread, and gives the slot back.
inline void release_slot(HazardSlot* slot) noexcept
{
    // release: pairs with the scan's load, so that what the reader did with the object comes before its end.
    slot->object.store(nullptr, std::memory_order_release);
    if (slot->wanted.load(std::memory_order_relaxed))
        detail::hold_no_longer(slot);
    if (detail::t_own.free_slot_count >= detail::k_free_slots_kept)
        return detail::give_slot_back(slot);
    slot->next_free = detail::t_own.free_slots;
    detail::t_own.free_slots = slot;
    ++detail::t_own.free_slot_count;
}

// Announces `object` in `slot`. The caller must then check again that the object is still reachable.
inline void announce(HazardSlot* slot, const Reclaimable* object) noexcept
{
    // release: whoever sees this announcement also sees that we are done with what the slot named before.
    slot->object.store(object, std::memory_order_release);
    light_barrier();
}

// Frees the objects, which no new reader can reach, once no slot names them: when the next scan finds none, or when the
// last lease ends that it finds. One heavy barrier for all that a scan serves.
void retire(std::span<Reclaimable* const> objects) noexcept;
inline void retire(Reclaimable* object) noexcept
{
    retire({&object, 1});
}

// The objects that are announced just now, in the order of their addresses; some may be gone. Visits all slots.
std::vector<const Reclaimable*> announced();

// For tests: objects retired and not yet freed, and slots that scans have visited so far.
std::size_t retired_count() noexcept;
std::size_t slots_visited() noexcept;

}  // namespace hearth::base
