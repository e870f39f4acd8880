#include "lexer.hpp"

#include <algorithm>
#include <array>

namespace eph {

namespace {

constexpr std::array<std::string_view, 10> k_keywords{"import", "export", "fn",     "let",  "if",
                                                      "else",   "while",  "return", "true", "false"};
constexpr std::array<std::string_view, 7> k_long_symbols{"->", "==", "!=", "<=", ">=", "&&", "||"};
constexpr std::string_view k_symbols = "(){},:;.=+-*/%<>!";

// Not those of <cctype>, which ask the locale.
bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool starts_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::size_t digits_in(std::string_view text)
{
    return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
}

std::string shown(char c)
{
    if (c >= ' ' && c <= '~')
        return std::string("\"") + c + '"';
    constexpr std::string_view k_hex = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    return std::string("The byte 0x") + k_hex[byte >> 4U] + k_hex[byte & 15U];
}

}  // namespace

void Lexer::skip_blanks()
{
    while (m_at < m_source.size()) {
        const char c = m_source[m_at];
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
            ++m_at;
        else if (m_source.substr(m_at).starts_with("//"))
            m_at = std::min(m_source.find('\n', m_at), m_source.size());
        else
            break;
    }
}

Token Lexer::take(Token::Kind kind, std::size_t length)
{
    const Token token{kind, m_source.substr(m_at, length), static_cast<Offset>(m_at)};
    m_at += length;
    return token;
}

Token Lexer::number()
{
    const std::string_view rest = m_source.substr(m_at);
    std::size_t length = digits_in(rest);
    if (rest.size() < length + 2 || rest[length] != '.' || !is_digit(rest[length + 1]))
        return take(Token::Kind::integer, length);
    length += 1 + digits_in(rest.substr(length + 1));
    if (length < rest.size() && rest[length] == 'e') {
        const bool is_signed = length + 1 < rest.size() && (rest[length + 1] == '-' || rest[length + 1] == '+');
        const std::size_t exponent = length + (is_signed ? 2 : 1);
        if (exponent < rest.size() && is_digit(rest[exponent]))
            length = exponent + digits_in(rest.substr(exponent));
    }
    return take(Token::Kind::real, length);
}

Token Lexer::next()
{
    skip_blanks();
    if (m_at == m_source.size())
        return take(Token::Kind::end, 0);
    const std::string_view rest = m_source.substr(m_at);
    if (starts_name(rest.front())) {
        const auto end =
            std::find_if_not(rest.begin(), rest.end(), [](char c) { return starts_name(c) || is_digit(c); });
        const auto length = static_cast<std::size_t>(end - rest.begin());
        const bool keyword =
            std::find(k_keywords.begin(), k_keywords.end(), rest.substr(0, length)) != k_keywords.end();
        return take(keyword ? Token::Kind::keyword : Token::Kind::name, length);
    }
    if (is_digit(rest.front()))
        return number();
    if (std::find(k_long_symbols.begin(), k_long_symbols.end(), rest.substr(0, 2)) != k_long_symbols.end())
        return take(Token::Kind::symbol, 2);
    if (k_symbols.find(rest.front()) != std::string_view::npos)
        return take(Token::Kind::symbol, 1);
    throw CompileError{static_cast<Offset>(m_at), shown(rest.front()) + " means nothing here."};
}

void Lexer::skip_block(const Token& open)
{
    std::size_t depth = 1;
    for (std::size_t at = m_at; at < m_source.size(); ++at) {
        const char c = m_source[at];
        if (c == '{') {
            ++depth;
        } else if (c == '}' && --depth == 0) {
            m_at = at + 1;
            return;
        } else if (c == '/' && m_source.substr(at).starts_with("//")) {
            at = std::min(m_source.find('\n', at), m_source.size());
        }
    }
    throw CompileError{open.at, "This \"{\" is never closed."};
}

}  // namespace eph
