#include "json/json.hpp"

#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <clocale>
#include <cstdlib>
#include <gtest/gtest.h>

namespace hearth {
namespace {

using Kind = JsonValue::Kind;

TEST(Json, what_was_written_is_read_again)
{
    const std::string bytes("\x01 \"quoted\" \xc3\xa9 \\", 15);
    const Json written{
        {"text", bytes}, {"number", -2.5}, {"flag", true}, {"nothing", nullptr}, {"list", Json::array()}};
    const JsonValue read = JsonValue::parse(written.text());
    EXPECT_EQ(read.text_of("text"), bytes);
    EXPECT_EQ(read.number_of("number"), -2.5);
    EXPECT_EQ(read.find("flag")->text, "true");
    EXPECT_EQ(read.find("nothing")->kind, Kind::null);
    EXPECT_EQ(read.find("list")->kind, Kind::array);
}

// A locale with a decimal comma, made for this test.
class CommaLocale {
public:
    CommaLocale()
    {
        const std::string made = m_scratch / "de_DE.UTF-8";
        if (std::system(("localedef -i de_DE -f UTF-8 " + made + " >/dev/null 2>&1").c_str()) < 0)
            return;
        m_environment.set("LOCPATH", m_scratch.path());
        m_set = std::setlocale(LC_NUMERIC, "de_DE.UTF-8") != nullptr;
    }
    ~CommaLocale() { std::setlocale(LC_NUMERIC, "C"); }
    CommaLocale(const CommaLocale&) = delete;
    CommaLocale& operator=(const CommaLocale&) = delete;
    bool is_set() const { return m_set; }

private:
    test::ScratchDirectory m_scratch;
    test::IsolatedEnvironment m_environment;
    bool m_set = false;
};

TEST(Json, numbers_are_read_and_written_the_same_in_a_program_with_a_decimal_comma)
{
    const CommaLocale comma;
    if (!comma.is_set())
        GTEST_SKIP() << "localedef cannot make de_DE.UTF-8 here.";
    ASSERT_EQ(std::strtod("0,75", nullptr), 0.75);
    const Json written{{"ratio", 0.75}};
    EXPECT_EQ(written.text(), R"({"ratio":0.75})");
    EXPECT_EQ(JsonValue::parse(written.text()).number_of("ratio"), 0.75);
}

TEST(Json, text_is_one_line_of_ascii_whatever_bytes_it_holds)
{
    const std::string text = Json(std::string_view("\xff\n\x1b[31m\xc3\xa9")).text();
    for (const char c : text)
        EXPECT_TRUE(c >= ' ' && c <= '~') << text;
    EXPECT_EQ(JsonValue::parse(text).kind, Kind::string);
}

TEST(JsonValue, what_is_no_json_is_invalid_and_has_no_members)
{
    for (const char* text : {"", "{", "{\"a\": }", "nonsense", "{} {}", "// nothing"}) {
        const JsonValue read = JsonValue::parse(text);
        EXPECT_EQ(read.kind, Kind::invalid) << text;
        EXPECT_EQ(read.find("a"), nullptr);
        EXPECT_EQ(read.text_of("a"), "");
        EXPECT_EQ(read.number_of("a"), 0);
    }
}

TEST(JsonValue, comments_are_passed_over_only_where_that_was_asked_for)
{
    const char* const text = "{\"a\": 1 /* one */}";
    EXPECT_EQ(JsonValue::parse(text).kind, Kind::invalid);
    EXPECT_EQ(JsonValue::parse(text, JsonValue::Comments::passed_over).number_of("a"), 1);
}

TEST(JsonValue, a_member_of_another_kind_is_none)
{
    const JsonValue read = JsonValue::parse(R"({"text": 1, "number": "1"})");
    EXPECT_EQ(read.text_of("text"), "");
    EXPECT_EQ(read.number_of("number"), 0);
}

TEST(JsonValue, a_file_of_brackets_costs_no_stack)
{
    const JsonValue read = JsonValue::parse(std::string(500'000, '[') + std::string(500'000, ']'));
    std::size_t levels = 0;
    for (const JsonValue* at = &read; at != nullptr; at = at->elements.empty() ? nullptr : &at->elements[0])
        ++levels;
    EXPECT_GT(levels, 10U);
    EXPECT_LT(levels, 100U);
}

}  // namespace
}  // namespace hearth
