#include "base/log_file.hpp"

#include "base/files.hpp"
#include "base/signal_guard.hpp"

#include <cerrno>
#include <csignal>
#include <new>

#include <fcntl.h>
#include <unistd.h>

namespace hearth::base {

int open_log(const std::string& path, int flags) noexcept
try {
    static constexpr int k_most_links = 40;
    flags |= O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    std::string at = path;
    std::string target;
    for (int links = 0; links < k_most_links; ++links) {
        const int fd = ::open(at.c_str(), flags | O_NOFOLLOW, 0600);
        if (fd >= 0 || errno != ELOOP)
            return fd;
        const LinkOf owner = read_link(at, target);
        if (owner == LinkOf::system)  // what it leads to may have no name; and nobody can put another one there
            return ::open(at.c_str(), flags, 0600);
        if (owner != LinkOf::user_or_root)
            break;
        at = target;
    }
    errno = ELOOP;
    return -1;
} catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return -1;
}

void append_line(const std::string& path, std::string_view line, IfNoFile if_none) noexcept
{
    const int fd = open_log(path, O_APPEND | (if_none == IfNoFile::create ? O_CREAT : 0));
    if (fd < 0)
        return;
    const FileLimitGuard limit;
    const SignalGuard pipe(SIGPIPE);
    static_cast<void>(!::write(fd, line.data(), line.size()));
    ::close(fd);
}

}  // namespace hearth::base
