#include "base/placed_file.hpp"

#include "base/log_file.hpp"

#include "support/faulty_files.hpp"
#include "support/in_threads.hpp"
#include "support/scratch_directory.hpp"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

using base::PlacedFile;
using base::system_files;

class Placing : public testing::Test {
protected:
    Status put(const std::string& path, const std::string& text, base::Files& files = system_files()) const
    {
        PlacedFile file(files, path);
        file.write(as_bytes(text), 0);
        return file.place();
    }

    ScratchDirectory m_scratch;
    const std::string m_path = m_scratch / "file";
};

mode_t mode_of(const std::string& path)
{
    struct stat found {};
    EXPECT_EQ(::stat(path.c_str(), &found), 0);
    return found.st_mode & 0777U;
}

}  // namespace

TEST_F(Placing, leaves_what_is_there_until_the_new_one_is_whole)
{
    write_file(m_path, "old");
    {
        PlacedFile given_up(system_files(), m_path);
        given_up.write(as_bytes("new"), 0);
        EXPECT_EQ(read_file(m_path), "old");
    }
    EXPECT_EQ(read_file(m_path), "old");
    EXPECT_EQ(snapshot(m_scratch.path()).size(), 1U) << "one that is given up leaves nothing";
    PlacedFile file(system_files(), m_path);
    file.write(as_bytes("new and long"), 0);
    file.write(as_bytes("NEW"), 0);
    std::string text(3, '\0');
    file.read(text.data(), 3, 4);
    file.truncate(8);
    EXPECT_EQ(text, "and");
    ASSERT_TRUE(file.place().ok());
    EXPECT_EQ(read_file(m_path), "NEW and ");
    EXPECT_EQ(snapshot(m_scratch.path()).size(), 1U);
}

TEST_F(Placing, by_many_threads_at_once_never_meets_another)
{
    in_threads(8, [&](std::uint64_t i) {
        for (int round = 0; round < 50; ++round)
            EXPECT_TRUE(put(m_path, std::string(1000, static_cast<char>('a' + i))).ok());
    });
    const std::string last = read_file(m_path);
    EXPECT_EQ(last, std::string(1000, last.front())) << "one of them as a whole";
    EXPECT_EQ(snapshot(m_scratch.path()).size(), 1U);
}

TEST_F(Placing, that_fails_at_any_operation_puts_nothing_in_place_and_says_so)
{
    const std::uint64_t operations = [&] {
        FaultyFiles files({.error = ENOSPC});
        EXPECT_TRUE(put(m_scratch / "whole", "text", files).ok());
        return files.strikable();
    }();
    ASSERT_GE(operations, 2U);
    for (const int error : {ENOSPC, EIO})
        for (std::uint64_t first = 0; first < operations; ++first) {
            write_file(m_path, "old");
            FaultyFiles files({.error = error, .first = first, .times = Fault::k_once});
            const Status placed = put(m_path, "new", files);
            ASSERT_FALSE(placed.ok()) << first;
            EXPECT_EQ(placed.error().code, error == ENOSPC ? Code::no_space : Code::io);
            EXPECT_NE(placed.error().message.find(m_path), std::string::npos) << placed.error().message;
            EXPECT_EQ(read_file(m_path), "old");
            EXPECT_EQ(snapshot(m_scratch.path()).size(), 2U) << "nothing half-written is left";
        }
}

TEST_F(Placing, replaces_nothing_that_is_no_file)
{
    const std::string pipe = m_scratch / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const std::string folder = m_scratch / "folder";
    fs::create_directory(folder);
    const std::string link = m_scratch / "link";
    fs::create_symlink("/dev/null", link);
    for (const auto& [path, kind] : {std::pair{pipe, "a pipe"}, std::pair{folder, "a directory"},
                                     std::pair{link, "a device"}, std::pair{std::string("/dev/null"), "a device"}}) {
        const Status refused = put(path, "new");
        ASSERT_FALSE(refused.ok()) << path;
        EXPECT_EQ(refused.error().code, Code::invalid_argument);
        EXPECT_EQ(refused.error().message.find(path + " is " + kind), 0U) << refused.error().message;
    }
    EXPECT_TRUE(fs::is_fifo(pipe));
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(std::distance(fs::directory_iterator(m_scratch.path()), fs::directory_iterator()), 3);
}

TEST_F(Placing, through_a_link_leaves_the_link)
{
    fs::create_directory(m_scratch / "folder");
    fs::create_symlink("folder/real", m_path);
    for (const char* text : {"where nothing was", "and where something is"}) {
        ASSERT_TRUE(put(m_path, text).ok());
        EXPECT_TRUE(fs::is_symlink(m_path));
        EXPECT_EQ(read_file(m_scratch / "folder/real"), text);
    }
}

// In /tmp a neighbour may put one where a file is about to be made. The system would not follow it.
TEST_F(Placing, through_a_link_of_another_user_is_refused)
{
    fs::create_symlink("real", m_path);
    if (::lchown(m_path.c_str(), 65534, 65534) != 0)
        GTEST_SKIP() << "only root can give a link away";
    for (const bool is_there : {false, true}) {
        if (is_there)
            write_file(m_scratch / "real", "private");
        const Status put_there = put(m_path, "text");
        EXPECT_FALSE(put_there.ok());
        EXPECT_NE(put_there.error().message.find("link of another user"), std::string::npos);
        EXPECT_TRUE(fs::is_symlink(m_path));
        EXPECT_EQ(fs::exists(m_scratch / "real"), is_there);
    }
    // Nor through one of ours that leads to it.
    const std::string ours = m_scratch / "ours";
    fs::create_symlink("file", ours);
    EXPECT_FALSE(put(ours, "text").ok());
    EXPECT_EQ(base::open_log(ours, O_APPEND), -1);
    EXPECT_EQ(base::place_of(ours), std::nullopt);
    EXPECT_EQ(read_file(m_scratch / "real"), "private");
}

// A neighbour puts his link there and takes it away again, all the while.
TEST_F(Placing, follows_no_link_that_comes_and_goes)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give a link away";
    const std::string link = m_scratch / "aside";
    const std::string target = m_scratch / "private";
    std::atomic<bool> is_done{false};
    std::thread neighbour([&] {
        while (!is_done) {
            static_cast<void>(::symlink(target.c_str(), link.c_str()) == 0 &&
                              ::lchown(link.c_str(), 65534, 65534) == 0 && ::rename(link.c_str(), m_path.c_str()) == 0);
            ::unlink(m_path.c_str());
        }
    });
    for (int i = 0; i < 3000; ++i) {
        static_cast<void>(base::PlacedFile(system_files(), m_path).place(base::PlacedFile::Sync::no));
        if (const int log = base::open_log(m_path, O_CREAT); log >= 0)
            ::close(log);
    }
    is_done = true;
    neighbour.join();
    EXPECT_FALSE(fs::exists(m_scratch / "private"));
}

TEST_F(Placing, keeps_the_mode_of_what_was_there_but_not_of_another_users_file)
{
    ASSERT_TRUE(PlacedFile(system_files(), m_path, 0600).place().ok());
    EXPECT_EQ(mode_of(m_path), 0600U);
    ASSERT_TRUE(put(m_path, "new").ok());
    EXPECT_EQ(mode_of(m_path), 0600U);
    if (::chown(m_path.c_str(), 65534, 65534) != 0)
        GTEST_SKIP() << "only root can give a file away";
    ASSERT_EQ(::chmod(m_path.c_str(), 06777), 0);
    const mode_t mask = ::umask(0);
    EXPECT_TRUE(put(m_path, "ours").ok());
    ::umask(mask);
    EXPECT_EQ(mode_of(m_path), 0644U);
}

TEST_F(Placing, takes_names_as_long_as_a_file_system_does)
{
    const std::string path = m_scratch / std::string(255, 'n');
    ASSERT_TRUE(put(path, "text").ok());
    EXPECT_EQ(read_file(path), "text");
}

}  // namespace hearth::test
