#include "base/text.hpp"

#include <array>
#include <gtest/gtest.h>

namespace hearth::base {

TEST(Text, blanks_at_the_ends_go)
{
    EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
    EXPECT_EQ(trimmed("a"), "a");
    EXPECT_EQ(trimmed(" \n "), "");
    EXPECT_EQ(trimmed(""), "");
    EXPECT_EQ(trimmed(" a\n", " \t"), "a\n") << "only those that are named";
}

TEST(Text, what_stands_before_a_separator_is_taken)
{
    std::string_view text = "a,,b";
    EXPECT_EQ(take_until(',', text), "a");
    EXPECT_EQ(take_until(',', text), "");
    EXPECT_EQ(take_until(',', text), "b");
    EXPECT_EQ(text, "");
    EXPECT_EQ(take_until(',', text), "");
}

TEST(Text, words_stand_between_blanks)
{
    EXPECT_EQ(words_of("  one two\tthree\n"), (std::vector<std::string_view>{"one", "two", "three"}));
    EXPECT_TRUE(words_of(" \n").empty());
}

TEST(Text, numbers_are_read_whole_or_not_at_all)
{
    EXPECT_EQ(parse_number<int>("-12"), -12);
    EXPECT_EQ(parse_number<std::uint8_t>("255"), 255);
    for (const char* text : {"", "256", "-1", "+1", " 1", "1 ", "1x", "x"})
        EXPECT_EQ(parse_number<std::uint8_t>(text), std::nullopt) << text;
}

TEST(Text, yes_and_no_have_four_words_each)
{
    for (const char* text : {"1", "on", "yes", "true", "True", "YES"})
        EXPECT_EQ(parse_bool(text), true) << text;
    for (const char* text : {"0", "off", "no", "false", "Off"})
        EXPECT_EQ(parse_bool(text), false) << text;
    for (const char* text : {"", "2", "ye", "maybe", " 1"})
        EXPECT_EQ(parse_bool(text), std::nullopt) << text;
}

TEST(Text, what_strangers_say_is_shown_printable_and_short)
{
    EXPECT_EQ(printable("a\x1b[31m\xff"), "a?[31m?");
    EXPECT_EQ(printable(std::string(1000, 'x')).size(), 203U);
}

TEST(Text, lists_read_as_in_a_sentence)
{
    constexpr std::array<std::string_view, 3> k_words = {"a", "b", "c"};
    EXPECT_EQ(listed(k_words), "a, b and c");
    EXPECT_EQ(listed(k_words, "or"), "a, b or c");
    EXPECT_EQ(listed(std::span(k_words).first(1)), "a");
    EXPECT_EQ(listed({}), "");
}

TEST(Text, a_slip_of_the_hand_is_told_from_another_word)
{
    constexpr std::array<std::string_view, 4> k_words = {"timeout", "connect-timeout", "queue", "ca"};
    EXPECT_EQ(closest("tiemout", k_words), "timeout");
    EXPECT_EQ(closest("connecttimeout", k_words), "connect-timeout");
    EXPECT_EQ(closest("que", k_words), "queue");
    EXPECT_EQ(closest("colour", k_words), "");
    EXPECT_EQ(closest("xy", k_words), "") << "nothing of it is right";
    EXPECT_EQ(closest(std::string(100'000, 'x'), k_words), "");
}

}  // namespace hearth::base
