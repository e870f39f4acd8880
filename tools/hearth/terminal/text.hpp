#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth::cli {

// The first character of some bytes that are perhaps UTF-8. A byte that is not is a character of its own.
struct Character {
    char32_t value = 0;
    std::size_t length = 0;  // bytes it takes; at least 1
    bool valid = false;
};
Character first_character(std::string_view text);

// The text in a form that is safe on a terminal: control characters, characters that change the writing direction and
// bytes that are not UTF-8 appear as \n, \x1b or \u202e.
std::string printable(std::string_view text);

// The same between double quotes, for sentences.
std::string in_quotes(std::string_view text);

// Columns a printable text takes on a terminal.
std::size_t columns(std::string_view printable_text);

// Cut to at most `limit` columns; what was cut shows as three dots.
std::string shortened(std::string_view printable_text, std::size_t limit);

}  // namespace hearth::cli
