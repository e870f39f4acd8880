#include "base/clock.hpp"

namespace hearth::base {

const Clock& system_clock()
{
    struct System final : Clock {
        WallTime now() const override { return std::chrono::system_clock::now(); }
    };
    // Never destroyed: a drop-in library still works when the program's static objects are gone.
    static const System& clock = *new System;
    return clock;
}

}  // namespace hearth::base
