#include "eph/lexer.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace eph {
namespace {

using Kind = Token::Kind;

std::vector<Token> tokens_of(std::string_view source)
{
    Lexer lexer(source);
    std::vector<Token> tokens;
    for (Token token = lexer.next(); token.kind != Kind::end; token = lexer.next())
        tokens.push_back(token);
    return tokens;
}

std::vector<std::string> texts_of(std::string_view source)
{
    std::vector<std::string> texts;
    for (const Token& token : tokens_of(source))
        texts.emplace_back(token.text);
    return texts;
}

std::string error_of(std::string_view source)
{
    try {
        tokens_of(source);
    } catch (const CompileError& error) {
        return describe(error, "a.eph", source);
    }
    return {};
}

using Texts = std::vector<std::string>;

TEST(Lexer, the_longest_symbol_counts)
{
    EXPECT_EQ(texts_of("a<=b==c->d<-e!=!f&&g||h"),
              (Texts{"a", "<=", "b", "==", "c", "->", "d", "<", "-", "e", "!=", "!", "f", "&&", "g", "||", "h"}));
}

TEST(Lexer, keywords_are_no_names)
{
    const std::vector<Token> tokens = tokens_of("while whiled fn fn_");
    EXPECT_EQ(tokens[0].kind, Kind::keyword);
    EXPECT_EQ(tokens[1].kind, Kind::name);
    EXPECT_EQ(tokens[2].kind, Kind::keyword);
    EXPECT_EQ(tokens[3].kind, Kind::name);
}

TEST(Lexer, comments_and_blanks_part_tokens)
{
    EXPECT_EQ(texts_of("a// b {\n\tc\r\n//"), (Texts{"a", "c"}));
    EXPECT_TRUE(texts_of("").empty());
    EXPECT_TRUE(texts_of("  // only this").empty());
}

TEST(Lexer, a_number_with_a_point_and_digits_is_a_float)
{
    const std::vector<Token> tokens = tokens_of("12 1.5 2.25e-3 1.5e+10 7.x 3.0e 4e5");
    EXPECT_EQ(texts_of("12 1.5 2.25e-3 1.5e+10 7.x 3.0e 4e5"),
              (Texts{"12", "1.5", "2.25e-3", "1.5e+10", "7", ".", "x", "3.0", "e", "4", "e5"}));
    EXPECT_EQ(tokens[0].kind, Kind::integer);
    EXPECT_EQ(tokens[1].kind, Kind::real);
    EXPECT_EQ(tokens[4].kind, Kind::integer);
    EXPECT_EQ(tokens[7].kind, Kind::real);
}

TEST(Lexer, what_means_nothing_is_an_error_with_its_place)
{
    EXPECT_EQ(error_of("let a\n  = @;"), "a.eph:2:5: error: \"@\" means nothing here.");
    EXPECT_EQ(error_of("\xc3\xa4"), "a.eph:1:1: error: The byte 0xc3 means nothing here.");
    EXPECT_EQ(error_of("a & b"), "a.eph:1:3: error: \"&\" means nothing here.");
    EXPECT_EQ(error_of(std::string_view("a\0b", 3)), "a.eph:1:2: error: The byte 0x00 means nothing here.");
}

TEST(Lexer, skipping_a_block_ends_where_reading_it_would)
{
    const std::string source = "{ a { b } // } not this one\n / { c } } after";
    Lexer lexer(source);
    lexer.skip_block(lexer.next());
    EXPECT_EQ(lexer.next().text, "after");
}

TEST(Lexer, a_block_that_is_never_closed_is_an_error_at_its_start)
{
    for (const std::string source : {"{", "{ { }", "{ // }", "{ /", "{ //"}) {
        Lexer lexer(source);
        const Token open = lexer.next();
        EXPECT_THROW(lexer.skip_block(open), CompileError) << source;
    }
}

}  // namespace
}  // namespace eph
