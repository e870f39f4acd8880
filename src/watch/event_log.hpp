#pragma once

#include "watch/file_identity.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hearth::watch {

// What a compiler can ask the system.
enum class Asked : std::uint8_t {
    file,        // opened it to read
    status,      // whether it is there, and of what kind
    directory,   // which names are in it
    link,        // where a link leads
    real_path,   // what a path is without its links
    where,       // the working directory
    variable,    // of the environment
    library,     // loaded it
    unanswered,  // something whose answer cannot be held against a later one; `name` says what
};

// One question and its answer. The texts are those of the compiler: they live as long as the call.
struct Event {
    Asked asked = Asked::unanswered;
    int error = 0;              // errno; 0: it was answered
    std::uint32_t mode = 0;     // st_mode of a file that is there
    std::string_view name{};    // a path as it was given, or a variable
    std::string_view answer{};  // a link's target, a real path, a variable's value
    FileIdentity file{};        // at the moment of the call
    std::int64_t at_ns = 0;     // by the clock that stamps files; 0: when it is added
};

// The clock by which the kernel stamps files; it moves in ticks of some milliseconds.
std::int64_t stamping_clock() noexcept;

// What one compile asked, in the order in which it asked. Several threads may add; one reads, after they are done.
// Signal safety: add() takes no lock and allocates only by mmap(). Failure: without memory the log is incomplete, and
// says so.
class EventLog {
public:
    EventLog() = default;
    ~EventLog();
    EventLog(const EventLog&) = delete;
    EventLog& operator=(const EventLog&) = delete;

    void add(const Event& event) noexcept;
    void mark_incomplete() noexcept { m_incomplete.store(true, std::memory_order_relaxed); }
    bool is_complete() const noexcept { return !m_incomplete.load(std::memory_order_relaxed); }

    template <class Visit>
    void for_each(Visit visit) const
    {
        for (const Record* record = in_order(); record != nullptr; record = record->next)
            visit(record->event);
    }

private:
    // Followed by its texts.
    struct Record {
        Event event;
        Record* next = nullptr;  // the one before it, until they are put in order
    };
    struct Chunk {
        Chunk* before = nullptr;
        std::size_t size = 0;
        std::atomic<std::size_t> used{0};
    };

    void* take(std::size_t size) noexcept;
    const Record* in_order() const;

    std::atomic<Chunk*> m_chunk{nullptr};
    mutable std::atomic<Record*> m_last{nullptr};
    mutable const Record* m_first = nullptr;
    std::atomic<bool> m_incomplete{false};
};

}  // namespace hearth::watch
