#pragma once

namespace hearth::cli {

// Only what nobody else wants of processor and disk from now on: for this thread, and for those and the processes that
// it starts.
void step_back();

}  // namespace hearth::cli
