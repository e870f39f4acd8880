#include "compilers/common/source_words.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace hearth::compilers {

Joined join_lines(std::string_view source)
{
    Joined joined;
    joined.is_clear = source.find("?\?") == std::string_view::npos;  // trigraphs
    joined.text.reserve(source.size());
    std::size_t from = 0;
    for (std::size_t at = source.find('\\'); at != std::string_view::npos; at = source.find('\\', at + 1)) {
        const std::string_view behind = without_blanks(source.substr(at + 1));
        if (!behind.starts_with('\n'))
            continue;
        joined.is_clear &= source[at + 1] == '\n';
        joined.text.append(source, from, at - from);
        at = static_cast<std::size_t>(behind.data() - source.data());
        from = at + 1;
    }
    joined.text.append(source, from);
    // Some compilers take this for the end of a continued line.
    static constexpr std::string_view k_trigraph = "?\?/\n";
    if (const std::string text = joined.text; text.find(k_trigraph) != std::string::npos) {
        joined.text.clear();
        from = 0;
        for (std::size_t at = text.find(k_trigraph); at != std::string::npos; at = text.find(k_trigraph, from)) {
            joined.text.append(text, from, at - from);
            from = at + k_trigraph.size();
        }
        joined.text.append(text, from);
    }
    return joined;
}

namespace {

// Whether a comment's mark can only stand behind the name that is included.
bool is_include_before_comment(std::string_view directive)
{
    for (const std::string_view name : {"include_next", "include"})
        if (directive.starts_with(name)) {
            directive = without_blanks(directive.substr(name.size()));
            break;
        }
    const char close = directive.starts_with('<') ? '>' : directive.starts_with('"') ? '"' : '\0';
    const std::size_t end = directive.find(close, 1);
    return close != '\0' && end != std::string_view::npos && directive.find("/*") > end;
}

// Names of files and free text follow some directives, in which a quote or a comment's mark may be none.
bool has_doubtful_directive(std::string_view text)
{
    while (!text.empty()) {
        std::string_view line = without_blanks(base::take_until('\n', text));
        if ((!line.starts_with('#') && !line.starts_with("%:")) || line.find("/*") == std::string_view::npos)
            continue;
        line = without_blanks(line.substr(line.starts_with('#') ? 1 : 2));
        static constexpr std::array<std::string_view, 6> k_plain{"if", "elif", "else", "endif", "define", "undef"};
        const bool plain =
            std::ranges::any_of(k_plain, [&](std::string_view name) { return line.starts_with(name); }) ||
            is_include_before_comment(line);
        if (!plain || line.find("__has_") != std::string_view::npos)
            return true;
    }
    return false;
}

// Behind the number that begins at `at`: digits may be parted by quotes.
std::size_t end_of_number(std::string_view text, std::size_t at)
{
    while (at < text.size() && (is_word(text[at]) || text[at] == '.' ||
                                (text[at] == '\'' && at + 1 < text.size() && is_word(text[at + 1]))))
        ++at;
    return at;
}

// Behind the literal whose quote is at `at`. None if it does not end in its line.
std::optional<std::size_t> end_of_literal(std::string_view text, std::size_t at)
{
    const char quote = text[at++];
    while (at < text.size() && text[at] != quote && text[at] != '\n')
        at += text[at] == '\\' && at + 1 < text.size() && text[at + 1] != '\n' ? 2 : 1;
    return at < text.size() && text[at] == quote ? std::optional(at + 1) : std::nullopt;
}

}  // namespace

std::string code_only(const std::string& joined)
{
    const std::string_view text = joined;
    std::string code = joined;
    // What a raw string holds follows other rules.
    if (text.find("R\"") != std::string_view::npos || has_doubtful_directive(text))
        return code;
    const auto blank = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i)
            if (code[i] != '\n')
                code[i] = ' ';
        return to;
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view rest = text.substr(at);
        if (base::is_digit(rest[0])) {
            at = end_of_number(text, at);
        } else if (is_word(rest[0])) {
            while (at < text.size() && is_word(text[at]))
                ++at;
        } else if (rest.starts_with("//")) {
            at = blank(at, std::min(text.find('\n', at), text.size()));
        } else if (rest.starts_with("/*")) {
            const std::size_t end = text.find("*/", at + 2);
            if (end == std::string_view::npos)
                return joined;  // is an error, if it is a comment
            at = blank(at, end + 2);
        } else if (rest[0] == '"' || rest[0] == '\'') {
            const std::optional<std::size_t> end = end_of_literal(text, at);
            if (!end)
                return joined;
            at = blank(at, *end);
        } else {
            ++at;
        }
    }
    return code;
}

}  // namespace hearth::compilers
