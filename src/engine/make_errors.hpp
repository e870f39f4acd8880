#pragma once

#include "hearth/result.hpp"

#include <chrono>
#include <fmt/format.h>

namespace hearth::engine {

inline Error out_of_time(std::chrono::milliseconds deadline)
{
    return {Code::timeout,
            fmt::format("Not made within {} ms. The make goes on and a later call will find it; raise the deadline to "
                        "wait for it.",
                        deadline.count()),
            {}};
}

inline Error closed()
{
    return {Code::unavailable, "The cache was closed before this was made.", {}};
}

}  // namespace hearth::engine
