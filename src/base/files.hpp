#pragma once

#include "hearth/artifact.hpp"
#include "hearth/bytes.hpp"
#include "hearth/result.hpp"

#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>
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

// A name in an open folder, or a path. It does not own the name.
struct At {
    At(const char* path) : name(path) {}  // implicit: a path is the usual case
    At(int in_folder, const char* its_name) : folder(in_folder), name(its_name) {}
    At(int in_folder, const std::string& its_name) : At(in_folder, its_name.c_str()) {}

    int folder = AT_FDCWD;
    const char* name;
};

// The file operations Hearth uses, one virtual function each, so that a test can fail the n-th of them or record
// them all and cut the power between any two.
// Thread safety: all of it. Errors: what would be -1 with errno comes back as -errno; nothing throws.
class Files {
public:
    virtual ~Files() = default;

    // No operation follows a link in the last component. Flags as in open(2); descriptors are always close-on-exec.
    virtual int open(At at, int flags, unsigned mode) = 0;
    virtual int close(int fd) = 0;
    virtual ssize_t pread(int fd, void* buffer, std::size_t size, std::uint64_t offset) = 0;
    virtual ssize_t pwrite(int fd, const void* buffer, std::size_t size, std::uint64_t offset) = 0;
    virtual int truncate(int fd, std::uint64_t size) = 0;
    virtual int sync(int fd) = 0;
    virtual int stat(int fd, FileStat& out) = 0;
    virtual int stat(At at, FileStat& out) = 0;  // of the link itself, if it is one
    virtual int chmod(int fd, unsigned mode) = 0;
    virtual int rename(At from, At to) = 0;
    virtual int unlink(At at) = 0;
    virtual int mkdir(At at, unsigned mode) = 0;
    virtual int rmdir(At at) = 0;
    virtual int list(At at, std::vector<std::string>& names) = 0;  // without . and ..
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

// These bytes of an open file, or -errno in `error` and none.
Bytes read_part(Files& files, int fd, std::uint64_t offset, std::uint64_t size, int& error);
// The whole file, or -errno in `error` and no bytes. A file larger than `limit` is -EFBIG.
Bytes read_file(Files& files, At at, std::uint64_t limit, int& error);

// The content of a small file of the user, which may lie behind links. None: it cannot be read, or is over 1 MiB.
std::optional<std::string> read_small_file(const std::string& path);

// Where a path leads when links are followed, even if there is nothing yet where the last link points. It is for files
// that users may put behind links. If it cannot be found out, the path itself.
std::string real_path(const std::string& path);

// What stands at a name, as far as links go. In a directory such as /tmp a neighbour can put a link, and can put
// another one at any moment: so the link whose owner is looked at is the one that is read.
enum class LinkOf : std::uint8_t { none, user_or_root, system, another };  // system: one of /proc, such as /dev/stdout
// `target` is where it points, as a path for its reader, unless it is none.
LinkOf read_link(const std::string& path, std::string& target);
// Where a file is to be placed or opened that is named by `path`: links at its end are followed. None: one of them is a
// link that neither this user nor root has made. What is there may be a link by now, which must not be followed.
std::optional<std::string> place_of(const std::string& path);
bool is_link_of_another(const std::string& path);

// Whether it belongs to this user, and not everybody can write to it.
bool is_ours_alone(const FileStat& stat);

// The mode of what is created below a directory that several users share: the directory's own. 0777 if it is missing,
// or if it was made this moment and has yet to get its mode.
unsigned mode_for_sharing(Files& files, const std::string& directory);
// What is created for several users gets exactly this mode, whatever the umask takes away. -EEXIST if it is there.
int create_file(Files& files, At at, int flags, unsigned mode);
int make_folder(Files& files, At at, unsigned mode);
// Opens the file, or creates it like that.
int open_or_create(Files& files, At at, int flags, unsigned mode);

// Creates the directory with `mode`, and its missing parents without leave for others to write. 0 or -errno.
int make_directories(Files& files, const std::string& path, unsigned mode);

// Opens the folder `path` at or below `top`, one name at a time. `top` may be a link of the user's. Below it no link is
// followed (-ENOTDIR), so that whoever can write there cannot lead us to files elsewhere. What is opened is good for
// naming things in it.
FileHandle open_folder(Files& files, const std::string& top, std::string_view path);

// "open /x/y: No such file or directory (2)"
std::string describe(const char* action, const std::string& path, int error);

}  // namespace hearth::base
