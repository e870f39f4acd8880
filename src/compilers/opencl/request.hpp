#pragma once

#include "hearth/opencl.hpp"

#include <string>

namespace hearth::opencl {

// The options as clBuildProgram takes them.
std::string joined_options(const Source& source);

}  // namespace hearth::opencl
