#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace eph {

// Where something stands in a source, in bytes from its start. Lines are counted only once there is an error.
using Offset = std::uint32_t;

// What the compiler has against a source. Thrown by its stages and caught where they are put together (compile.cpp), so
// that none of them needs a way out of every function.
struct CompileError {
    Offset at = 0;
    std::string message;  // a sentence
};

// main.eph:3:14: error: There is no variable "x" here.
std::string describe(const CompileError& error, std::string_view file, std::string_view source);

}  // namespace eph
