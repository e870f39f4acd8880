#pragma once

#include "hearth/tier.hpp"
#include "process/stop_signals.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace hearth::cli {

enum class Wanted : unsigned char { no, yes };
// With JSON, a program reads the output, and needs no bar.
inline Wanted unless(bool json)
{
    return json ? Wanted::no : Wanted::yes;
}

// A line on standard error that says how far a long operation has come, and is gone when it ends.
// Shown only on a terminal that is not dumb, and only once the operation has taken a moment. Lives as long as the
// operation.
class ProgressBar {
public:
    ProgressBar(std::string what, Wanted wanted);
    ~ProgressBar();
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    // A function to give to the cache; it refers to this object. It ends the operation once a StopSignals has noted a
    // signal.
    Progress report();
    bool ended_the_work() const { return m_ended; }

private:
    void update(std::uint64_t done, std::uint64_t total);

    std::string m_what;
    bool m_on = false;
    bool m_drawn = false;
    bool m_ended = false;
    std::chrono::steady_clock::time_point m_next;
};

// Calls `work`, which is given the Progress to report to, and returns what it returns. A signal that would end this
// process ends the work in order instead, so that it removes its temporaries, and then the command.
template <class Work>
auto with_progress(std::string what, Wanted wanted, const Work& work)
{
    const StopSignals signals;
    ProgressBar bar(std::move(what), wanted);
    auto result = work(bar.report());
    if (bar.ended_the_work())
        stop_if_told();
    return result;
}

}  // namespace hearth::cli
