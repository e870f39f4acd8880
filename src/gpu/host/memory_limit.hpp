#pragma once

#include <cstdint>
#include <string>

namespace hearth::gpu {

// The least that the control groups of this process allow it, its own and all above it; UINT64_MAX if they set no
// limit. `root` stands before the paths of the system's files; tests give one of their own.
std::uint64_t memory_limit_of_groups(const std::string& root = {});

}  // namespace hearth::gpu
