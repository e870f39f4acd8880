#pragma once

#include "hearth/cache.hpp"
#include "hearth/key.hpp"

#include <cstddef>
#include <string_view>

namespace hearth::cli {

// What people call an entry on the command line. 64 hexadecimal digits are the key itself; anything else, of any
// bytes, is a text whose request is ("user", text). A key's digits carry no request.
Request exact_key(std::string_view text);

// Fewer digits than this could be a word as well as the beginning of a key.
inline constexpr std::size_t k_shortest_prefix = 8;
bool is_key_prefix(std::string_view text);
bool begins_with(const Key& key, std::string_view prefix);

// What exact_key() says, or the beginning of an existing key, at least eight digits that only one entry starts with.
// A text that is stored as such comes first. Fails when several entries begin with it.
Key find_key(Cache& cache, std::string_view text);

inline constexpr const char* k_key_help =
    "Any text, or a key's 64 hexadecimal digits, or at least 8 of its first digits";

}  // namespace hearth::cli
