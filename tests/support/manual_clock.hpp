#pragma once

#include "hearth/tier.hpp"

#include <atomic>
#include <chrono>

namespace hearth::test {

// A clock that stands still until the test moves it, in either direction. Thread safety: all of it.
class ManualClock final : public Clock {
public:
    // A day in 2026, so that times read as times.
    static constexpr WallTime k_start{std::chrono::seconds(1'790'000'000)};

    WallTime now() const override { return m_now.load(); }
    void set(WallTime now) { m_now = now; }
    void advance(std::chrono::nanoseconds by) { m_now = m_now.load() + by; }

private:
    std::atomic<WallTime> m_now{k_start};
};

}  // namespace hearth::test
