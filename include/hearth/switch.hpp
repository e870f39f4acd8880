#pragma once

#include <cstdint>

namespace hearth {

enum class Switch : std::uint8_t { off, on };

}  // namespace hearth
