#include "terminal/text.hpp"

#include <fmt/format.h>
#if defined(HEARTH_HAVE_UTF8PROC)
#include <utf8proc.h>
#endif

#include <iterator>

namespace hearth::cli {

namespace {

bool is_continuation(char byte)
{
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

bool is_harmful(char32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) ||  // C0, DEL, C1
           (c >= 0x200B && c <= 0x200F) ||         // zero width, direction marks
           (c >= 0x2028 && c <= 0x202E) ||         // line separators, direction overrides
           (c >= 0x2060 && c <= 0x206F) ||         // invisible operators, direction isolates
           c == 0xFEFF || (c >= 0xE0000 && c <= 0xE0FFF);
}

std::size_t columns_of(char32_t c)
{
#if defined(HEARTH_HAVE_UTF8PROC)
    return static_cast<std::size_t>(::utf8proc_charwidth(static_cast<utf8proc_int32_t>(c)));
#else
    return c == 0 ? 0 : 1;  // wide characters count as one, so their columns are not aligned
#endif
}

}  // namespace

Character first_character(std::string_view text)
{
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80)
        return {lead, 1, true};
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    const Character broken{lead, 1, false};
    if (lead < 0xC2 || lead > 0xF4 || text.size() < length)
        return broken;
    char32_t value = lead & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if (!is_continuation(text[i]))
            return broken;
        value = (value << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
    }
    const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (overlong || surrogate || value > 0x10FFFF)
        return broken;
    return {value, length, true};
}

std::string printable(std::string_view text)
{
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const Character c = first_character(text);
        if (c.valid && !is_harmful(c.value))
            shown += text.substr(0, c.length);
        else if (c.value == '\n')
            shown += "\\n";
        else if (c.value == '\t')
            shown += "\\t";
        else if (c.length == 1)
            fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<unsigned>(c.value));
        else
            fmt::format_to(std::back_inserter(shown), "\\u{:04x}", static_cast<unsigned>(c.value));
        text.remove_prefix(c.length);
    }
    return shown;
}

std::string in_quotes(std::string_view text)
{
    return fmt::format("\"{}\"", printable(text));
}

std::size_t columns(std::string_view printable_text)
{
    std::size_t total = 0;
    while (!printable_text.empty()) {
        const Character c = first_character(printable_text);
        total += columns_of(c.value);
        printable_text.remove_prefix(c.length);
    }
    return total;
}

std::string shortened(std::string_view printable_text, std::size_t limit)
{
    constexpr std::string_view k_dots = "...";
    if (columns(printable_text) <= limit)
        return std::string(printable_text);
    const std::size_t room = limit > k_dots.size() ? limit - k_dots.size() : 0;
    std::size_t taken = 0;
    std::size_t end = 0;
    while (end < printable_text.size()) {
        const Character c = first_character(printable_text.substr(end));
        if (taken + columns_of(c.value) > room)
            break;
        taken += columns_of(c.value);
        end += c.length;
    }
    return std::string(printable_text.substr(0, end)).append(k_dots);
}

}  // namespace hearth::cli
