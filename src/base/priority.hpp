#pragma once

#include <cstdint>

namespace hearth::base {

// Whether anybody will ever wait for what the thread does. Its priority cannot be raised again.
enum class Waited : std::uint8_t {
    never,       // it has the processor and the disk only when nobody else wants them
    at_the_end,  // it has a tenth of a core beside one busy thread, and the disk when nobody else wants it
};

// From now on the calling thread leaves processor and disk to others. If the system does not grant that, nothing
// changes.
void step_back(Waited waited = Waited::never);

}  // namespace hearth::base
