#pragma once

#include "compilers/common/answer.hpp"
#include "hearth/opencl.hpp"

#include <string>

namespace hearth::opencl {

// What build() asks the cache. An Error if this is no program for the device.
Result<compilers::Question> question_of(const Device& device, const Source& source);

// The options as clBuildProgram takes them.
std::string joined_options(const Source& source);

}  // namespace hearth::opencl
