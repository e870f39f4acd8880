#pragma once

#include "hearth/artifact.hpp"
#include "hearth/bytes.hpp"
#include "hearth/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace hearth::base {

enum class FileType : std::uint8_t { file, directory, other };

struct FileStat {
    FileType type = FileType::other;
    std::uint64_t size = 0;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint32_t owner = 0;
    std::uint32_t mode = 0;
    std::uint32_t links = 0;
    WallTime modified{};
    WallTime changed{};  // when anything about it last changed; no program can set it
};

// The file operations Hearth uses, one virtual function each, so that a test can fail the n-th of them or record
// them all and cut the power between any two.
// Thread safety: all of it. Errors: what would be -1 with errno comes back as -errno; nothing throws.
class Files {
public:
    virtual ~Files() = default;

    // Flags as in open(2). Descriptors are always close-on-exec and never follow a link in the last component.
    virtual int open(const char* path, int flags, unsigned mode) = 0;
    virtual int close(int fd) = 0;
    virtual ssize_t pread(int fd, void* buffer, std::size_t size, std::uint64_t offset) = 0;
    virtual ssize_t pwrite(int fd, const void* buffer, std::size_t size, std::uint64_t offset) = 0;
    virtual int truncate(int fd, std::uint64_t size) = 0;
    virtual int sync(int fd) = 0;
    virtual int stat(int fd, FileStat& out) = 0;
    virtual int stat(const char* path, FileStat& out) = 0;  // of the link itself, if it is one
    virtual int rename(const char* from, const char* to) = 0;
    virtual int unlink(const char* path) = 0;
    virtual int mkdir(const char* path, unsigned mode) = 0;
    virtual int rmdir(const char* path) = 0;
    virtual int list(const char* path, std::vector<std::string>& names) = 0;  // without . and ..
    // Takes an exclusive lock on the open file; it ends with the last descriptor. -EWOULDBLOCK when another holds it.
    virtual int try_lock(int fd) = 0;
};

// The operating system's.
Files& system_files();

// Closes on scope exit; -1 and errors close nothing.
class FileHandle {
public:
    FileHandle() = default;
    FileHandle(Files& files, int fd) : m_files(&files), m_fd(fd) {}
    FileHandle(FileHandle&& other) noexcept : m_files(other.m_files), m_fd(other.m_fd) { other.m_fd = -1; }
    FileHandle& operator=(FileHandle&& other) noexcept;
    FileHandle(const FileHandle&) = delete;
    FileHandle& operator=(const FileHandle&) = delete;
    ~FileHandle() { close(); }

    bool open() const noexcept { return m_fd >= 0; }
    int fd() const noexcept { return m_fd; }
    int error() const noexcept { return m_fd < 0 ? -m_fd : 0; }
    int close();

private:
    Files* m_files = nullptr;
    int m_fd = -1;
};

// Loops over short reads and writes and EINTR. Return 0, or -errno; a file that ends early is -ENODATA.
int read_exactly(Files& files, int fd, void* buffer, std::size_t size, std::uint64_t offset);
int write_all(Files& files, int fd, ByteView bytes, std::uint64_t offset);

// The whole file, or -errno in `error` and no bytes. A file larger than `limit` is -EFBIG.
Bytes read_file(Files& files, const char* path, std::uint64_t limit, int& error);

// The content of a small file of the user, which may lie behind links. None: it cannot be read, or is over 1 MiB.
std::optional<std::string> read_small_file(const std::string& path);

// Where a path leads when links are followed, even if there is nothing yet where the last link points. It is for files
// that users may put behind links. If it cannot be found out, the path itself.
std::string real_path(const std::string& path);

// Creates the directory and its missing parents, all with `mode`. 0 or -errno.
int make_directories(Files& files, const std::string& path, unsigned mode);

// "open /x/y: No such file or directory (2)"
std::string describe(const char* action, const std::string& path, int error);

}  // namespace hearth::base
