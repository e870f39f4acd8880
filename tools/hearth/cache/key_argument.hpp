#pragma once

#include "hearth/cache.hpp"
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

// What exact_key() says, or the only existing key that begins with the text, if that is at least eight digits.
// An entry stored under the text itself comes first. Fails if several keys begin with it.
Key find_key(Cache& cache, std::string_view text);

inline constexpr const char* k_key_help =
    "Any text, or a key's 64 hexadecimal digits, or at least 8 of its first digits";

}  // namespace hearth::cli
