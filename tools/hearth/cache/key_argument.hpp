#pragma once

#include "hearth/key.hpp"

#include <cstddef>
#include <string_view>

namespace hearth::cli {

// The key that a word on the command line names. 64 hexadecimal digits are the key itself, and then the request is not
// known. Any other bytes are a text whose request is ("user", text).
Request exact_key(std::string_view text);

// Fewer digits than this could be a word as well as the beginning of a key.
inline constexpr std::size_t k_shortest_prefix = 8;
bool is_key_prefix(std::string_view text);
bool begins_with(const Key& key, std::string_view prefix);

}  // namespace hearth::cli
