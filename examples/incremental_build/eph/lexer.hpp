#pragma once

#include "error.hpp"

#include <cstdint>
#include <string_view>

namespace eph {

struct Token {
    enum class Kind : std::uint8_t { end, name, keyword, integer, real, symbol };

    Kind kind = Kind::end;
    std::string_view text;  // a part of the source
    Offset at = 0;
};

// Cuts a source into tokens, one at a time. Blanks and comments (from // to the end of the line) part them.
// Ownership: the source has to outlive the lexer and its tokens.
class Lexer {
public:
    explicit Lexer(std::string_view source) : m_source(source) {}

    // Token::Kind::end for ever, once the source is at its end.
    Token next();

    // Goes on behind the brace that closes `open`, the token that next() has just given. A tenth of what reading the
    // tokens between costs: interfaces are read this way.
    void skip_block(const Token& open);

private:
    void skip_blanks();
    Token take(Token::Kind kind, std::size_t length);
    Token number();

    std::string_view m_source;
    std::size_t m_at = 0;
};

}  // namespace eph
