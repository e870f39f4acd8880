#include "headers/callers.hpp"

#include <gtest/gtest.h>

namespace hearth::headers {

namespace {

using Words = Macros::Words;

// Where the word BUILTIN stands in a source.
std::optional<Words> lead(const std::string& source)
{
    const std::string code = code_only(source);
    return names_that_lead_to(code, code.find("BUILTIN"));
}

std::optional<Words> callers(const std::vector<std::string>& sources)
{
    Macros macros;
    std::vector<std::unordered_set<std::string_view>> words(sources.size());
    std::vector<Worded> texts;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        for (const Macro& macro : scan(sources[i]).macros)
            macros.add(macro);
        for_each_code_line(sources[i], [&](std::string_view line) {
            for_each_identifier(line, [&](std::string_view word) { words[i].insert(word); });
        });
        texts.push_back({sources[i], &words[i]});
    }
    return words_that_tell_the_caller(texts, macros, Mentions(macros));
}

TEST(Callers, a_default_argument_is_reached_by_the_name_of_its_function)
{
    EXPECT_EQ(lead("void log(int x, const char* file = BUILTIN());"), Words{"log"});
    EXPECT_EQ(lead("namespace a { class S { S f() {} S current(int a = f(1, 2), const char* file = BUILTIN()); }; }"),
              Words{"current"});
    EXPECT_EQ(lead("class Logger { static int f() {} void log(int x, const char* file = BUILTIN()); };"), Words{"log"});
    EXPECT_EQ(lead("class S { int x; [[nodiscard]] static constexpr S current(const char* file = BUILTIN()); };"),
              Words{"S"});
    EXPECT_EQ(lead("struct S { S(Loc where = Loc{BUILTIN(), 1}) {} };"), Words{"S"});
    EXPECT_EQ(lead("template <class T, class U = int> void log(T x, U y = U(BUILTIN()));"), Words{"log"});
}

TEST(Callers, what_is_used_in_a_body_is_used_where_it_stands)
{
    EXPECT_EQ(lead("inline const char* here() { return BUILTIN(); }"), Words{});
    EXPECT_EQ(lead("struct S { void f() const noexcept { int a = 1; if (a == 1) { log(BUILTIN()); } } };"), Words{});
    EXPECT_EQ(lead("const char* name = BUILTIN();"), Words{});
    EXPECT_EQ(lead("namespace n { int x = 1; void f(S s); BUILTIN b; }"), Words{});
    EXPECT_EQ(lead("void f() { for (int i = BUILTIN(); i < 3; ++i) {} }"), Words{});
}

TEST(Callers, classes_and_aliases_lead_to_what_they_are_made_of)
{
    EXPECT_EQ(lead("struct API Where final { const char* file = BUILTIN(); };"), Words{"Where"});
    EXPECT_EQ(lead("struct Where { const char* file{BUILTIN()}; };"), Words{"Where"});
    EXPECT_EQ(lead("struct Derived : public ns::BUILTIN { using Base::Base; };"), Words{"Derived"});
    EXPECT_EQ(lead("template <class T> class Holder { int x; BUILTIN member; };"), Words{"Holder"});
    EXPECT_EQ(lead("using Location = ns::BUILTIN;"), Words{"Location"});
    EXPECT_EQ(lead("typedef ns::BUILTIN Location;"), Words{"Location"});
    EXPECT_EQ(lead("class S { public: static S BUILTIN(int x); };"), Words{}) << "its own declaration";
}

TEST(Callers, what_has_no_name_cannot_be_told)
{
    EXPECT_FALSE(lead("auto f = [](const char* file = BUILTIN()) {};"));
    EXPECT_FALSE(lead("struct S { void operator()(const char* file = BUILTIN()); };"));
    EXPECT_FALSE(lead("struct S { bool operator+(const char* file = BUILTIN()); };"));
    EXPECT_FALSE(lead("template <auto Where = BUILTIN()> void f();"));
}

TEST(Callers, are_followed_from_function_to_function)
{
    EXPECT_EQ(callers({"#define FILE_OF_CALLER() __builtin_FILE()\n",
                       "struct location { static location current(const char* f = FILE_OF_CALLER()); };\n",
                       "void fail(int code, location l = location::current());\n#define CHECK(x) fail(x)\n",
                       "void g() { CHECK(1); }\n", "void h() { int nothing; }\n"}),
              (Words{"__builtin_FILE", "__builtin_FILE_NAME", "__builtin_source_location", "FILE_OF_CALLER", "location",
                     "fail", "CHECK"}));
}

TEST(Callers, a_macro_that_declares_whatever_it_is_given_cannot_be_followed)
{
    EXPECT_FALSE(callers({"#define LOGGER(name) void name(const char* f = __builtin_FILE())\n", "LOGGER(mine);\n"}));
    EXPECT_TRUE(
        callers({"#define WHERE const char* f = __builtin_FILE()\n", "void mine(int x, WHERE);\n"})->contains("mine"));
}

TEST(Callers, what_would_take_too_long_cannot_be_told)
{
    std::string many;
    for (int i = 0; i < 1000; ++i)
        many += "int x = __builtin_FILE();\n";
    EXPECT_TRUE(callers({many}));
    std::string nested(200'000, '(');
    for (int i = 0; i < 1000; ++i)
        nested += " __builtin_FILE() +";
    EXPECT_FALSE(callers({nested}));
    std::string chain = "void f0(int x = __builtin_FILE());\n";
    for (int i = 1; i < 100; ++i)
        chain += "void f" + std::to_string(i) + "(int x = f" + std::to_string(i - 1) + "());\n";
    EXPECT_FALSE(callers({chain}));
}

TEST(Callers, comments_strings_and_directives_are_no_code)
{
    EXPECT_EQ(code_only("a /* b\n c */ d // e\n\"f\\\"g\" 'h' 1'000 R\"x(i\")x\" j\n#define k /* l\n m */ n\n"),
              "a     \n      d     \n           1'000 R         j\n              \n      n\n");
}

}  // namespace

}  // namespace hearth::headers
