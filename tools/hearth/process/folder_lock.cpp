#include "process/folder_lock.hpp"

#include "base/files.hpp"
#include "process/stop_signals.hpp"
#include "terminal/exit.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

// Links are followed, for the file at their end is the one that changes. Not a neighbour's: he would choose where a
// lock is made and removed.
std::filesystem::path real(const std::string& file)
{
    const std::optional<std::string> place = base::place_of(std::filesystem::absolute(file).string());
    if (!place)
        fail(fmt::format("{} is a link of another user, which is not followed. Choose another file.", in_quotes(file)));
    return *place;
}

bool is_ours_alone(int file)
{
    struct stat status {};
    return ::fstat(file, &status) == 0 && status.st_uid == ::geteuid() && (status.st_mode & 077U) == 0;
}

}  // namespace

FolderLock::FolderLock(const std::string& file)
    : FolderLock(Descriptor(::open(real(file).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                 "." + real(file).filename().string() + ".lock", file)
{
}

FolderLock::FolderLock(Descriptor folder, std::string name, const std::string& path,
                       const std::function<bool()>& goes_on)
    : m_folder(std::move(folder)), m_name(std::move(name))
{
    constexpr int k_flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    do
        m_file = Descriptor(::openat(m_folder.get(), m_name.c_str(), k_flags, 0600));
    while (!try_to_hold(path, goes_on));
}

FolderLock::~FolderLock()
{
    if (m_file.get() >= 0)
        ::unlinkat(m_folder.get(), m_name.c_str(), 0);
}

// False: whoever held it before has removed it, so another one is to be locked.
bool FolderLock::try_to_hold(const std::string& path, const std::function<bool()>& goes_on) const
{
    const bool is_open = m_file.get() >= 0;
    if (!is_open && ::faccessat(m_folder.get(), m_name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    while (!is_open || ::flock(m_file.get(), LOCK_EX | LOCK_NB) != 0) {
        if (is_open && errno != EWOULDBLOCK)
            return true;
        stop_if_told();
        if (!is_open || !is_ours_alone(m_file.get()))
            fail(fmt::format("The lock {} of {} belongs to another user, or others can open it, so it is not waited "
                             "for. Remove it when nobody works there.",
                             in_quotes(m_name), in_quotes(path)));
        if (goes_on && !goes_on())
            fail(fmt::format("Another process holds {}, and did not let go of it in time.", in_quotes(path)));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    struct stat status {};
    return ::fstat(m_file.get(), &status) != 0 || status.st_nlink != 0;
}

}  // namespace hearth::cli
