#include "base/clock.hpp"

namespace hearth::base {

const Clock& system_clock()
{
    struct System final : Clock {
        WallTime now() const override { return std::chrono::system_clock::now(); }
    };
    static const System clock;
    return clock;
}

}  // namespace hearth::base
