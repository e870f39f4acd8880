#pragma once

#include <cstddef>

namespace hearth::base {

struct HazardSlot;

namespace detail {

inline constexpr int k_free_slots_kept = 16;

// What each thread has of its own, in one place and constant-initialised: every hit reads it, and finds it once. It is
// not initial-exec: what the loader sets aside for that is little, and other libraries may have taken it all before our
// drop-in is opened.
struct OfThread {
    std::size_t number = 0;  // one more than thread_index(); 0 until it has one
    // hazard.hpp: taking a slot is a pop from memory that only this thread uses.
    HazardSlot* free_slots = nullptr;
    // Full to begin with, so that the first release of a thread that has taken no slot comes to give_slot_back() too.
    int free_slot_count = k_free_slots_kept;
};
extern thread_local constinit OfThread t_own;

}  // namespace detail

}  // namespace hearth::base
