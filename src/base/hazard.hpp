#pragma once

#include "base/barrier.hpp"

#include <atomic>
#include <cstddef>
#include <span>

// Hazard pointers: readers announce, in memory of their own, which object they use. A thread that unlinks an object
// frees it only once no announcement names it.
//
//   reader                                    remover
//   p = source.load()            (acquire)    source.store(other)
//   slot->object.store(p)        (release)    heavy_barrier()
//   light_barrier()                           for every slot: slot->object.load() == p ?
//   source.load() == p ?                        slot->wanted.store(true), keep p : free p
//   use p
//   slot->object.store(null)     (release)
//   slot->wanted.load() ?        (relaxed)
//     -> reclaim what was kept
//
// The barriers (base/barrier.hpp) make sure that either the reader sees that the source has changed or the remover sees
// the announcement: nothing is freed in use. There is no barrier between the reader's last two steps, which keeps
// releases cheap. So an object kept because of a lease is freed by the release of that lease, unless release and scan
// meet within nanoseconds; then by the next retire() or reclaim().
// Cost: a reader writes its slot's own cache line and reads nothing that others write; no barrier instruction.

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
    Reclaimable* m_next_retired = nullptr;
};

struct alignas(64) HazardSlot {
    std::atomic<const Reclaimable*> object{nullptr};
    std::atomic<bool> wanted{false};  // its object has been retired: whoever releases it reclaims
    HazardSlot* next_free = nullptr;  // in a thread's or the process's list of free slots
    HazardSlot* next = nullptr;       // in the list of all slots, which only grows
};

namespace detail {

// The thread's free slots: taking one is a pop from memory that only this thread uses. thread_index.hpp says why these
// are plain words.
extern thread_local constinit HazardSlot* t_free_slots __attribute__((tls_model("initial-exec")));
extern thread_local constinit int t_free_slot_count __attribute__((tls_model("initial-exec")));
inline constexpr int k_free_slots_kept = 16;

HazardSlot* take_slot() noexcept;
void give_slot_back(HazardSlot* slot) noexcept;

}  // namespace detail

// Frees what was retired and is no longer protected.
void reclaim() noexcept;

// A slot of the calling thread's, free to announce in. Never fails short of running out of memory.
inline HazardSlot* acquire_slot() noexcept
{
    HazardSlot* slot = detail::t_free_slots;
    if (!slot)
        return detail::take_slot();
    detail::t_free_slots = slot->next_free;
    --detail::t_free_slot_count;
    return slot;
}

// Ends the announcement, from any thread, and gives the slot back.
inline void release_slot(HazardSlot* slot) noexcept
{
    // release: pairs with the scan's load, so that what the reader did with the object comes before its end.
    slot->object.store(nullptr, std::memory_order_release);
    if (slot->wanted.load(std::memory_order_relaxed)) {
        slot->wanted.store(false, std::memory_order_relaxed);
        reclaim();
    }
    if (detail::t_free_slot_count >= detail::k_free_slots_kept)
        return detail::give_slot_back(slot);
    slot->next_free = detail::t_free_slots;
    detail::t_free_slots = slot;
    ++detail::t_free_slot_count;
}

// Announces `object` in `slot`. The caller must then check again that the object is still reachable.
inline void announce(HazardSlot* slot, const Reclaimable* object) noexcept
{
    // release: whoever sees this announcement also sees that we are done with what the slot named before.
    slot->object.store(object, std::memory_order_release);
    light_barrier();
}

// Frees the objects, which no new reader can reach, as soon as no slot names them: now, or when the last lease ends.
// One heavy barrier for all of them.
void retire(std::span<Reclaimable* const> objects) noexcept;
inline void retire(Reclaimable* object) noexcept
{
    retire({&object, 1});
}

// Objects retired and not yet freed. For tests.
std::size_t retired_count() noexcept;

}  // namespace hearth::base
