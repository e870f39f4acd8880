#include "base/clock.hpp"

#include "base/of_process.hpp"

#include <ctime>

namespace hearth::base {

const Clock& system_clock()
{
    struct System final : Clock {
        WallTime now() const override { return std::chrono::system_clock::now(); }
    };
    return of_process<System>();
}

WallTime coarse_time()
{
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return WallTime(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace hearth::base
