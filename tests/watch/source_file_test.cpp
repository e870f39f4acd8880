#include "watch/source_file.hpp"

#include "support/scratch_directory.hpp"

#include <cerrno>
#include <filesystem>
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

TEST(StatMany, tells_of_few_and_of_many_in_a_directory_what_stat_tells)
{
    const ScratchDirectory scratch;
    std::filesystem::create_directories(scratch / "d/sub");
    std::filesystem::create_directory_symlink(scratch / "d", scratch / "link");
    write_file(scratch / "file", "x");
    std::vector<std::string> paths{scratch / "d/sub", scratch / "file/x", scratch / "none/x", scratch / "d/"};
    for (int i = 0; i < 20; ++i) {
        write_file(scratch / ("d/" + std::to_string(i)), std::string(static_cast<std::size_t>(i), 'x'));
        for (const char* directory : {"d/", "link/", "d/absent", "none/", "file/"})
            paths.push_back(scratch / (directory + std::to_string(i)));
    }
    watch::StatMany stat_many;
    for (const std::string& path : paths) {
        struct stat one {};
        struct stat many {};
        const int error = ::stat(path.c_str(), &one) == 0 ? 0 : errno;
        ASSERT_EQ(stat_many(path, many), error) << path;
        if (error == 0) {
            EXPECT_EQ(watch::identity_of(many), watch::identity_of(one)) << path;
        }
    }
}

}  // namespace hearth::test
