#include "base/wire.hpp"

#include "base/hex.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>

namespace hearth::test {

using base::WireReader;
using base::WireWriter;

TEST(Wire, integers_are_little_endian_whatever_the_machine)
{
    WireWriter out;
    out.number(std::uint8_t{0x01});
    out.number(std::uint16_t{0x0203});
    out.number(std::uint32_t{0x04050607});
    out.number(std::uint64_t{0x08090A0B0C0D0E0F});
    out.number(std::int32_t{-2});
    EXPECT_EQ(base::to_hex(out.view()), "010302070605040f0e0d0c0b0a0908feffffff");
}

TEST(Wire, the_ends_of_every_integer_come_back)
{
    const auto round_trip = []<class T>(T /*type*/) {
        for (const T value : {std::numeric_limits<T>::min(), T{0}, T{1}, std::numeric_limits<T>::max()}) {
            WireWriter out;
            out.number(value);
            EXPECT_EQ(out.size(), sizeof(T));
            WireReader in(out.view());
            EXPECT_EQ(in.number<T>(), value);
            EXPECT_TRUE(in.at_end());
            EXPECT_FALSE(in.failed());
        }
    };
    round_trip(std::uint8_t{});
    round_trip(std::int8_t{});
    round_trip(char{});
    round_trip(std::uint16_t{});
    round_trip(std::int16_t{});
    round_trip(std::uint32_t{});
    round_trip(std::int32_t{});
    round_trip(std::uint64_t{});
    round_trip(std::int64_t{});
}

TEST(Wire, values_come_back_in_their_order_and_every_cut_is_noticed)
{
    constexpr std::tuple k_numbers(std::uint8_t{0xFF}, std::uint16_t{0x8001}, std::uint32_t{0x80000001}, UINT64_MAX,
                                   std::int32_t{-2}, INT64_MIN);
    const std::string text(300, 't');
    WireWriter out;
    std::apply([&](auto... numbers) { (..., (out.number(numbers), out.prefixed<std::uint32_t>(text))); }, k_numbers);
    const auto read = [&](WireReader& in) {
        return std::apply(
            [&]<class... T>(T... numbers) {
                return (... && (in.number<T>() == numbers && in.prefixed<std::uint32_t>() == text));
            },
            k_numbers);
    };
    WireReader whole(out.view());
    EXPECT_TRUE(read(whole) && whole.at_end() && !whole.failed());
    for (std::size_t cut = 0; cut < out.size(); ++cut) {
        WireReader in(out.view().first(cut));
        EXPECT_TRUE(!read(in) && in.failed()) << cut;
    }
}

TEST(Wire, prefixed_text_comes_back_with_what_it_holds)
{
    WireWriter out;
    out.prefixed<std::uint16_t>(std::string_view("a\0b", 3));
    out.prefixed<std::uint64_t>("");
    out.prefixed<std::uint8_t>("last");
    WireReader in(out.view());
    EXPECT_EQ(in.prefixed<std::uint16_t>(), std::string_view("a\0b", 3));
    EXPECT_EQ(in.prefixed<std::uint64_t>(), "");
    EXPECT_EQ(in.rest(), 5U);
    EXPECT_EQ(in.prefixed<std::uint8_t>(), "last");
    EXPECT_TRUE(in.at_end());
    EXPECT_FALSE(in.failed());
}

TEST(Wire, reading_to_the_end_is_no_failure_and_past_it_gives_zeros_and_says_so)
{
    WireReader exact(as_bytes("abc"));
    EXPECT_EQ(as_text(exact.raw(3)), "abc");
    EXPECT_TRUE(exact.raw(0).empty());
    EXPECT_TRUE(exact.at_end() && !exact.failed());
    exact.raw(1);
    EXPECT_TRUE(exact.failed());
    WireReader in(as_bytes("\x01\x02\x03"));
    EXPECT_EQ(in.number<std::uint32_t>(), 0U);
    EXPECT_TRUE(in.failed());
    EXPECT_TRUE(in.at_end());
    EXPECT_EQ(in.number<std::uint8_t>(), 0U);  // what is left after a failure is not looked at either
    EXPECT_TRUE(in.raw(1).empty());
    EXPECT_TRUE(in.failed());
}

TEST(Wire, a_length_that_lies_reads_nothing)
{
    for (const std::uint64_t lie : {std::uint64_t{4}, std::uint64_t{1} << 32U, std::uint64_t{1} << 63U, UINT64_MAX}) {
        WireWriter out;
        out.number(lie);
        out.raw("abc");
        WireReader in(out.view());
        EXPECT_EQ(in.prefixed<std::uint64_t>(), "") << lie;
        EXPECT_TRUE(in.failed()) << lie;
    }
}

}  // namespace hearth::test
