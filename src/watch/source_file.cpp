#include "watch/source_file.hpp"

#include "base/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <span>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <utility>

namespace hearth::watch {

namespace {

constexpr int k_attempts = 3;
constexpr off_t k_largest = off_t{1} << 30;
// Time stamps of a network file system may be whole seconds of another machine's clock.
constexpr std::int64_t k_grain_ns = 2'000'000'000;
// A write through a shared mapping stamps the file once, and then not again until the kernel has written the page to
// disk: after 35 seconds, unless it was told otherwise. What lies in memory alone is never written.
constexpr std::int64_t k_longest_dirty_ns = 90'000'000'000;
constexpr unsigned k_few_in_one = 5;
// File systems of this machine on which whatever is put into a directory sets the directory's times: ext4, XFS, Btrfs,
// tmpfs and overlays.
constexpr std::array<std::uint32_t, 5> k_tell_of_changes{0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630};
constexpr std::array<std::uint32_t, 2> k_in_memory{0x01021994, 0x858458F6};
// proc, sys, debug, trace, config, security, selinux, bpf, pstore, cgroup (1 and 2), efivar, binfmt, namespaces,
// resctrl: what is read there is made as it is read.
constexpr std::array<std::uint32_t, 15> k_of_kernel{0x9FA0,     0x62656572, 0x64626720, 0x74726163, 0x62656570,
                                                    0x73636673, 0xF97CFF8C, 0xCAFE4A11, 0x6165676C, 0x27E0EB,
                                                    0x63677270, 0xDE5E81E4, 0x42494E4D, 0x6E736673, 0x07655821};
constexpr std::array<std::uint32_t, 8> k_network{0x6969,     0x517B,     0xFE534D42, 0xFF534D42,
                                                 0x65735546, 0x00C36400, 0x01021997, 0x0BD00BD0};

bool is_one_of(const struct statfs& system, std::span<const std::uint32_t> systems)
{
    return std::count(systems.begin(), systems.end(), static_cast<std::uint32_t>(system.f_type)) != 0;
}

bool is_on(int fd, std::span<const std::uint32_t> systems)
{
    struct statfs system {};
    return ::fstatfs(fd, &system) != 0 || is_one_of(system, systems);
}

bool is_older_than(const FileIdentity& identity, std::int64_t age_ns)
{
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::int64_t now_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    return std::max(identity.modified_ns, identity.changed_ns) < now_ns - age_ns;
}

std::int64_t nanoseconds(const timespec& time)
{
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Of a regular file, and nothing else: to open a fifo wakes its writer, a device may do anything, and what lies in
// /proc says only that it is a file. `changed`: another file took its place meanwhile.
int open_regular(const std::string& path, bool& changed)
{
    struct stat named {};
    struct stat opened {};
    struct statfs system {};
    if (::stat(path.c_str(), &named) != 0 || !S_ISREG(named.st_mode) || named.st_size > k_largest ||
        ::statfs(path.c_str(), &system) != 0 || is_one_of(system, k_of_kernel))
        return -1;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    changed = fd >= 0 && (::fstat(fd, &opened) != 0 || opened.st_dev != named.st_dev || opened.st_ino != named.st_ino);
    return fd;
}

class Descriptor {
public:
    explicit Descriptor(int fd) : m_fd(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor()
    {
        if (m_fd >= 0)
            ::close(m_fd);
    }
    int get() const { return m_fd; }

private:
    int m_fd;
};

bool read_all(int fd, std::size_t size, std::string& text)
{
    text.resize(size);
    std::size_t done = 0;
    while (done < size) {
        const ssize_t got = ::read(fd, text.data() + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += static_cast<std::size_t>(got);
    }
    return true;
}

// False if the file has more than its size says, as in /proc, which does not know how long its files are.
bool is_at_end(int fd)
{
    char more = 0;
    ssize_t got = 0;
    do
        got = ::read(fd, &more, 1);
    while (got < 0 && errno == EINTR);
    return got == 0;
}

}  // namespace

FileIdentity identity_of(const struct stat& stat)
{
    return {stat.st_dev, stat.st_ino, static_cast<std::uint64_t>(stat.st_size), nanoseconds(stat.st_mtim),
            nanoseconds(stat.st_ctim)};
}

std::optional<FileIdentity> identify(const std::string& path)
{
    struct stat stat {};
    if (::stat(path.c_str(), &stat) != 0 || !S_ISREG(stat.st_mode))
        return std::nullopt;
    return identity_of(stat);
}

StatMany::~StatMany()
{
    for (Place* const place : m_open)
        if (place != nullptr)
            let_go(*place);
}

void StatMany::open(Place& place)
{
    auto& [path, directory] = place;
    Place*& oldest = m_open[m_next_open];
    if (oldest != nullptr)
        let_go(*std::exchange(oldest, nullptr));
    directory.fd = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory.fd < 0)
        return;
    oldest = &place;
    m_next_open = (m_next_open + 1) % k_most_open;
}

// What was learnt through the descriptor is told, and nothing more is learnt.
void StatMany::let_go(Place& place)
{
    auto& [path, directory] = place;
    ::close(std::exchange(directory.fd, -1));
    directory.asked = 0;
    try {
        if (!directory.more_absent.empty())
            AbsentNames::of_process().add(path, *directory.identity, directory.more_absent);
    } catch (const std::bad_alloc&) {
        // Then it is not known.
    }
    directory.more_absent.clear();
    directory.identity.reset();
}

StatMany::Place& StatMany::directory_of(std::string_view path)
{
    if (m_last == nullptr || m_last->first != path) {
        auto found = m_directories.find(path);
        if (found == m_directories.end())
            found = m_directories.emplace(path, Directory{}).first;
        m_last = &*found;
    }
    return *m_last;
}

int StatMany::look(const std::string& path, struct stat& status, int flags)
{
    const auto plainly = [&] { return ::fstatat(AT_FDCWD, path.c_str(), &status, flags) == 0 ? 0 : errno; };
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == path.size())
        return plainly();
    Place& place = directory_of(std::string_view(path).substr(0, slash));
    auto& [parent, directory] = place;
    if (!std::exchange(directory.is_looked_at, true)) {
        struct statfs system {};
        directory.error = ::statfs(parent.c_str(), &system) == 0 ? 0 : errno;
        directory.on_network = directory.error == 0 && is_one_of(system, k_network);
    }
    if (is_absence(directory.error))
        return directory.error;
    // To open and close it costs as much as a few walks.
    if (directory.fd < 0 && (++directory.asked == k_few_in_one || (directory.on_network && directory.asked == 1))) {
        open(place);
        directory.error = directory.fd < 0 ? errno : 0;
    }
    if (directory.fd < 0)  // as yet, or there is perhaps no free descriptor
        return plainly();
    const char* const name = path.c_str() + slash + 1;
    if (directory.on_network) {
        // What is known of it may be remembered. To open it asks the server. What is there, and no file, is not opened.
        const bool is_there = ::fstatat(directory.fd, name, &status, 0) == 0;
        const bool may_open = !is_there || S_ISREG(status.st_mode);
        const int file = may_open ? ::openat(directory.fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
        if (file >= 0)
            ::close(file);
    }
    return ::fstatat(directory.fd, name, &status, flags) == 0 ? 0 : errno;
}

// Finds out what is known to be absent there, if the directory is one that many look into.
void StatMany::compare(Place& place) const
{
    auto& [path, directory] = place;
    if (std::exchange(directory.is_compared, true) || !path.starts_with('/') ||
        !AbsentNames::of_process().is_known(path))
        return;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
        return;
    directory.absent = AbsentNames::of_process().find(path, identity_of(status));
    directory.is_learnt_of = true;
}

// From here on names are looked for through one descriptor, and what is learnt is learnt of the directory behind it: by
// its path it may be another one the next moment, and this one again after that.
void StatMany::begin_to_learn(Place& place)
{
    Directory& directory = place.second;
    if (!std::exchange(directory.is_learnt_of, false))
        return;
    if (directory.fd < 0)
        open(place);
    struct stat status {};
    struct statfs system {};
    if (directory.fd < 0 || ::fstat(directory.fd, &status) != 0 || ::fstatfs(directory.fd, &system) != 0 ||
        !is_one_of(system, k_tell_of_changes))
        return;
    const FileIdentity identity = identity_of(status);
    // One that changed just now may change again without showing it.
    if (is_older_than(identity, m_grain_ns))
        directory.identity = identity;
}

bool StatMany::is_absent(const std::string& path)
{
    struct stat status {};
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == path.size())
        return is_absence(look(path, status, 0));
    const std::string_view name = std::string_view(path).substr(slash + 1);
    Place& place = directory_of(std::string_view(path).substr(0, slash));
    compare(place);
    Directory& directory = place.second;
    if (directory.absent && directory.absent->contains(name))
        return true;
    begin_to_learn(place);
    const int error = look(path, status, AT_SYMLINK_NOFOLLOW);
    if (error == ENOENT && directory.identity)
        directory.more_absent.emplace_back(name);
    return is_absence(error == 0 && S_ISLNK(status.st_mode) ? look(path, status, 0) : error);
}

bool is_on_network(int fd)
{
    return is_on(fd, k_network);
}

bool is_absence(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

base::Sha256 digest_of_names(const std::string& directory, int& error, std::size_t* count)
{
    struct statfs system {};
    if (::statfs(directory.c_str(), &system) == 0 && is_one_of(system, k_of_kernel)) {
        error = ENOTSUP;
        return {};
    }
    std::error_code problem;
    std::set<std::string> names;
    for (auto entry = std::filesystem::directory_iterator(directory, problem);
         !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem))
        names.insert(entry->path().filename().string());
    error = problem.value();
    if (count != nullptr)
        *count = names.size();
    std::string all;
    for (const std::string& name : names)
        all.append(name).push_back('\0');
    return base::sha256(as_bytes(all));
}

bool is_settled(const FileIdentity& identity)
{
    return is_older_than(identity, k_grain_ns);
}

std::optional<SourceFile> read_source(const std::string& path)
{
    for (int attempt = 0; attempt < k_attempts; ++attempt) {
        bool changed = false;
        const Descriptor file(open_regular(path, changed));
        if (changed)
            continue;
        struct stat before {};
        struct stat after {};
        if (file.get() < 0 || ::fstat(file.get(), &before) != 0 || !S_ISREG(before.st_mode) ||
            before.st_size > k_largest)
            return std::nullopt;
        SourceFile source;
        source.identity = identity_of(before);
        source.settled = is_older_than(source.identity, k_longest_dirty_ns) && !is_on(file.get(), k_in_memory);
        if (!read_all(file.get(), static_cast<std::size_t>(before.st_size), source.text) || !is_at_end(file.get()) ||
            ::fstat(file.get(), &after) != 0)
            continue;
        if (identity_of(after) != source.identity)
            continue;  // it was written while we read it
        return source;
    }
    return std::nullopt;
}

}  // namespace hearth::watch
