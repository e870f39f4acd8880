#pragma once

#include "base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::headers {

// A header that a source includes, or whose existence it asks about.
struct Include {
    enum class Form : std::uint8_t {
        quoted,
        angled,
        computed,  // `name` is the text that macros turn into one of the others
    };
    Form form = Form::quoted;
    bool next = false;  // #include_next
    std::string name;

    friend bool operator==(const Include&, const Include&) = default;
};

struct Macro {
    std::string name;
    bool takes_arguments = false;
    std::vector<std::string> parameters;
    std::string body;  // without comments
};

// What a C++ source may read besides itself, found without preprocessing it.
struct Scan {
    std::vector<Include> includes;
    std::vector<Macro> macros;
    bool embeds = false;  // it has an #embed
    bool varies = false;  // it mentions the time or the date of the compile
};

// The text with its continued lines joined, which is what the functions below read.
std::string join_lines(std::string_view source);

// Everything that could be a directive counts as one, also in comments, in strings and in branches that a condition
// leaves out. So the result is a superset of what a compiler reads.
Scan scan(std::string_view joined);

// Visits every line that is not a directive.
template <class Visit>
void for_each_code_line(std::string_view joined, Visit&& visit)
{
    while (!joined.empty()) {
        const std::string_view line = base::take_until('\n', joined);
        const std::size_t first = line.find_first_not_of(" \t\v\f\r");
        if (first != std::string_view::npos && line[first] != '#')
            visit(line);
    }
}

// A character of an identifier, including digits. Bytes beyond ASCII are letters to a compiler.
inline bool is_word(char c)
{
    return base::is_letter_or_digit(c) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

// Visits every occurrence of every identifier, also in comments and strings.
template <class Visit>
void for_each_identifier(std::string_view text, Visit&& visit)
{
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t start = i++;
        if (!is_word(text[start]))
            continue;
        while (i < text.size() && is_word(text[i]))
            ++i;
        // The letters of a number such as 0x1F or 10u are not an identifier.
        if (!base::is_digit(text[start]))
            visit(text.substr(start, i - start));
    }
}

}  // namespace hearth::headers
