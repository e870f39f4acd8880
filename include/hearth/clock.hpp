#pragma once

#include <chrono>

namespace hearth {

using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;

// Tells the time. Tests hand in one they can set.
class Clock {
public:
    virtual ~Clock() = default;
    virtual WallTime now() const = 0;
};

}  // namespace hearth
