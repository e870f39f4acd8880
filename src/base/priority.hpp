#pragma once

namespace hearth::base {

// From now on the calling thread uses the processor and the disk only when nobody else wants them. If the system does
// not grant that, nothing changes.
void step_back();

}  // namespace hearth::base
