#include "compilers/common/text_questions.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace hearth::test {

namespace {

using compilers::TextFacts;

compilers::TextAnswers ask(const std::vector<std::string>& sources, const std::vector<std::string>& options = {})
{
    std::vector<TextFacts> facts;
    for (const std::string& source : sources)
        facts.push_back(TextFacts::of_source(source));
    for (const std::string& option : options)
        facts.push_back(TextFacts::of_option(option));
    std::vector<compilers::SourceText> texts;
    for (std::size_t i = 0; i < facts.size(); ++i)
        texts.push_back({&facts[i], i < sources.size() ? sources[i] : options[i - sources.size()]});
    return compilers::ask_texts(texts);
}

bool tells_time(const std::string& source)
{
    return ask({source}).may_hold_the_time;
}

bool tells_path(const std::string& source)
{
    return ask({source}).may_hold_its_own_path.front();
}

TEST(TextQuestions, the_time_is_seen_wherever_it_can_come_from)
{
    for (const char* source :
         {"f(__TIME__);", "#define T __DATE__\n", "#define CAT(a, b) a##b\nCAT(__TI, ME__)",
          "#define CAT(a, b) a%:%:b\nCAT(__TI, ME__)", "#define C(a,b,c) a##b##c\n#define D(x) C(__, x, __)\nD(TIME)",
          "#define P(a,b,c,d,e,f,g,h) a##b##c##d##e##f##g##h\nP(_,_,T,I,M,E,_,_)", "__TI\\\nME__", "__TI?\?/\nME__",
          "/*\n#define */ __TIMESTAMP__"})
        EXPECT_TRUE(tells_time(source)) << source;
    EXPECT_TRUE(ask({"f(T);"}, {"-DT=__TIME__"}).may_hold_the_time);
    EXPECT_TRUE(ask({""}, {"k<__TIME__[7]>"}).may_hold_the_time);
    for (const char* source : {"int TIME;", "#define CAT(a, b) a##b\nCAT(x, y)", "int __TIME;"})
        EXPECT_FALSE(tells_time(source)) << source;
}

TEST(TextQuestions, words_of_comments_and_literals_are_no_pieces_but_code_behind_them_is)
{
    const std::string paste = "#define CAT(a, b) a##b\n";
    for (const char* source :
         {"CAT(x, y) /* TIME__ __ */", "CAT(x, \"__\") // TIME__\n", "CAT(x, y); char c = '\"'; /* __ TIME__ */"})
        EXPECT_FALSE(tells_time(paste + source)) << source;
    for (const char* source :
         {"\"/*\" CAT(__, TIME__) /* */", "L'\"' \"/*\"; CAT(__, TIME__)\n/**/", "'\\'' CAT(__, TIME__)",
          "\"\\\"/*\" CAT(__, TIME__)", "1'000 CAT(__, TIME__) '", "R\"(/*)\" CAT(__, TIME__)",
          "#include <a/*b>\nCAT(__, TIME__)\n/**/", "/* x\nCAT(__, TIME__)", "// \"\nCAT(__, TIME__) // \"",
          "/\\\n* */ CAT(__, TIME__)", "case'\"':\"//\" CAT(__, TIME__)", "don't \" CAT\n(__, TIME__)"})
        EXPECT_TRUE(tells_time(paste + source)) << source;
}

TEST(TextQuestions, a_texts_own_path_is_seen_wherever_it_can_come_from)
{
    for (const char* source :
         {"f(__FILE__);", "#define WHERE __FILE__\nf(WHERE);", "#define A __FILE__\n#define B A\nB", "assert(x);",
          "#define CAT(a, b) a##b\nCAT(__FI, LE__)", "#define LOG_IMPL __FILE__\n#define L(x) LOG_##x\nL(IMPL)",
          "/*\n#define X */ f(__FILE__);", "R\"(\n#define X )\" __FILE__", "#/**/define W __FILE__\nf(W)",
          "/*\n// */ f(__FILE__);", "R\"(\n// )\" __FILE__", "%:define W __FILE__\nf(W)",
          "#define W /*\n*/ __FILE__\nf(W)", "#define A \\\n __FILE__\nA", "#pragma message(__FILE__)",
          "#define A ?\?/\n __FILE__\nA", "/*\n# */ f(__FILE__);", "R\"(\n#)\" __FILE__;",
          "#define CAT(a, b) a##b\nCAT(a, ssert)(x);"})
        EXPECT_TRUE(tells_path(source)) << source;
    for (const char* source : {"#define WHERE __FILE__\n", "#ifdef __FILE__\n#undef __FILE__\n#endif", "int FILE;",
                               "#define L(x) y##x\nL(FILE)"})
        EXPECT_FALSE(tells_path(source)) << source;
}

TEST(TextQuestions, a_macro_counts_for_the_text_that_uses_it)
{
    const compilers::TextAnswers answers = ask({"f(WHERE);", "#define WHERE __FILE__\n", "int x;"});
    EXPECT_EQ(answers.may_hold_its_own_path, (std::vector<bool>{true, false, false}));
    EXPECT_EQ(ask({"f(W);"}, {"-DW=__FILE__"}).may_hold_its_own_path, (std::vector<bool>{true, false}));
}

TEST(TextQuestions, a_callers_path_counts_where_a_way_to_it_is_mentioned)
{
    // As in NVIDIA's C++ libraries.
    const std::string ours = "// SPDX: NVIDIA CORPORATION & AFFILIATES\n#define _CCCL_API\n";
    const std::string location = ours + "namespace n { class place { public: static place current(const char* f = "
                                        "__builtin_FILE()) { return place{f}; } }; }\n";
    const auto of_program = [&](const std::string& program, const std::string& more = "") {
        const compilers::TextAnswers answers = ask({program, location, ours + more});
        return answers.may_hold_any_path || answers.may_hold_its_own_path.front();
    };
    const std::string report = "void report(n::place where = n::place::current());\n";
    EXPECT_FALSE(of_program("kernel(1);"));
    EXPECT_TRUE(of_program("n::place::current();"));
    EXPECT_FALSE(of_program("x.current = 1;")) << "a word that others use too";
    EXPECT_FALSE(of_program("kernel(1);", report));
    EXPECT_TRUE(of_program("report();", report));
    EXPECT_FALSE(of_program("check();", report + "inline void check() { report(); }")) << "tells its own text's path";
    EXPECT_TRUE(of_program("check();", report + "inline void check(int = (report(), 1)) {}"));
    EXPECT_TRUE(of_program("f(S{1});", "struct S { S(int, n::place = n::place::current()); };\nvoid f(S);"));
    EXPECT_TRUE(of_program("LOG(1);", report + "#define LOG(x) report()"));
    EXPECT_TRUE(of_program("LOG(port);", report + "#define LOG(x) re##x()"));
    EXPECT_TRUE(of_program("h(1);", "template <class T> void h(T, n::place = n::place::current());"));
    EXPECT_TRUE(of_program("g();", "#define GLOB \"src/*.cu\"\nvoid g(n::place = n::place::current()); /* */"));
    // What has other forms cannot be told, so that every path counts.
    for (const char* form :
         {"using A = n::place;", "typedef n::place A;", "inline n::place here;", "struct S {n::place p;} s;",
          "struct S { friend void g(n::place = n::place::current()); };",
          "#ifdef X\nvoid f(int) {\n#else\nvoid f(long) {\n#endif\n}\nvoid g(n::place = n::place::current());",
          "int x = f(STR\"x\");\nvoid g(n::place = n::place::current());", "n::place (*get)();"})
        EXPECT_TRUE(of_program("int x;", form)) << form;
    // Nor is anything told of other texts.
    EXPECT_TRUE(ask({"int x;", "void f(const char* = __builtin_FILE());"}).may_hold_any_path);
    const std::string by_macro =
        "#define DEFINE(name) const char* name(const char* f = __builtin_FILE()) { return f; }\n";
    EXPECT_TRUE(ask({"where();", by_macro + "DEFINE(where)\n"}).may_hold_any_path);
    EXPECT_TRUE(ask({"Loc{}.f;", "typedef struct L { const char* f = __builtin_FILE(); } Loc;"}).may_hold_any_path);
    EXPECT_TRUE(ask({"int x;", location, "void f(n::place = n::place::current());"}).may_hold_any_path);
    EXPECT_FALSE(ask({"#define HERE() __builtin_FILE()\n", "int x;"}).may_hold_any_path) << "nobody uses it";
    EXPECT_TRUE(ask({"int x;", "#define HERE() __builtin_FILE()\nvoid f(const char* = HERE());"}).may_hold_any_path);
}

TEST(TextQuestions, lines_are_given_another_path_by_a_directive_and_by_nothing_else)
{
    for (const char* source : {"#line 1 \"x\"", "  # line 3", "# 1 \"x.cu\" 2", "%: line 4", "/* a */ #line 1",
                               "int x; /*\n*/ #line 1", "# /*\n*/ line 1", "#\\\nline 1"})
        EXPECT_TRUE(compilers::may_have_line_directive(source)) << source;
    for (const char* source :
         {"// issue #1234", "f(\"#1\");", "#define X 1", "int line;", "#if 1", "#pragma once", "#define PAIR(t) t##2"})
        EXPECT_FALSE(compilers::may_have_line_directive(source)) << source;
}

TEST(TextQuestions, a_path_can_be_named_by_a_text_that_has_all_its_words)
{
    const TextFacts facts = TextFacts::of_source("#define DIR /opt/inc\n#include STR(DIR/x.h)\n");
    const std::vector<compilers::SourceText> texts{{&facts, {}}};
    EXPECT_TRUE(compilers::may_name(texts, "/opt/inc"));
    EXPECT_FALSE(compilers::may_name(texts, "/opt/other"));
}

// Each of these took a time that grows with the square of its length, or the cube: hours for such lengths.
TEST(TextQuestions, texts_that_nobody_could_read_in_time_may_have_anything)
{
    const auto repeated = [](std::string_view part) {
        std::string text;
        while (text.size() < (std::size_t{512} << 10))
            text += part;
        return text;
    };
    for (const char* part : {"#define a ", "#/*", "/**/#include /*", "%:%:", "#define a /* /* "}) {
        const std::string source = repeated(part);
        EXPECT_TRUE(tells_time(source)) << part;
        static_cast<void>(compilers::may_have_line_directive(source));
    }
    EXPECT_FALSE(tells_time(repeated("#define a 1\n")));
    EXPECT_FALSE(tells_time("#define C(a, b) a##b\n#define " + repeated("a1") + " 1\n"));
    EXPECT_TRUE(tells_path("#define C(a, b) a##b\n#define " + repeated("a1") + " __FILE__\nC(a, 1)\n"));
    EXPECT_FALSE(tells_time(repeated("?\?/\n")));
}

}  // namespace

}  // namespace hearth::test
