#pragma once

#include <array>
#include <csignal>
#include <cstddef>

namespace hearth::cli {

// While one lives, signals that would end this process (SIGINT, SIGTERM, SIGHUP) are noted instead, so that workers and
// scratch files are cleared away first. Make it before those, so that it outlives them. One inside another does
// nothing.
class StopSignals {
public:
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

private:
    static constexpr std::size_t k_signals = 3;
    std::array<struct sigaction, k_signals> m_before{};
};

// While one lives, these signals reach this thread only while it waits in ppoll() with the earlier mask.
class HeldStopSignals {
public:
    HeldStopSignals();
    ~HeldStopSignals();
    HeldStopSignals(const HeldStopSignals&) = delete;
    HeldStopSignals& operator=(const HeldStopSignals&) = delete;

    const sigset_t& mask_before() const { return m_mask; }

private:
    sigset_t m_mask{};
};

// The signal that was noted; 0: none.
int told_to_stop();
// If a signal was noted, fails with a sentence and the exit code that goes with it.
void stop_if_told();

}  // namespace hearth::cli
