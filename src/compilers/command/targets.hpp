#pragma once

#include <string>
#include <vector>

namespace hearth::command {

// The GPUs that a command compiles for: "sm_90", or "sm_80,sm_90" if there are several. Empty: it names none.
std::string target_of(const std::vector<std::string>& words);

}  // namespace hearth::command
