#include "watch/source_file.hpp"

#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace hearth::test {

TEST(ReadingSources, gives_the_text_and_what_it_was_read_from)
{
    const ScratchDirectory scratch;
    for (const std::string text : {"", "int x;\n"}) {
        write_file(scratch / "a.h", text);
        const std::optional<watch::SourceFile> source = watch::read_source(scratch / "a.h");
        ASSERT_TRUE(source);
        EXPECT_EQ(source->text, text);
        EXPECT_EQ(source->identity.size, text.size());
    }
    EXPECT_FALSE(watch::read_source(scratch / "none"));
    EXPECT_FALSE(watch::read_source(scratch.path()));
}

TEST(ReadingSources, does_not_take_a_file_for_empty_that_only_says_so)
{
    struct stat found {};
    if (::stat("/proc/self/status", &found) != 0 || found.st_size != 0)
        GTEST_SKIP() << "there is no /proc here";
    EXPECT_FALSE(watch::read_source("/proc/self/status")) << "a compiler would read what is in it";
}

}  // namespace hearth::test
