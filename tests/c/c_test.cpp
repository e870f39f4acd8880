// hearth.h as C programs see it. What they do is in client.c and misuse.c.
#include "support/process.hpp"
#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

extern "C" {  // as many do with a header of C
#include <hearth/hearth.h>
}

namespace hearth::test {

namespace {

std::set<std::string> functions_in(const std::string& text, const std::string& pattern)
{
    std::set<std::string> names;
    const std::regex wanted(pattern);
    for (std::sregex_iterator each(text.begin(), text.end(), wanted), end; each != end; ++each)
        names.insert((*each)[1]);
    return names;
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
    const ProcessResult result = run_process({HEARTH_C_MISUSE, scratch / "cache"});
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
    const ProcessResult layout = run_process({HEARTH_C_INTERFACE});
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
    EXPECT_EQ(functions_in(read_file(HEARTH_C_HEADER), "HEARTH_C_API [^;(]*?(hearth_\\w+)\\("),
              functions_in(symbols, " T (hearth_[a-z_]+)"));
}

}  // namespace hearth::test
