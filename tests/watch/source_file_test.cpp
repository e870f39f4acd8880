#include "watch/source_file.hpp"

#include "opens.hpp"
#include "support/eventually.hpp"
#include "support/scratch_directory.hpp"

#include <cerrno>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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

// A file of /proc says that it is empty, and a compiler would read what is in it.
TEST(ReadingSources, opens_nothing_but_regular_files_that_are_as_long_as_they_say)
{
    const ScratchDirectory scratch;
    ASSERT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
    ASSERT_EQ(::truncate((write_file(scratch / "sparse", ""), scratch / "sparse").c_str(), off_t{1} << 40), 0);
    for (const std::string& path : {scratch / "fifo", scratch / "sparse", scratch.path(), std::string("/dev/tty"),
                                    "/proc/" + std::to_string(::getpid()) + "/status"}) {
        const Opens opens(path);
        EXPECT_FALSE(watch::read_source(path)) << path;
        EXPECT_EQ(opens.count(), 0) << path;
    }
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

// A program's other threads would find that no more can be opened.
TEST(StatMany, holds_few_descriptors_however_many_directories_are_asked_about)
{
    const ScratchDirectory scratch;
    std::filesystem::create_directories(scratch / "d");
    write_file(scratch / "d/there", "x");
    const auto open_descriptors = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    const std::ptrdiff_t before = open_descriptors();
    {
        watch::StatMany stat_many;
        for (int again = 0; again < 2; ++again) {
            std::string directory = scratch / "d";
            for (int i = 0; i < 300; ++i, directory += "/.")
                for (int name = 0; name < 6; ++name) {
                    struct stat status {};
                    ASSERT_TRUE(stat_many.is_absent(directory + "/absent" + std::to_string(name))) << i;
                    ASSERT_EQ(stat_many(directory + "/there", status), 0) << i;
                    ASSERT_FALSE(stat_many.is_absent(directory + "/there")) << i;
                }
        }
        EXPECT_LE(open_descriptors() - before, 64);
    }
    EXPECT_EQ(open_descriptors(), before);
}

namespace {

constexpr std::int64_t k_at_once = 0;  // a directory is believed whenever it last changed

// Whenever it is asked: what was found before is known.
void expect_absent(const std::string& path, bool is_absent = true)
{
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(watch::StatMany(k_at_once).is_absent(path), is_absent) << path << i;
}

// Lets the directory change for all to see: times of files go on only every few milliseconds.
void change(const std::string& directory)
{
    struct stat before {};
    struct stat after {};
    ASSERT_EQ(::stat(directory.c_str(), &before), 0);
    EXPECT_TRUE(eventually("its times have gone on", [&] {
        write_file(directory + "/passing", "x");
        std::filesystem::remove(directory + "/passing");
        return ::stat(directory.c_str(), &after) == 0 && watch::identity_of(before) != watch::identity_of(after);
    }));
}

}  // namespace

TEST(AbsentNames, are_absent_until_something_appears)
{
    const ScratchDirectory scratch;
    std::filesystem::create_directories(scratch / "d");
    for (const char* name : {"d/a", "d/b", "d/c"}) {
        expect_absent(scratch / name);
        change(scratch / "d");
        write_file(scratch / name, "x");
        expect_absent(scratch / name, false);
    }
    std::filesystem::remove(scratch / "d/a");
    expect_absent(scratch / "d/a");
}

TEST(AbsentNames, are_not_believed_of_a_directory_that_changed_a_moment_ago)
{
    const ScratchDirectory scratch;
    for (int i = 0; i < 100; ++i) {
        const std::string name = scratch / std::to_string(i);
        for (int again = 0; again < 3; ++again)
            ASSERT_TRUE(watch::StatMany().is_absent(name));
        write_file(name, "x");  // mostly in the same tick of the clock that stamps the directory
        ASSERT_FALSE(watch::StatMany().is_absent(name)) << i;
    }
}

TEST(AbsentNames, are_not_names_of_links_that_lead_nowhere)
{
    const ScratchDirectory scratch;
    std::filesystem::create_directories(scratch / "d");
    std::filesystem::create_symlink(scratch / "target", scratch / "d/link");
    change(scratch / "d");
    expect_absent(scratch / "d/link");
    write_file(scratch / "target", "x");  // which does not change the link's directory
    expect_absent(scratch / "d/link", false);
}

TEST(AbsentNames, are_those_of_the_directory_that_is_at_the_path_now)
{
    const ScratchDirectory scratch;
    std::filesystem::create_directories(scratch / "one");
    std::filesystem::create_directories(scratch / "two");
    write_file(scratch / "two/a", "x");
    expect_absent(scratch / "one/a");
    std::filesystem::rename(scratch / "one", scratch / "away");
    expect_absent(scratch / "one/a");  // nor is there a directory
    std::filesystem::rename(scratch / "two", scratch / "one");
    expect_absent(scratch / "one/a", false);
}

// A link that leads elsewhere for a moment, and back: what was learnt there must not be believed of this one.
TEST(AbsentNames, are_learnt_of_one_directory_whatever_its_path_leads_to_meanwhile)
{
    const ScratchDirectory scratch;
    std::filesystem::create_directories(scratch / "a");
    std::filesystem::create_directories(scratch / "b");
    write_file(scratch / "a/x.h", "x");
    const std::string link = scratch / "include";
    const auto lead_to = [&](const char* target) {
        std::filesystem::remove(link);
        std::filesystem::create_directory_symlink(target, link);
    };
    lead_to("a");
    ASSERT_TRUE(watch::StatMany(k_at_once).is_absent(link + "/first"));
    {
        watch::StatMany checking(k_at_once);
        EXPECT_TRUE(checking.is_absent(link + "/first"));
        lead_to("b");
        static_cast<void>(checking.is_absent(link + "/x.h"));
        lead_to("a");
    }
    expect_absent(link + "/x.h", false);
}

TEST(AbsentNames, that_are_known_are_not_looked_for_again)
{
    watch::AbsentNames names;
    const watch::FileIdentity identity{1, 2, 3, 4, 5};
    EXPECT_FALSE(names.is_known("/d")) << "the first time nothing is worth keeping";
    EXPECT_TRUE(names.is_known("/d"));
    EXPECT_EQ(names.find("/d", identity), nullptr);
    names.add("/d", identity, {"a"});
    names.add("/d", identity, {"b"});
    ASSERT_NE(names.find("/d", identity), nullptr);
    EXPECT_EQ(*names.find("/d", identity), (watch::AbsentNames::Names{"a", "b"}));
    EXPECT_EQ(names.find("/d", {1, 2, 3, 4, 6}), nullptr) << "it has changed";
    names.add("/d", {1, 2, 3, 4, 6}, {"c"});
    EXPECT_EQ(*names.find("/d", {1, 2, 3, 4, 6}), watch::AbsentNames::Names{"c"});
}

}  // namespace hearth::test
