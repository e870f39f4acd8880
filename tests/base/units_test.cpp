#include "hearth/units.hpp"

#include "hearth/bytes.hpp"

#include <gtest/gtest.h>
#include <initializer_list>
#include <string>

namespace hearth::test {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

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
    EXPECT_EQ(parse_duration("0"), milliseconds(0));
    EXPECT_EQ(parse_duration("90"), seconds(90));
    EXPECT_EQ(parse_duration("90s"), seconds(90));
    EXPECT_EQ(parse_duration("250ms"), milliseconds(250));
    EXPECT_EQ(parse_duration("2m"), seconds(120));
    EXPECT_EQ(parse_duration("12h"), hours(12));
    EXPECT_EQ(parse_duration("30d"), hours(24 * 30));
    EXPECT_EQ(parse_duration("1w"), hours(24 * 7));
    EXPECT_EQ(parse_duration("1.5h"), seconds(5400));
    EXPECT_EQ(parse_duration("0.25s"), milliseconds(250));
    EXPECT_EQ(parse_duration("5 m"), seconds(300));
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
    EXPECT_EQ(format_size(0), "0 B");
    EXPECT_EQ(format_size(512), "512 B");
    EXPECT_EQ(format_size(1023), "1023 B");
    EXPECT_EQ(format_size(1024), "1 KiB");
    EXPECT_EQ(format_size(1536), "1.5 KiB");
    EXPECT_EQ(format_size(1536_MiB), "1.5 GiB");
    EXPECT_EQ(format_size(10_GiB), "10 GiB");
    EXPECT_EQ(format_size(1_MiB - 1), "1 MiB");  // and not "1024 KiB"
    EXPECT_EQ(format_size(1024 * 1024_GiB), "1 PiB");
    EXPECT_EQ(format_size(UINT64_MAX), "16384 PiB");
}

TEST(Units, durations_are_shown_in_the_largest_unit_that_holds_them_exactly)
{
    EXPECT_EQ(format_duration(milliseconds(0)), "0");
    EXPECT_EQ(format_duration(milliseconds(250)), "250ms");
    EXPECT_EQ(format_duration(seconds(90)), "90s");
    EXPECT_EQ(format_duration(seconds(120)), "2m");
    EXPECT_EQ(format_duration(hours(36)), "36h");
    EXPECT_EQ(format_duration(hours(24 * 30)), "30d");
}

TEST(Units, what_is_shown_can_be_read_back)
{
    for (const std::uint64_t size :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1023}, 64_MiB, 256_MiB, 10_GiB, 1536_MiB})
        EXPECT_EQ(parse_size(format_size(size)), size) << format_size(size);
    for (const milliseconds duration : {milliseconds(0), milliseconds(1), milliseconds(1500), milliseconds(60000),
                                        milliseconds(3600000), milliseconds(604800000), milliseconds(86400001)})
        EXPECT_EQ(parse_duration(format_duration(duration)), duration) << format_duration(duration);
}

}  // namespace hearth::test
