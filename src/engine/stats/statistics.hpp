#pragma once

#include "base/fork.hpp"
#include "base/slow_mutex.hpp"
#include "engine/stack/tiers.hpp"
#include "engine/stats/counters.hpp"
#include "engine/stats/journal.hpp"
#include "hearth/clock.hpp"
#include "hearth/history.hpp"
#include "hearth/stats.hpp"

#include <atomic>
#include <string_view>
#include <vector>

namespace hearth::engine {

// The counts of this process, and their sum with the counts of other processes in the note beside the entries.
// Thread safety: all of it. While the note is read or written a mutex is held for which no fork waits.
class Statistics {
public:
    Statistics(const Tiers& tiers, const Counters& counters, Journal& journal, const Clock& clock);

    Stats read(Scope scope);
    std::vector<Period> history();
    std::vector<Event> events() const { return m_journal.read(m_tiers.keeper()); }
    void reset();
    // Adds what was counted and noted since the last time to the notes.
    void write();
    // The same, at most once a second.
    void write_now_and_then(std::uint64_t now_ns);

private:
    Stats counts() const;
    Stats counted() const;
    Stats since(const Stats& earlier);
    void forget();

    const Tiers& m_tiers;
    const Counters& m_counters;
    Journal& m_journal;
    const Clock& m_clock;
    std::vector<std::string_view> m_names;
    base::SlowMutex m_note;                                // held from what we know to what the note says
    base::ForkSafeMutex m_mutex{base::LockLevel::engine};  // guards the next two
    Stats m_written;                                       // the part of our counts that is in the note already
    Stats m_base;                                          // our counts at the last reset
    std::atomic<std::uint64_t> m_due_ns{0};
    // The parent writes down what was counted before a fork.
    const base::ForkGuard m_fork_guard{[this] { forget(); }};
};

}  // namespace hearth::engine
