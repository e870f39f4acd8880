#pragma once

#include "base/fork.hpp"
#include "engine/stack/tiers.hpp"
#include "engine/stats/counters.hpp"
#include "hearth/stats.hpp"

#include <atomic>
#include <string_view>
#include <vector>

namespace hearth::engine {

// The counts of this process, and their sum with the counts of other processes in the note beside the entries.
// Thread safety: all of it. A lock is held while the note is written.
class Statistics {
public:
    Statistics(const Tiers& tiers, const Counters& counters);

    Stats read(Scope scope);
    void reset();
    // Adds what was counted since the last time to the note.
    void write();
    // The same, at most once a second.
    void write_now_and_then(std::uint64_t now_ns);

private:
    Stats counted() const;
    void forget();

    const Tiers& m_tiers;
    const Counters& m_counters;
    std::vector<std::string_view> m_names;
    base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    Stats m_written;  // the part of our counts that is in the note already
    Stats m_base;     // our counts at the last reset
    std::atomic<std::uint64_t> m_due_ns{0};
    // The parent writes down what was counted before a fork.
    const base::ForkGuard m_fork_guard{[this] { forget(); }};
};

}  // namespace hearth::engine
