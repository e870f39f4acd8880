#include "base/files.hpp"

#include "base/of_process.hpp"
#include "base/open_file.hpp"
#include "base/signal_guard.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace hearth::base {

namespace {

constexpr int k_most_links = 40;  // the system's own limit

template <class T>
T or_errno(T result)
{
    return result < 0 ? static_cast<T>(-errno) : result;
}

// Nanoseconds since 1970 overflow in 2262; file systems count further.
WallTime wall_time(const struct timespec& time)
{
    static constexpr std::chrono::seconds k_last =
        std::chrono::floor<std::chrono::seconds>(std::chrono::nanoseconds::max());
    const std::chrono::seconds seconds(std::clamp<std::int64_t>(time.tv_sec, -k_last.count(), k_last.count() - 1));
    return WallTime(seconds + std::chrono::nanoseconds(time.tv_nsec));
}

void fill(const struct stat& from, FileStat& to)
{
    to.type = S_ISREG(from.st_mode) ? FileType::file : S_ISDIR(from.st_mode) ? FileType::directory : FileType::other;
    to.size = static_cast<std::uint64_t>(from.st_size);
    to.device = from.st_dev;
    to.inode = from.st_ino;
    to.owner = from.st_uid;
    to.mode = from.st_mode & 07777U;
    to.links = static_cast<std::uint32_t>(from.st_nlink);
    to.modified = wall_time(from.st_mtim);
    to.changed = wall_time(from.st_ctim);
}

class SystemFiles final : public Files {
public:
    int open(At at, int flags, unsigned mode) override
    {
        return or_errno(::openat(at.folder, at.name, flags | O_CLOEXEC | O_NOFOLLOW, mode));
    }
    int close(int fd) override { return or_errno(::close(fd)); }
    ssize_t pread(int fd, void* buffer, std::size_t size, std::uint64_t offset) override
    {
        return or_errno(::pread(fd, buffer, size, static_cast<off_t>(offset)));
    }
    ssize_t pwrite(int fd, const void* buffer, std::size_t size, std::uint64_t offset) override
    {
        const FileLimitGuard guard;
        return or_errno(::pwrite(fd, buffer, size, static_cast<off_t>(offset)));
    }
    int truncate(int fd, std::uint64_t size) override
    {
        const FileLimitGuard guard;
        return or_errno(::ftruncate(fd, static_cast<off_t>(size)));
    }
    int sync(int fd) override { return or_errno(::fsync(fd)); }
    int stat(int fd, FileStat& out) override
    {
        struct stat found {};
        if (::fstat(fd, &found) < 0)
            return -errno;
        fill(found, out);
        return 0;
    }
    int stat(At at, FileStat& out) override
    {
        struct stat found {};
        if (::fstatat(at.folder, at.name, &found, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
        fill(found, out);
        return 0;
    }
    int chmod(int fd, unsigned mode) override { return or_errno(::fchmod(fd, mode)); }
    int rename(At from, At to) override { return or_errno(::renameat(from.folder, from.name, to.folder, to.name)); }
    int unlink(At at) override { return or_errno(::unlinkat(at.folder, at.name, 0)); }
    int mkdir(At at, unsigned mode) override { return or_errno(::mkdirat(at.folder, at.name, mode)); }
    int rmdir(At at) override { return or_errno(::unlinkat(at.folder, at.name, AT_REMOVEDIR)); }
    int list(At at, std::vector<std::string>& names) override
    {
        names.clear();
        const int fd = open(at, O_RDONLY | O_DIRECTORY, 0);
        if (fd < 0)
            return fd;
        DIR* directory = ::fdopendir(fd);
        if (!directory) {
            const int failure = errno;
            ::close(fd);
            return -failure;
        }
        errno = 0;
        while (const dirent* item = ::readdir(directory)) {
            const std::string_view name = item->d_name;
            if (name != "." && name != "..")
                names.emplace_back(name);
            errno = 0;
        }
        const int failure = errno;
        ::closedir(directory);
        return -failure;
    }
    int try_lock(int fd) override { return or_errno(::flock(fd, LOCK_EX | LOCK_NB)); }
};

}  // namespace

Files& system_files()
{
    return of_process<SystemFiles>();
}

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept
{
    if (this != &other) {
        close();
        m_files = other.m_files;
        m_fd = other.m_fd;
        other.m_fd = -1;
    }
    return *this;
}

int FileHandle::close()
{
    if (m_fd < 0)
        return 0;
    const int fd = m_fd;
    m_fd = -1;
    return m_files->close(fd);
}

int read_exactly(Files& files, int fd, void* buffer, std::size_t size, std::uint64_t offset)
{
    auto* target = static_cast<std::byte*>(buffer);
    while (size > 0) {
        const ssize_t got = files.pread(fd, target, size, offset);
        if (got == -EINTR)
            continue;
        if (got < 0)
            return static_cast<int>(got);
        if (got == 0)
            return -ENODATA;
        target += got;
        size -= static_cast<std::size_t>(got);
        offset += static_cast<std::uint64_t>(got);
    }
    return 0;
}

int write_all(Files& files, int fd, ByteView bytes, std::uint64_t offset)
{
    while (!bytes.empty()) {
        const ssize_t put = files.pwrite(fd, bytes.data(), bytes.size(), offset);
        if (put == -EINTR)
            continue;
        if (put < 0)
            return static_cast<int>(put);
        if (put == 0)
            return -ENOSPC;
        bytes = bytes.subspan(static_cast<std::size_t>(put));
        offset += static_cast<std::uint64_t>(put);
    }
    return 0;
}

int open_file(Files& files, At at, int flags, FileStat& about)
{
    const int fd = files.open(at, flags | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return fd;
    int error = files.stat(fd, about);
    if (error == 0 && about.type != FileType::file)
        error = about.type == FileType::directory ? -EISDIR : -EINVAL;
    if (error == 0)
        return fd;
    files.close(fd);
    return error;
}

Bytes read_part(Files& files, int fd, std::uint64_t offset, std::uint64_t size, int& error)
{
    Bytes bytes = Bytes::make(size, [&](std::span<std::byte> buffer) {
        error = read_exactly(files, fd, buffer.data(), buffer.size(), offset);
    });
    return error == 0 ? bytes : Bytes{};
}

Bytes read_file(Files& files, At at, std::uint64_t limit, int& error)
{
    FileStat stat;
    const FileHandle file(files, open_file(files, at, O_RDONLY, stat));
    error = file.open() && stat.size > limit ? -EFBIG : -file.error();
    return error == 0 ? read_part(files, file.fd(), 0, stat.size, error) : Bytes{};
}

LinkOf read_link(const std::string& path, std::string& target)
{
    const FileHandle link(system_files(), system_files().open(path.c_str(), O_PATH, 0));
    struct stat facts {};
    if (!link.open() || ::fstat(link.fd(), &facts) != 0 || !S_ISLNK(facts.st_mode))
        return LinkOf::none;
    std::string text(PATH_MAX, '\0');
    const ssize_t size = ::readlinkat(link.fd(), "", text.data(), text.size());
    if (size <= 0 || static_cast<std::size_t>(size) == text.size())
        return LinkOf::none;
    text.resize(static_cast<std::size_t>(size));
    target = text.front() == '/' ? text : path.substr(0, path.find_last_of('/') + 1) + text;
    if (facts.st_uid != ::geteuid() && facts.st_uid != 0)
        return LinkOf::another;
    struct statfs system {};
    const bool is_system = ::fstatfs(link.fd(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
    return is_system ? LinkOf::system : LinkOf::user_or_root;
}

std::optional<std::string> place_of(const std::string& path)
{
    std::string at = path;
    std::string next;
    for (int links = 0; links < k_most_links; ++links) {
        const LinkOf owner = read_link(at, next);
        if (owner == LinkOf::another)
            return std::nullopt;
        if (owner != LinkOf::none) {
            at = next;
            continue;
        }
        // Wherever the program goes meanwhile.
        const std::size_t name = at.find_last_of('/') + 1;
        if (name == at.size())
            return at;
        const std::string folder = real_path(name == 0 ? "." : at.substr(0, std::max<std::size_t>(name - 1, 1)));
        return (folder == "/" ? folder : folder + "/") + at.substr(name);
    }
    return path;
}

std::string real_path(const std::string& path)
{
    std::string at = path;
    std::string next;
    for (int links = 0; links < k_most_links; ++links) {
        if (char* const resolved = ::realpath(at.c_str(), nullptr)) {
            std::string real = resolved;
            std::free(resolved);
            return real;
        }
        if (read_link(at, next) == LinkOf::none)
            return at;
        at = next;
    }
    return path;
}

bool is_link_of_another(const std::string& path)
{
    std::string target;
    return read_link(path, target) == LinkOf::another;
}

std::optional<std::string> read_small_file(const std::string& path)
{
    static constexpr std::uint64_t k_largest = 1U << 20U;
    int error = 0;
    const Bytes bytes = read_file(system_files(), real_path(path).c_str(), k_largest, error);
    return error == 0 ? std::optional<std::string>(bytes.text()) : std::nullopt;
}

namespace {

constexpr unsigned k_for_others = 0077;  // no umask in use takes anything from the owner
// Of a folder for several users, from when it is made until it has its mode. The umask would make something of that
// mode that others could take for it, and pass on to what they create. Nobody gives a folder this one.
constexpr unsigned k_being_made = 01700;

bool is_being_made(const FileStat& stat)
{
    return (stat.mode & 01777U) == k_being_made;
}

}  // namespace

bool is_ours_alone(const FileStat& stat)
{
    return stat.owner == ::geteuid() && (stat.mode & S_IWOTH) == 0;
}

unsigned mode_for_sharing(Files& files, const std::string& directory)
{
    static constexpr unsigned k_inherited = 02777;  // not the sticky bit: others could not evict
    static constexpr unsigned k_everyone = 0777;
    FileStat stat;
    return files.stat((directory + "/.").c_str(), stat) == 0 && !is_being_made(stat) ? stat.mode & k_inherited
                                                                                     : k_everyone;
}

int create_file(Files& files, At at, int flags, unsigned mode)
{
    const int fd = files.open(at, flags | O_CREAT | O_EXCL, mode);
    if (fd >= 0 && (mode & k_for_others) != 0)
        files.chmod(fd, mode);  // where there are no modes, it serves as it is
    return fd;
}

int make_folder(Files& files, At at, unsigned mode)
{
    if ((mode & k_for_others) == 0)
        return files.mkdir(at, mode);
    const int made = files.mkdir(at, k_being_made);
    FileStat there;
    // One that is there may have been left like that by a process that was killed.
    if (made != 0 && (made != -EEXIST || files.stat(at, there) != 0 || !is_being_made(there)))
        return made;
    const FileHandle folder(files, files.open(at, O_RDONLY | O_DIRECTORY, 0));
    if (folder.open())
        files.chmod(folder.fd(), mode);
    return made;
}

int open_or_create(Files& files, At at, int flags, unsigned mode)
{
    static constexpr int k_attempts = 8;  // others may create and remove it all the while
    FileStat about;
    int fd = -ENOENT;
    for (int attempt = 0; attempt < k_attempts && (fd == -ENOENT || fd == -EEXIST); ++attempt) {
        fd = open_file(files, at, flags, about);
        if (fd == -ENOENT)
            fd = create_file(files, at, flags, mode);
        if (fd == -ENOENT)
            break;  // it is the folder that is missing
    }
    return fd;
}

int make_directories(Files& files, const std::string& path, unsigned mode)
{
    static constexpr unsigned k_parents = 0755;
    const auto make = [&] {
        const int made = make_folder(files, path.c_str(), mode);
        // With a slash behind it, a link to a directory means that directory.
        FileStat there;
        if (made != -EEXIST || files.stat((path + "/").c_str(), there) == 0)
            return made == -EEXIST ? 0 : made;
        return -ENOTDIR;
    };
    const int made = make();
    if (made != -ENOENT)
        return made;
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos || slash == 0)
        return made;
    if (const int parent = make_directories(files, path.substr(0, slash), mode & k_parents); parent != 0)
        return parent;
    return make();
}

FileHandle open_folder(Files& files, const std::string& top, std::string_view path)
{
    static constexpr int k_folder = O_PATH | O_DIRECTORY;
    // With a dot behind it, a link to a directory means that directory.
    FileHandle folder(files, files.open((top + "/.").c_str(), k_folder, 0));
    path.remove_prefix(top.size());
    while (folder.open() && !path.empty()) {
        path.remove_prefix(1);
        const std::string name(path.substr(0, path.find('/')));
        folder = FileHandle(files, files.open({folder.fd(), name}, k_folder, 0));
        path.remove_prefix(name.size());
    }
    return folder;
}

std::string describe(const char* action, const std::string& path, int error)
{
    const int number = error < 0 ? -error : error;
    return fmt::format("{} {}: {} ({})", action, path, std::strerror(number), number);
}

}  // namespace hearth::base
