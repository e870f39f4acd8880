#include "base/hex.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace hearth::test {

TEST(Hex, every_byte_goes_there_and_back)
{
    std::string all;
    for (int byte = 0; byte < 256; ++byte)
        all += static_cast<char>(byte);
    const std::string hex = base::to_hex(as_bytes(all));
    EXPECT_EQ(hex.substr(0, 8), "00010203");
    EXPECT_EQ(hex.substr(504), "fcfdfeff");
    std::vector<std::uint8_t> back(256);
    ASSERT_TRUE(base::from_hex(hex, back));
    EXPECT_EQ(as_text(std::as_bytes(std::span(back))), all);
}

TEST(Hex, the_right_number_of_digits_of_either_case_is_read_and_nothing_else)
{
    std::array<std::uint8_t, 2> out{};
    ASSERT_TRUE(base::from_hex("aBcD", out));
    EXPECT_EQ(out, (std::array<std::uint8_t, 2>{0xAB, 0xCD}));
    for (const std::string_view text : {"", "123", "12345", "123g", "12 4", "-123", "0x12", "123\n", "\xC3\xA9zz"})
        EXPECT_FALSE(base::from_hex(text, out)) << text;
    EXPECT_FALSE(base::from_hex(std::string_view("12\0004", 4), out)) << "a zero byte among the digits";
    EXPECT_TRUE(base::from_hex("", std::span<std::uint8_t>{}));
}

TEST(Hex, every_character_beside_the_digits_is_refused)
{
    for (int c = 0; c < 256; ++c) {
        const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        std::array<std::uint8_t, 1> out{};
        EXPECT_EQ(base::from_hex(std::string{static_cast<char>(c), '0'}, out), digit) << c;
        EXPECT_EQ(base::from_hex(std::string{'0', static_cast<char>(c)}, out), digit) << c;
    }
}

}  // namespace hearth::test
