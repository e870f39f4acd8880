#include "hearth/units.hpp"

#include "hearth/bytes.hpp"

#include <gtest/gtest.h>
#include <initializer_list>
#include <string>
#include <utility>

namespace hearth::test {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

TEST(Units, sizes_are_powers_of_1024_whichever_way_they_are_written)
{
    EXPECT_EQ(parse_size("0"), 0U);
    EXPECT_EQ(parse_size("4096B"), 4096U);
    for (const char* text : {"10G", "10g", "10GB", "10GiB", "10gib", "10 GiB", "10.0G", "10  gb"})
        EXPECT_EQ(parse_size(text), 10_GiB) << text;
    EXPECT_EQ(parse_size("1.5GiB"), 1536_MiB);
    EXPECT_EQ(parse_size(".5K"), 512U);
    EXPECT_EQ(parse_size("512 MB"), 512_MiB);
    EXPECT_EQ(parse_size("1T"), 1024_GiB);
    EXPECT_EQ(parse_size("7P"), 7 * 1024 * 1024_GiB);
}

TEST(Units, what_is_no_size_is_none)
{
    const auto expect_none = [](std::initializer_list<const char*> texts) {
        for (const char* const text : texts)
            EXPECT_FALSE(parse_size(text)) << '"' << text << '"';
    };
    expect_none({"1", "10", "4096", "1073741824", "0.5", "10 "});  // which unit was meant?
    expect_none({"", " ", "G", "ten", "nan", "inf"});
    expect_none({"-1", "-1G", "+1", "0x10", "1,5G", "1e3", " 1", "1\n"});
    expect_none({"1X", "1GG", "1GiBs", "1iB", "1 G B", "1E", "1G\n"});
    expect_none({"8192P", "99999999999999999999999"});
    EXPECT_FALSE(parse_size(std::string_view("1\0", 2)));
    EXPECT_FALSE(parse_size(std::string(400, '9')));
}

TEST(Units, durations_have_units_and_a_bare_number_is_seconds)
{
    const std::pair<const char*, milliseconds> cases[] = {
        {"0", 0ms},        {"90", 90s},     {"90s", 90s},    {"250ms", 250ms}, {"2m", 2min}, {"12h", 12h},
        {"30d", 24h * 30}, {"1w", 24h * 7}, {"1.5h", 90min}, {"0.25s", 250ms}, {"5 m", 5min}};
    for (const auto& [text, duration] : cases)
        EXPECT_EQ(parse_duration(text), duration) << text;
}

TEST(Units, what_is_no_duration_is_none)
{
    for (const char* text :
         {"", "s", "-1s", "1y", "1min", "1H", "1hh", "1s2", "nan", "inf", " 1s", "1s ", "1000000000000w"})
        EXPECT_FALSE(parse_duration(text)) << '"' << text << '"';
    EXPECT_FALSE(parse_duration(std::string(400, '9')));
}

TEST(Units, sizes_are_shown_with_one_digit_where_it_says_something)
{
    const std::pair<std::uint64_t, const char*> cases[] = {{0, "0 B"},
                                                           {512, "512 B"},
                                                           {1023, "1023 B"},
                                                           {1024, "1 KiB"},
                                                           {1536, "1.5 KiB"},
                                                           {1536_MiB, "1.5 GiB"},
                                                           {10_GiB, "10 GiB"},
                                                           {1024 * 1024_GiB, "1 PiB"},
                                                           {UINT64_MAX, "16384 PiB"},
                                                           {1_MiB - 1, "1 MiB"}};  // and not "1024 KiB"
    for (const auto& [size, shown] : cases)
        EXPECT_EQ(format_size(size), shown);
}

TEST(Units, durations_are_shown_in_the_largest_unit_that_holds_them_exactly)
{
    const std::pair<milliseconds, const char*> cases[] = {{0ms, "0"},   {250ms, "250ms"}, {90s, "90s"},
                                                          {2min, "2m"}, {36h, "36h"},     {24h * 30, "30d"}};
    for (const auto& [duration, shown] : cases)
        EXPECT_EQ(format_duration(duration), shown);
}

TEST(Units, what_is_shown_can_be_read_back)
{
    for (const std::uint64_t size :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1023}, 64_MiB, 256_MiB, 10_GiB, 1536_MiB})
        EXPECT_EQ(parse_size(format_size(size)), size) << format_size(size);
    for (const milliseconds duration : {0ms, 1ms, 1500ms, 60'000ms, 3'600'000ms, 604'800'000ms, 86'400'001ms})
        EXPECT_EQ(parse_duration(format_duration(duration)), duration) << format_duration(duration);
}

}  // namespace hearth::test
