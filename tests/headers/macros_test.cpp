#include "headers/macros.hpp"

#include <gtest/gtest.h>

namespace hearth::headers {

namespace {

Macros macros_of(std::string_view source)
{
    Macros macros;
    for (const Macro& macro : scan(join_lines(source)).macros)
        macros.add(macro);
    return macros;
}

using Names = std::set<std::string>;

TEST(Macros, a_name_comes_to_every_header_it_was_ever_defined_as)
{
    const Macros macros = macros_of("#define H <a.h>\n#define H \"b.h\"\n#define G H\n");
    EXPECT_EQ(macros.expand("H"), (Names{"<a.h>", "\"b.h\""}));
    EXPECT_EQ(macros.expand("G"), (Names{"<a.h>", "\"b.h\""}));
}

TEST(Macros, parts_of_an_angled_name_are_expanded)
{
    const Macros macros = macros_of("#define SYSTEM cpp\n#define SYSTEM omp\n"
                                    "#define ROOT thrust/system/SYSTEM\n"
                                    "#define HEADER <ROOT/detail/sort.h>\n");
    const auto names = macros.expand("HEADER");
    ASSERT_TRUE(names);
    EXPECT_TRUE(names->contains("<thrust/system/cpp/detail/sort.h>"));
    EXPECT_TRUE(names->contains("<thrust/system/omp/detail/sort.h>"));
}

TEST(Macros, a_name_that_nobody_defines_comes_to_nothing)
{
    EXPECT_EQ(macros_of("").expand("UNKNOWN"), Names{});
    EXPECT_EQ(macros_of("#define A A\n").expand("A"), Names{});
    EXPECT_EQ(macros_of("#define A 1 + 2\n").expand("A"), Names{});
}

TEST(Macros, what_takes_arguments_or_pastes_cannot_be_told)
{
    EXPECT_FALSE(macros_of("#define F(x) <x.h>\n").expand("F(a)"));
    EXPECT_FALSE(macros_of("#define P <a ## b.h>\n").expand("P"));
    EXPECT_FALSE(macros_of("#define F(x) #x\n#define H F(a.h)\n").expand("H"));
    EXPECT_FALSE(macros_of("#define A B\n#define B A\n").expand("A")) << "never ends";
}

TEST(Macros, too_many_readings_cannot_be_told)
{
    std::string source = "#define H <A/A/A/A/A/A/A/A/A/x.h>\n";
    for (int i = 0; i < 10; ++i)
        source += "#define A a" + std::to_string(i) + "\n";
    EXPECT_FALSE(macros_of(source).expand("H"));
}

TEST(Macros, those_that_ask_for_headers_are_known)
{
    EXPECT_EQ(macros_of("#define HAS(x) __has_include(x)\n#define NOT(x) x\n").questions(),
              std::vector<std::string>{"HAS"});
}

}  // namespace

}  // namespace hearth::headers
