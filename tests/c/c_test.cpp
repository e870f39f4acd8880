// hearth.h as C programs see it. What they do is in client.c.
#include "support/process.hpp"
#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fmt/format.h>
#include <regex>
#include <set>
#include <vector>

extern "C" {  // as many do with a header of C
#include <hearth/hearth.h>
}

namespace hearth::test {

namespace {

// What the pattern's groups match, in its order.
std::vector<std::string> names_in(const std::string& text, const std::string& pattern)
{
    std::vector<std::string> names;
    const std::regex wanted(pattern);
    for (std::sregex_iterator each(text.begin(), text.end(), wanted), end; each != end; ++each)
        names.push_back((*each)[1].str() + (each->size() > 2 ? (*each)[2].str() : ""));
    return names;
}

std::set<std::string> functions_in(const std::string& text, const std::string& pattern)
{
    const std::vector<std::string> names = names_in(text, pattern);
    return {names.begin(), names.end()};
}

std::string header_without_comments()
{
    return std::regex_replace(read_file(HEARTH_INCLUDE "/hearth/hearth.h"),
                              std::regex("/\\*[^*]*\\*+([^/*][^*]*\\*+)*/"), "");
}

// A program that prints the values of the header's names, and where the members of its structs lie.
std::string layout_program(const std::string& header)
{
    std::string printed = "printf(\"hearth_status: %zu bytes\\n\", sizeof(hearth_status));\n";
    for (const std::string& name : names_in(header, "(HEARTH_\\w+) = \\d"))
        printed += fmt::format("printf(\"{0} = %d\\n\", (int){0});\n", name);
    for (const std::string& name : names_in(header, "typedef struct (hearth_\\w+) \\{")) {
        printed += fmt::format("printf(\"{0}: %zu bytes\\n\", sizeof({0}));\n", name);
        const std::size_t begin = header.find("typedef struct " + name + " {");
        const std::string body = header.substr(begin, header.find('}', begin) - begin);
        for (const std::string& member : names_in(body, "(\\w+)(?:\\[\\d+\\])?;|\\(\\*(\\w+)\\)"))
            printed += fmt::format("printf(\"{0}.{1}: at %zu, %zu bytes\\n\", offsetof({0}, {1}), "
                                   "sizeof((({0}*)0)->{1}));\n",
                                   name, member);
    }
    return "#include <hearth/hearth.h>\n#include <stdio.h>\nint main(void)\n{\n" + printed + "return 0;\n}\n";
}

}  // namespace

TEST(C, a_client_in_c99_gets_what_the_header_says)
{
    const ScratchDirectory scratch;
    const ProcessResult result = run_process({HEARTH_C_CLIENT, scratch / "cache"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(C, a_client_that_does_it_wrong_is_told_so_and_goes_on)
{
    const ScratchDirectory scratch;
    const ProcessResult result = run_process({HEARTH_C_CLIENT, scratch / "cache", "wrongly"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(C, the_header_can_be_included_inside_extern_c)
{
    const hearth_stats stats = HEARTH_INIT(hearth_stats);
    EXPECT_EQ(stats.size, sizeof stats);
    EXPECT_EQ(stats.hits, 0U);
}

// What programs rely on that were compiled before. A line that is new is added by HEARTH_WRITE_GOLDEN=1; one that would
// change, or go, breaks them: that takes a new version of the library.
TEST(C, what_compiled_programs_rely_on_stays_as_it_is)
{
    const ScratchDirectory scratch;
    write_file(scratch / "layout.c", layout_program(header_without_comments()));
    const ProcessResult built = run_process({HEARTH_CC, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
                                             "-I" HEARTH_INCLUDE, scratch / "layout.c", "-o", scratch / "layout"});
    ASSERT_EQ(built.exit_code, 0) << built.err;
    const ProcessResult layout = run_process({scratch / "layout"});
    ASSERT_EQ(layout.exit_code, 0) << layout.err;
    const ProcessResult symbols =
        run_process({HEARTH_NM, "-D", "--defined-only", "--with-symbol-versions", HEARTH_LIBRARY});
    ASSERT_EQ(symbols.exit_code, 0) << symbols.err;
    std::string now = layout.out;
    for (const std::string& function : functions_in(symbols.out, " T (hearth_\\S+)"))
        now += function + "\n";
    if (std::getenv("HEARTH_WRITE_GOLDEN") != nullptr)
        write_file(HEARTH_C_GOLDEN, now);
    EXPECT_EQ(now, read_file(HEARTH_C_GOLDEN));
}

TEST(C, every_function_that_the_header_declares_is_in_the_library_and_no_other)
{
    const std::string symbols = run_process({HEARTH_NM, "-D", "--defined-only", HEARTH_LIBRARY}).out;
    EXPECT_EQ(functions_in(header_without_comments(), "HEARTH_C_API [^;(]*?(hearth_\\w+)\\("),
              functions_in(symbols, " T (hearth_[a-z_]+)"));
}

}  // namespace hearth::test
