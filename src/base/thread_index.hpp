#pragma once

#include <cstddef>

namespace hearth::base {

// A small number that no other living thread has, for per-thread counters in an array. The lowest free number is given
// first and a thread's number is free again when it ends, so numbers stay small.
std::size_t thread_index() noexcept;

}  // namespace hearth::base
