#pragma once

namespace hearth::base {

// How `hearth run` tells the library that meets compilers where they are started what to start in their place: the path
// of the command hearth.
inline constexpr const char* k_launch_variable = "HEARTH_LAUNCH";

}  // namespace hearth::base
