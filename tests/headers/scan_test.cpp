#include "headers/scan.hpp"

#include <gtest/gtest.h>

namespace hearth::headers {

namespace {

using Form = Include::Form;

std::vector<Include> includes_of(std::string_view source)
{
    return scan(join_lines(source)).includes;
}

TEST(Scan, finds_quoted_and_angled_includes)
{
    EXPECT_EQ(includes_of("#include \"a.h\"\n#include <b/c.h>\n"),
              (std::vector<Include>{{Form::quoted, false, "a.h"}, {Form::angled, false, "b/c.h"}}));
}

TEST(Scan, finds_an_include_however_it_is_written)
{
    for (const char* source : {
             "#include<a.h>",
             "  #  include   <a.h>",
             "#include <a.h> // why",
             "#/* one */include/* two */<a.h>",
             "/* a comment */ #include <a.h>",
             "/* over\n lines */ #include <a.h>",
             "#inc\\\nlude <a.h>",
             "#include \\\n <a.h>",
             "# \\\r\n include <a.h>",
             "#include \\  \n<a.h>",
             "%:include <a.h>",
             "?\?=include <a.h>",
             "#import <a.h>",
             "\t#\tinclude\t<a.h>\r\n",
             "#if 0\n#include <a.h>\n#endif",
             "// #include <a.h>",
             "const char* s = R\"(\n#include <a.h>\n)\";",
             "#if __has_include(<a.h>)",
             "#if defined(X) && __has_include ( <a.h> )",
         })
        EXPECT_EQ(includes_of(source), (std::vector<Include>{{Form::angled, false, "a.h"}})) << source;
}

TEST(Scan, include_next_is_told_apart)
{
    EXPECT_EQ(includes_of("#include_next <a.h>"), (std::vector<Include>{{Form::angled, true, "a.h"}}));
}

TEST(Scan, an_include_of_a_macro_is_computed)
{
    EXPECT_EQ(includes_of("#include HEADER // why\n"), (std::vector<Include>{{Form::computed, false, "HEADER"}}));
    EXPECT_EQ(includes_of("#include NAME(x)\n"), (std::vector<Include>{{Form::computed, false, "NAME(x)"}}));
    EXPECT_EQ(includes_of("#if __has_include(HEADER)"), (std::vector<Include>{{Form::computed, false, "HEADER"}}));
}

TEST(Scan, what_never_ends_is_no_include_and_no_harm)
{
    for (const char* source : {"#include \"a.h\n", "#include <a.h", "#include", "#", "#include /* never closed",
                               "#define", "#define X(", "__has_include(", "__has_include(<a", "\\", "#define X \"open"})
        for (const Include& include : includes_of(source))
            EXPECT_EQ(include.form, Form::computed) << source;
}

TEST(Scan, finds_every_definition_of_a_macro)
{
    const Scan found = scan(join_lines("#define A <a.h> // why\n"
                                       "#ifdef X\n#define A /* or */ \"b.h\"\n#endif\n"
                                       "#define F(x, y) x \\\n ## y\n"
                                       "#define EMPTY\n"
                                       "#define URL \"http://x\" // rest\n"));
    ASSERT_EQ(found.macros.size(), 5U);
    EXPECT_EQ(found.macros[0].body, "<a.h>");
    EXPECT_EQ(found.macros[1].body, "\"b.h\"");
    EXPECT_TRUE(found.macros[2].takes_arguments);
    EXPECT_EQ(found.macros[2].parameters, (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(found.macros[2].body, "x  ## y");
    EXPECT_EQ(found.macros[3].body, "");
    EXPECT_EQ(found.macros[4].body, "\"http://x\"");
}

TEST(Scan, notices_the_clock_and_embedded_files)
{
    for (const char* source : {"auto t = __TIME__;", "__DATE__", "#line 1 __TIMESTAMP__"})
        EXPECT_TRUE(scan(source).varies) << source;
    EXPECT_FALSE(scan("int time_of_day;").varies);
    EXPECT_TRUE(scan("#embed \"data.bin\"").embeds);
    EXPECT_FALSE(scan("#include <a.h>").embeds);
}

TEST(Scan, identifiers_are_words_and_not_the_ends_of_numbers)
{
    std::vector<std::string> words;
    for_each_identifier("a1 0xFF 12u _b+c$ \"d\"", [&](std::string_view word) { words.emplace_back(word); });
    EXPECT_EQ(words, (std::vector<std::string>{"a1", "_b", "c$", "d"}));
}

}  // namespace

}  // namespace hearth::headers
