#include "headers/scan.hpp"

#include <algorithm>
#include <cstring>

namespace hearth::headers {

namespace {

bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

// Reads directives in text whose lines are joined.
class Reader {
public:
    Reader(std::string_view text, Scan& scan) : m_text(text), m_scan(scan) {}

    // `at` is just after the directive's hash.
    void directive(std::size_t at)
    {
        m_at = at;
        skip_space();
        const std::string_view word = identifier();
        if (word == "include" || word == "include_next" || word == "import")
            include(word == "include_next");
        else if (word == "define")
            define();
        else if (word == "embed")
            m_scan.embeds = true;
    }

    // `at` is just after "__has_include" or "__has_include_next".
    void question(std::size_t at)
    {
        m_at = at;
        skip_space();
        if (m_at >= m_text.size() || m_text[m_at] != '(')
            return;
        ++m_at;
        skip_space();
        if (literal_name(false))
            return;
        const std::size_t close = m_text.find_first_of(")\n", m_at);
        add({Include::Form::computed, false, std::string(base::trimmed(m_text.substr(m_at, close - m_at)))});
    }

private:
    void add(Include include)
    {
        if (!include.name.empty())
            m_scan.includes.push_back(std::move(include));
    }

    // Skips blanks and block comments, which may span lines.
    void skip_space()
    {
        while (m_at < m_text.size()) {
            if (is_blank(m_text[m_at])) {
                ++m_at;
            } else if (m_text.substr(m_at, 2) == "/*") {
                const std::size_t end = m_text.find("*/", m_at + 2);
                if (end == std::string_view::npos)
                    return;
                m_at = end + 2;
            } else {
                return;
            }
        }
    }

    std::string_view identifier()
    {
        const std::size_t start = m_at;
        while (m_at < m_text.size() && is_word(m_text[m_at]))
            ++m_at;
        return m_text.substr(start, m_at - start);
    }

    bool literal_name(bool next)
    {
        if (m_at >= m_text.size() || (m_text[m_at] != '"' && m_text[m_at] != '<'))
            return false;
        const bool quoted = m_text[m_at] == '"';
        const std::size_t end = m_text.find_first_of(quoted ? "\"\n" : ">\n", m_at + 1);
        if (end == std::string_view::npos || m_text[end] == '\n')
            return false;
        add({quoted ? Include::Form::quoted : Include::Form::angled, next,
             std::string(m_text.substr(m_at + 1, end - m_at - 1))});
        m_at = end + 1;
        return true;
    }

    void include(bool next)
    {
        skip_space();
        if (!literal_name(next))
            add({Include::Form::computed, next, rest_of_line()});
    }

    // To the end of the line, without comments.
    std::string rest_of_line()
    {
        std::string rest;
        while (m_at < m_text.size() && m_text[m_at] != '\n') {
            const char c = m_text[m_at];
            if (m_text.substr(m_at, 2) == "//")
                break;
            if (m_text.substr(m_at, 2) == "/*") {
                const std::size_t before = m_at;
                skip_space();
                rest += ' ';
                if (m_at == before)
                    break;  // never closed
                continue;
            }
            rest += c;
            ++m_at;
            if (c != '"' && c != '\'')
                continue;
            while (m_at < m_text.size() && m_text[m_at] != '\n') {
                rest += m_text[m_at];
                const bool escape = m_text[m_at] == '\\' && m_at + 1 < m_text.size() && m_text[m_at + 1] != '\n';
                if (escape)
                    rest += m_text[++m_at];
                const bool closed = !escape && m_text[m_at] == c;
                ++m_at;
                if (closed)
                    break;
            }
        }
        return std::string(base::trimmed(rest));
    }

    void define()
    {
        skip_space();
        Macro macro;
        macro.name = identifier();
        if (macro.name.empty())
            return;
        if (m_at < m_text.size() && m_text[m_at] == '(') {
            macro.takes_arguments = true;
            const std::size_t close = m_text.find_first_of(")\n", ++m_at);
            const std::string_view list = m_text.substr(m_at, close - m_at);
            for_each_identifier(list, [&](std::string_view name) { macro.parameters.emplace_back(name); });
            m_at = close == std::string_view::npos ? m_text.size() : close + (m_text[close] == ')' ? 1 : 0);
        }
        macro.body = rest_of_line();
        m_scan.macros.push_back(std::move(macro));
    }

    std::string_view m_text;
    Scan& m_scan;
    std::size_t m_at = 0;
};

template <class Visit>
void for_each_place(std::string_view text, std::string_view what, Visit&& visit)
{
    for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size()))
        visit(at + what.size());
}

}  // namespace

// Blanks between the backslash and the end of the line are allowed, as in some compilers. Joining two lines that are
// not continued hides nothing, since the scan does not depend on the beginning of a line.
std::string join_lines(std::string_view source)
{
    std::string out;
    out.reserve(source.size());
    std::size_t from = 0;
    for (std::size_t at = source.find('\\'); at != std::string_view::npos; at = source.find('\\', at + 1)) {
        std::size_t end = at + 1;
        while (end < source.size() && is_blank(source[end]))
            ++end;
        if (end >= source.size() || source[end] != '\n')
            continue;
        out.append(source, from, at - from);
        from = end + 1;
        at = end;
    }
    out.append(source, from);
    return out;
}

Scan scan(std::string_view joined)
{
    Scan result;
    Reader reader(joined, result);
    for (const std::string_view hash : {"#", "%:", "?\?="})
        for_each_place(joined, hash, [&](std::size_t behind) { reader.directive(behind); });
    for (const std::string_view question : {"__has_include", "__has_include_next"})
        for_each_place(joined, question, [&](std::size_t behind) { reader.question(behind); });
    for_each_place(joined, "__has_embed", [&](std::size_t) { result.embeds = true; });
    for (const std::string_view clock : {"__TIME__", "__DATE__", "__TIMESTAMP__"})
        result.varies |= joined.find(clock) != std::string_view::npos;
    return result;
}

}  // namespace hearth::headers
