#pragma once

#include "base/text.hpp"

#include <string>
#include <string_view>

// Sources as a compiler sees them before it knows anything about them.

namespace hearth::compilers {

// Bytes beyond ASCII are letters to a compiler. Numbers count as words: ## takes them too.
inline bool is_word(char c)
{
    return base::is_letter_or_digit(c) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

template <class Visit>
void for_each_word(std::string_view text, Visit&& visit)
{
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t start = i++;
        if (!is_word(text[start]))
            continue;
        while (i < text.size() && is_word(text[i]))
            ++i;
        visit(text.substr(start, i - start));
    }
}

struct Joined {
    std::string text;
    bool is_clear = true;  // every compiler joins these lines, and finds the same directives in them
};

// The text with its continued lines joined.
Joined join_lines(std::string_view source);

inline std::string_view without_blanks(std::string_view text)
{
    const std::size_t first = text.find_first_not_of(" \t\v\f\r");
    return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

// A text of joined lines with blanks for its comments and for what its literals hold, in which no compiler finds words.
// The whole text where compilers might not agree on that.
std::string code_only(const std::string& joined);

}  // namespace hearth::compilers
