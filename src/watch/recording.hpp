#pragma once

#include "hearth/result.hpp"
#include "watch/event_log.hpp"
#include "watch/import_slots.hpp"

#include <memory>
#include <string>
#include <vector>

namespace hearth::watch {

// A compiler library whose questions to the system are seen.
// Thread safety: all of it. It lasts as long as the process: its library is never unloaded.
class WatchedLibrary {
public:
    // Puts recorders into the library's import slots, once for each library. An Error says why it cannot be watched.
    static Result<const WatchedLibrary*> watch(void* handle);

    // Whether every slot still leads to its recorder.
    bool is_watched() const;

private:
    WatchedLibrary() = default;

    struct Watched {
        ImportSlot slot;
        void* recorder;
    };
    std::vector<Watched> m_slots;
};

// What the calling thread's compile asks, from here until finish(). What threads ask that have no recording of their
// own, such as a compiler's helpers, counts for every recording under way.
class Recording {
public:
    Recording();
    ~Recording() { finish(); }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    // No event is added once this has returned.
    const EventLog& finish();

private:
    std::size_t m_place;
    EventLog m_log;
};

// Called by recorders: adds the event to the recordings that it counts for.
// Signal safety: no lock, no allocation but by mmap().
void note(const Event& event) noexcept;

}  // namespace hearth::watch
