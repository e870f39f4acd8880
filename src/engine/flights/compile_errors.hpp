#pragma once

#include "base/error.hpp"

#include <chrono>

namespace hearth::engine {

inline Error out_of_time(std::chrono::milliseconds deadline)
{
    return error(Code::timeout,
                 "Not compiled within {} ms. The compile goes on and a later call will find it; raise the deadline "
                 "(HEARTH_COMPILE_TIME_LIMIT, where none was given) to wait for it.",
                 deadline.count());
}

inline Error closed()
{
    return error(Code::unavailable, "The cache was closed before this was compiled.");
}

}  // namespace hearth::engine
