#pragma once

#include "hearth/bytes.hpp"

#include <span>
#include <string>
#include <string_view>

namespace hearth::base {

std::string to_hex(ByteView bytes);
// Fills `out` from exactly twice as many digits of either case; false when `hex` is anything else.
bool from_hex(std::string_view hex, std::span<std::uint8_t> out);

}  // namespace hearth::base
