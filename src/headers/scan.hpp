#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::headers {

// A header that a source asks for, or asks whether it is there.
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

// Conservative: everything that could be a directive counts as one, also in comments, in strings and where a condition
// leaves it out. So what is found is a superset of what a compiler reads, never a subset.
Scan scan(std::string_view joined);

// Visits every line that is not a directive.
template <class Visit>
void for_each_code_line(std::string_view joined, Visit&& visit)
{
    while (!joined.empty()) {
        const std::string_view line = joined.substr(0, joined.find('\n'));
        joined.remove_prefix(std::min(joined.size(), line.size() + 1));
        const std::size_t first = line.find_first_not_of(" \t\v\f\r");
        if (first != std::string_view::npos && line[first] != '#')
            visit(line);
    }
}

// Visits every identifier, those in comments and strings too, as often as it stands there.
template <class Visit>
void for_each_identifier(std::string_view text, Visit&& visit)
{
    const auto starts = [](unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c >= 0x80;
    };
    const auto goes_on = [&](unsigned char c) { return starts(c) || (c >= '0' && c <= '9'); };
    for (std::size_t i = 0; i < text.size();) {
        if (!starts(static_cast<unsigned char>(text[i]))) {
            // A number such as 0x1F or 10u is not an identifier where it stops being digits.
            const bool number = text[i] >= '0' && text[i] <= '9';
            ++i;
            while (number && i < text.size() && goes_on(static_cast<unsigned char>(text[i])))
                ++i;
            continue;
        }
        const std::size_t start = i;
        while (i < text.size() && goes_on(static_cast<unsigned char>(text[i])))
            ++i;
        visit(text.substr(start, i - start));
    }
}

}  // namespace hearth::headers
