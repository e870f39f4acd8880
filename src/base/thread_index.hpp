#pragma once

#include "base/of_thread.hpp"

#include <cstddef>

namespace hearth::base {

namespace detail {

std::size_t take_thread_number() noexcept;

}  // namespace detail

// A small number that no other living thread has, for per-thread counters in an array. The lowest free number is given
// first and a thread's number is free again when it ends, so numbers stay small.
inline std::size_t thread_index() noexcept
{
    const std::size_t number = detail::t_own.number;
    return number != 0 ? number - 1 : detail::take_thread_number();
}

}  // namespace hearth::base
