#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <thread>

namespace hearth::cli {

// While one lives, signals that would end this process (SIGINT, SIGTERM, SIGHUP) are noted instead, so that workers and
// temporary files are cleared away first. Make it before those, so that it outlives them. One inside another does
// nothing. Most commands get one from with_progress().
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

// While one lives, these signals end this process at once, with the exit code that goes with them. For compiles, which
// cannot be stopped in order: NVRTC installs handlers of its own, and turns a signal into a compile error. So the
// signals are blocked in this thread and in those that it starts, and one thread waits for them. Make it before other
// threads are started, and let what is written meanwhile be something that others clear away.
class EndedBySignals {
public:
    EndedBySignals();
    ~EndedBySignals();
    EndedBySignals(const EndedBySignals&) = delete;
    EndedBySignals& operator=(const EndedBySignals&) = delete;

private:
    HeldStopSignals m_held;
    sigset_t m_obeyed{};  // those that this process was not started to ignore, as nohup does
    std::thread m_waiting;
};

// The signal that was noted; 0: none.
int told_to_stop();
// If a signal was noted, fails with a sentence and the exit code that goes with it.
void stop_if_told();

}  // namespace hearth::cli
