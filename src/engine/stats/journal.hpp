#pragma once

#include "base/fork.hpp"
#include "hearth/history.hpp"
#include "hearth/tier.hpp"

#include <string_view>
#include <vector>

namespace hearth::engine {

// The last compiles and faults and the slowest compiles, beside the entries. Events are kept here until they are
// written with the statistics, all at once.
//
//   note  := "HRTHJRN1" event*                           oldest first
//   event := kind:u8 flags:u8 why:u8 when took:i64 key:u8[32] label compiler target text:(u8 bytes)
//
// Thread safety: all of it. Cost of noting: a short lock.
class Journal {
public:
    void note(Event event);
    // Adds what was noted to the note beside the entries. Nothing was: it does nothing.
    void write(Tier& keeper);
    // What the note holds and what is not written yet.
    std::vector<Event> read(Tier* keeper) const;

private:
    mutable base::ForkSafeMutex m_mutex{base::LockLevel::counters};
    std::vector<Event> m_pending;
    // The parent writes what was noted before a fork.
    const base::ForkGuard m_fork_guard{[this] { m_pending.clear(); }};
};

}  // namespace hearth::engine
