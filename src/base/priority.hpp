#pragma once

namespace hearth::base {

// The calling thread takes only what nobody else wants of processor and disk from now on. What the system does not
// grant is left as it is.
void step_back();

}  // namespace hearth::base
