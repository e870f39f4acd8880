#pragma once

#include <cstddef>

namespace hearth::base {

namespace detail {

// One more than the thread's number; 0 until it has one. Initial-exec and constant-initialised, so that reading it is a
// load: it is read on every hit. The library takes a few such words, well within what the loader sets aside for
// libraries that are opened later.
extern thread_local constinit std::size_t t_thread_number __attribute__((tls_model("initial-exec")));
std::size_t take_thread_number() noexcept;

}  // namespace detail

// A small number that no other living thread has, for per-thread counters in an array. The lowest free number is given
// first and a thread's number is free again when it ends, so numbers stay small.
inline std::size_t thread_index() noexcept
{
    const std::size_t number = detail::t_thread_number;
    return number != 0 ? number - 1 : detail::take_thread_number();
}

}  // namespace hearth::base
