#include "watch/source_file.hpp"

#include "base/files.hpp"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::watch {

namespace {

constexpr int k_attempts = 3;
constexpr off_t k_largest = off_t{1} << 30;
// Time stamps of a network file system may be whole seconds of another machine's clock.
constexpr std::int64_t k_grain_ns = 2'000'000'000;

std::int64_t nanoseconds(const timespec& time)
{
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

class Descriptor {
public:
    explicit Descriptor(const std::string& path) : m_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
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

format::FileIdentity identity_of(const struct stat& stat)
{
    return {stat.st_dev, stat.st_ino, static_cast<std::uint64_t>(stat.st_size), nanoseconds(stat.st_mtim),
            nanoseconds(stat.st_ctim)};
}

std::optional<format::FileIdentity> identify(const std::string& path)
{
    struct stat stat {};
    if (::stat(path.c_str(), &stat) != 0 || !S_ISREG(stat.st_mode))
        return std::nullopt;
    return identity_of(stat);
}

Identifier::~Identifier()
{
    for (const auto& [directory, fd] : m_directories)
        if (fd >= 0)
            ::close(fd);
}

std::optional<format::FileIdentity> Identifier::operator()(const std::string& path)
{
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos || slash == 0)
        return identify(path);
    const std::string_view directory = std::string_view(path).substr(0, slash);
    auto found = m_directories.find(directory);
    if (found == m_directories.end()) {
        found = m_directories.emplace(directory, -1).first;
        found->second = ::open(found->first.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    struct stat stat {};
    if (found->second < 0)
        return identify(path);  // most likely no such directory; or no free descriptor
    if (::fstatat(found->second, path.c_str() + slash + 1, &stat, 0) != 0 || !S_ISREG(stat.st_mode))
        return std::nullopt;
    return identity_of(stat);
}

bool is_settled(const format::FileIdentity& identity)
{
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return std::max(identity.modified_ns, identity.changed_ns) < nanoseconds(now) - k_grain_ns;
}

std::optional<SourceFile> read_source(const std::string& path)
{
    for (int attempt = 0; attempt < k_attempts; ++attempt) {
        const Descriptor file(path);
        struct stat before {};
        struct stat after {};
        if (file.get() < 0 || ::fstat(file.get(), &before) != 0 || !S_ISREG(before.st_mode) ||
            before.st_size > k_largest)
            return std::nullopt;
        SourceFile source;
        source.identity = identity_of(before);
        source.settled = is_settled(source.identity);
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
