#include "base/files.hpp"

#include "support/acting_as.hpp"
#include "support/faulty_files.hpp"
#include "support/scratch_directory.hpp"
#include "support/single_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

using base::system_files;

// Reads and writes a few bytes at a time, every other call interrupted, until a call it was told to fail.
class ChoppyFile final : public SingleFile {
public:
    ChoppyFile(std::string content, std::size_t chunk) : SingleFile(std::move(content)), m_chunk(chunk) {}

    void fail_call(int number, ssize_t result)
    {
        m_failing_call = number;
        m_failure = result;
    }
    int calls() const { return m_calls; }

    ssize_t pread(int fd, void* buffer, std::size_t size, std::uint64_t offset) override
    {
        const auto refused = next_call();
        return refused ? *refused : SingleFile::pread(fd, buffer, std::min(size, m_chunk), offset);
    }
    ssize_t pwrite(int fd, const void* buffer, std::size_t size, std::uint64_t offset) override
    {
        const auto refused = next_call();
        return refused ? *refused : SingleFile::pwrite(fd, buffer, std::min(size, m_chunk), offset);
    }

private:
    std::optional<ssize_t> next_call()
    {
        ++m_calls;
        if (m_calls == m_failing_call)
            return m_failure;
        if (m_calls % 2 == 1)
            return -EINTR;
        return std::nullopt;
    }

    std::size_t m_chunk;
    int m_calls = 0;
    int m_failing_call = 0;
    ssize_t m_failure = 0;
};

std::string counted(std::size_t size)
{
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        text[i] = static_cast<char>(i * 7 + i / 256);
    return text;
}

Bytes read(const std::string& path, std::uint64_t limit, int& error)
{
    return base::read_file(system_files(), path.c_str(), limit, error);
}

}  // namespace

TEST(Files, reading_and_writing_all_goes_on_after_short_calls_and_interruptions)
{
    const std::string content = counted(1000);
    for (const std::size_t chunk : {1U, 3U, 7U, 999U, 5000U}) {
        SCOPED_TRACE(chunk);
        ChoppyFile file(content, chunk);
        std::string buffer(600, '\0');
        EXPECT_EQ(base::read_exactly(file, 1, buffer.data(), buffer.size(), 300), 0);
        EXPECT_EQ(buffer, content.substr(300, 600));
        ChoppyFile written("", chunk);
        EXPECT_EQ(base::write_all(written, 1, as_bytes(content), 20), 0);
        EXPECT_EQ(written.content(), std::string(20, '\0') + content);
    }
}

TEST(Files, read_exactly_says_when_the_file_ends_early)
{
    ChoppyFile file(counted(100), 7);
    std::string buffer(100, '\0');
    for (const std::uint64_t offset : {1, 100, 1 << 20})
        EXPECT_EQ(base::read_exactly(file, 1, buffer.data(), buffer.size(), offset), -ENODATA) << offset;
}

TEST(Files, reading_and_writing_nothing_asks_for_nothing)
{
    ChoppyFile file("", 7);
    EXPECT_EQ(base::read_exactly(file, 1, nullptr, 0, 5), 0);
    EXPECT_EQ(base::write_all(file, 1, {}, 5), 0);
    EXPECT_EQ(file.calls(), 0);
}

TEST(Files, an_error_in_the_middle_ends_a_read_or_a_write_with_that_error)
{
    std::string buffer = counted(100);
    for (int call = 1; call < 10; ++call) {
        ChoppyFile reading(counted(100), 7);
        reading.fail_call(call, -EIO);
        EXPECT_EQ(base::read_exactly(reading, 1, buffer.data(), buffer.size(), 0), -EIO);
        EXPECT_EQ(reading.calls(), call);

        ChoppyFile writing("", 7);
        writing.fail_call(call, -EDQUOT);
        EXPECT_EQ(base::write_all(writing, 1, as_bytes(buffer), 0), -EDQUOT);
        EXPECT_EQ(writing.calls(), call);
    }
}

TEST(Files, a_write_that_takes_nothing_is_a_full_disk_and_no_endless_loop)
{
    ChoppyFile file("", 7);
    file.fail_call(4, 0);
    EXPECT_EQ(base::write_all(file, 1, as_bytes("forty-two bytes of text that never arrive."), 0), -ENOSPC);
}

TEST(Files, read_file_gives_the_whole_file_and_refuses_a_byte_more_than_the_limit)
{
    const ScratchDirectory scratch;
    const std::string path = scratch / "file";
    write_file(path, counted(5000));
    const std::size_t descriptors = open_descriptors();
    int error = 1;
    EXPECT_EQ(read(path, 5000, error).text(), counted(5000));
    EXPECT_EQ(error, 0);
    EXPECT_TRUE(read(path, 4999, error).empty());
    EXPECT_EQ(error, -EFBIG);

    write_file(path, "");
    EXPECT_TRUE(read(path, 0, error).empty());
    EXPECT_EQ(error, 0);

    // More than there is memory for.
    fs::resize_file(path, std::uintmax_t{1} << 40U);
    EXPECT_TRUE(read(path, 1 << 20, error).empty());
    EXPECT_EQ(error, -EFBIG);
    EXPECT_TRUE(read(scratch.path(), 100, error).empty());
    EXPECT_EQ(open_descriptors(), descriptors) << "none is left open";
}

TEST(Files, read_file_takes_no_fifo_link_directory_or_socket_for_a_file)
{
    const ScratchDirectory scratch;
    write_file(scratch / "file", "content");
    ASSERT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
    fs::create_symlink(scratch / "file", scratch / "link");
    fs::create_symlink(scratch / "nowhere", scratch / "dangling");
    fs::create_directory(scratch / "directory");
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string socket_path = scratch / "socket";
    ASSERT_LT(socket_path.size(), sizeof address.sun_path);
    std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size());
    ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);

    const auto error_of = [&](const char* name) {
        int error = 0;
        EXPECT_TRUE(read(scratch / name, 1 << 20, error).empty()) << name;
        return error;
    };
    EXPECT_EQ(error_of("fifo"), -EINVAL);  // and it returned: nobody writes to it
    EXPECT_EQ(error_of("link"), -ELOOP);
    EXPECT_EQ(error_of("dangling"), -ELOOP);
    EXPECT_EQ(error_of("directory"), -EISDIR);
    EXPECT_EQ(error_of("socket"), -ENXIO);
    EXPECT_EQ(error_of("missing"), -ENOENT);
    EXPECT_EQ(error_of("file/below"), -ENOTDIR);
    ::close(listener);
}

TEST(Files, make_directories_makes_the_missing_parents_with_the_mode_and_leaves_that_of_those_that_were_there)
{
    const ScratchDirectory scratch;
    constexpr fs::perms k_before = fs::perms::owner_all | fs::perms::group_read;
    fs::create_directory(scratch / "open");
    fs::permissions(scratch / "open", k_before);
    for (const char* name : {"open/a/b/c", "open/a/b/c", "open/a/b/c/d/", "open/x//y"})
        EXPECT_EQ(base::make_directories(system_files(), scratch / name, 0700), 0) << name;
    for (const char* name : {"open/a", "open/a/b", "open/a/b/c", "open/x/y"})
        EXPECT_EQ(fs::status(scratch / name).permissions(), fs::perms::owner_all) << name;
    EXPECT_EQ(fs::status(scratch / "open").permissions(), k_before);
}

TEST(Files, a_folder_for_several_users_passes_on_no_mode_before_it_has_its_own)
{
    // Another process, which looks at the moment between the two steps that it takes.
    class Watched final : public ForwardingFiles {
    public:
        explicit Watched(std::string path) : ForwardingFiles(system_files()), m_path(std::move(path)) {}
        int chmod(int fd, unsigned mode) override
        {
            seen.push_back(base::mode_for_sharing(system_files(), m_path));
            return ForwardingFiles::chmod(fd, mode);
        }
        std::vector<unsigned> seen;

    private:
        const std::string m_path;
    };
    const ScratchDirectory scratch;
    for (const mode_t mask : {0022, 0077}) {
        const WithUmask umask(mask);
        const std::string folder = scratch / ("of" + std::to_string(mask));
        Watched files(folder);
        EXPECT_EQ(base::make_directories(files, folder, 0777), 0);
        EXPECT_EQ(files.seen, std::vector<unsigned>{0777});
        EXPECT_EQ(base::mode_for_sharing(system_files(), folder), 0777U);
    }
    const std::string left = scratch / "left by one that was killed";
    ASSERT_EQ(::mkdir(left.c_str(), 01700), 0);
    EXPECT_EQ(base::make_directories(system_files(), left, 0770), 0);
    EXPECT_EQ(base::mode_for_sharing(system_files(), left), 0770U);
}

TEST(Files, make_directories_goes_through_a_link_to_a_directory_and_says_when_a_file_is_in_the_way)
{
    const ScratchDirectory scratch;
    write_file(scratch / "file", "content");
    for (const char* name : {"file", "file/below", "file/far/below"})
        EXPECT_EQ(base::make_directories(system_files(), scratch / name, 0700), -ENOTDIR) << name;
    EXPECT_EQ(read_file(scratch / "file"), "content");
    EXPECT_EQ(base::make_directories(system_files(), "", 0700), -ENOENT);

    fs::create_directory(scratch / "real");
    fs::create_directory_symlink(scratch / "real", scratch / "link");
    for (const char* name : {"link", "link/below"})
        EXPECT_EQ(base::make_directories(system_files(), scratch / name, 0700), 0) << name;
    EXPECT_TRUE(fs::is_directory(scratch / "real/below"));
}

TEST(Files, a_lock_is_exclusive_and_dies_with_its_descriptor)
{
    const ScratchDirectory scratch;
    const std::string path = scratch / "lock";
    base::Files& files = system_files();
    base::FileHandle first(files, files.open(path.c_str(), O_RDWR | O_CREAT, 0600));
    const base::FileHandle second(files, files.open(path.c_str(), O_RDWR, 0));
    ASSERT_TRUE(first.open() && second.open());
    EXPECT_EQ(files.try_lock(first.fd()), 0);
    EXPECT_EQ(files.try_lock(second.fd()), -EWOULDBLOCK);
    EXPECT_EQ(first.close(), 0);
    EXPECT_EQ(files.try_lock(second.fd()), 0);
}

TEST(Files, a_handle_is_moved_closed_once_and_keeps_its_error)
{
    const ScratchDirectory scratch;
    base::Files& files = system_files();
    base::FileHandle handle(files, files.open((scratch / "file").c_str(), O_RDWR | O_CREAT, 0600));
    const int fd = handle.fd();
    ASSERT_GE(fd, 0);
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    base::FileHandle moved(std::move(handle));
    EXPECT_EQ(moved.fd(), fd);
    base::FileHandle target;
    target = std::move(moved);
    EXPECT_EQ(target.close(), 0);
    EXPECT_EQ(target.close(), 0) << "once is enough";
    EXPECT_EQ(::fcntl(fd, F_GETFD), -1);

    const base::FileHandle missing(files, files.open((scratch / "missing").c_str(), O_RDONLY, 0));
    EXPECT_FALSE(missing.open());
    EXPECT_EQ(missing.error(), ENOENT);
}

TEST(Files, list_names_everything_but_the_directory_itself)
{
    const ScratchDirectory scratch;
    write_file(scratch / "one", "");
    write_file(scratch / ".hidden", "");
    fs::create_directory(scratch / "two");
    std::vector<std::string> names{"left over"};
    EXPECT_EQ(system_files().list(scratch.path().c_str(), names), 0);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{".hidden", "one", "two"}));
    EXPECT_EQ(system_files().list((scratch / "missing").c_str(), names), -ENOENT);
    EXPECT_TRUE(names.empty());
}

TEST(Files, stat_looks_at_a_link_and_not_through_it)
{
    const ScratchDirectory scratch;
    write_file(scratch / "file", "12345");
    fs::create_symlink(scratch / "file", scratch / "link");
    base::FileStat stat;
    EXPECT_EQ(system_files().stat((scratch / "file").c_str(), stat), 0);
    EXPECT_EQ(stat.type, base::FileType::file);
    EXPECT_EQ(stat.size, 5U);
    EXPECT_EQ(stat.links, 1U);
    EXPECT_EQ(stat.owner, ::geteuid());
    EXPECT_EQ(system_files().stat((scratch / "link").c_str(), stat), 0);
    EXPECT_EQ(stat.type, base::FileType::other);
    EXPECT_EQ(system_files().stat(scratch.path().c_str(), stat), 0);
    EXPECT_EQ(stat.type, base::FileType::directory);
}

TEST(Files, an_error_is_described_with_action_path_reason_and_number)
{
    EXPECT_EQ(base::describe("open", "/x/y", -ENOENT), "open /x/y: No such file or directory (2)");
    EXPECT_EQ(base::describe("open", "/x/y", ENOENT), "open /x/y: No such file or directory (2)");
}

TEST(RealPath, follows_links_to_what_is_not_there_yet)
{
    const ScratchDirectory scratch;
    const std::string here = fs::canonical(scratch.path()).string();
    fs::create_directory(scratch / "folder");
    fs::create_symlink("folder/later", scratch / "link");
    fs::create_symlink(here + "/link", scratch / "to-the-link");
    for (const char* name : {"/link", "/to-the-link"})
        EXPECT_EQ(base::real_path(here + name), here + "/folder/later");
    write_file(scratch / "folder/later", "");
    EXPECT_EQ(base::real_path(here + "/to-the-link"), here + "/folder/later");
    EXPECT_EQ(base::real_path(here + "/none"), here + "/none");
    fs::create_symlink("itself", scratch / "itself");
    EXPECT_EQ(base::real_path(here + "/itself"), here + "/itself") << "one that leads nowhere";
}

}  // namespace hearth::test
