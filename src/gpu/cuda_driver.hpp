#pragma once

#include "hearth/result.hpp"

#include <string>

namespace hearth::gpu {

// What NVRTC calls the architecture of a GPU of this machine: "sm_90".
Result<std::string> target_of_device(int ordinal);

}  // namespace hearth::gpu
