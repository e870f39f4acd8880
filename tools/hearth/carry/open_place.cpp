#include "carry/open_place.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "carry/capture.hpp"
#include "carry/file_facts.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::cli::carry {

namespace {

constexpr int k_most_links = 40;  // as the system follows
constexpr mode_t k_new_folder = 0755;
constexpr mode_t k_others_write = S_IWGRP | S_IWOTH;
constexpr int k_folder = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Where new folders are open to the user's own group, that is his wish (umask 002).
bool others_may_write(const struct stat& folder)
{
    const bool group_is_own = folder.st_uid == ::geteuid() && folder.st_gid == ::getegid();
    return is_of_another_user(folder) || (folder.st_mode & (group_is_own ? S_IWOTH : k_others_write)) != 0;
}

bool others_may_replace_links(const struct stat& folder)
{
    return is_of_another_user(folder) || (others_may_write(folder) && (folder.st_mode & S_ISVTX) == 0);
}

}  // namespace

Result<OpenPlace> OpenPlace::open(const std::string& directory, IfMissing if_missing)
{
    OpenPlace place(directory);
    HEARTH_TRY(place.walk(if_missing));
    HEARTH_TRY(place.check_owner());
    return place;
}

OpenPlace::~OpenPlace()
{
    // Only what is empty goes.
    while (!m_made.empty() && ::unlinkat(m_made.back().first.get(), m_made.back().second.c_str(), AT_REMOVEDIR) == 0)
        m_made.pop_back();
}

Status OpenPlace::walk(IfMissing if_missing)
{
    const auto failed = [&](int why) {
        return error(why == ENOENT ? Code::not_found : Code::io, "The directory {} cannot be opened: {}.",
                     in_quotes(m_directory), system_error(why));
    };
    Descriptor folder(::open("/", k_folder));
    std::string rest = m_directory;
    for (int links = 0;;) {
        rest.erase(0, rest.find_first_not_of('/'));
        if (rest.empty())
            break;
        struct stat status {};
        if (::fstat(folder.get(), &status) != 0)
            return failed(errno);
        m_others_write_above = m_others_write_above || others_may_write(status);

        std::string_view after = rest;
        const std::string name(base::take_until('/', after));
        Descriptor next(::openat(folder.get(), name.c_str(), k_folder));
        bool is_made = false;
        if (next.get() < 0 && errno == ENOENT && if_missing == IfMissing::make) {
            is_made = ::mkdirat(folder.get(), name.c_str(), k_new_folder) == 0;
            if (is_made || errno == EEXIST)
                next = Descriptor(::openat(folder.get(), name.c_str(), k_folder));
        }
        if (next.get() < 0 && errno == ENOTDIR) {
            if (++links > k_most_links)
                return failed(ELOOP);
            if (after.empty())
                return error(
                    Code::denied,
                    "{} is a link or a file, and carry follows no link there. Name the directory that it leads "
                    "to; nothing was read or written.",
                    in_quotes(m_directory));
            HEARTH_TRY_SET(const std::string target, follow(folder.get(), name));
            if (target.starts_with('/'))
                folder = Descriptor(::open("/", k_folder));
            rest = target + "/" + std::string(after);
            continue;
        }
        if (next.get() < 0)
            return failed(errno);
        rest = std::string(after);
        if (is_made)
            m_made.emplace_back(std::move(folder), name);
        folder = std::move(next);
    }
    m_top = Descriptor(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return m_top.get() >= 0 ? Status{} : Status{failed(errno)};
}

// Where a link on the way leads.
Result<std::string> OpenPlace::follow(int folder, const std::string& name) const
{
    const auto refused = [&](const std::string& what) {
        return error(Code::denied,
                     "{} is on the way to the directory {}, and is {}. Name the directory without it; nothing was read "
                     "or written.",
                     in_quotes(name), in_quotes(m_directory), what);
    };
    const Descriptor link(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    struct stat around {};
    std::array<char, PATH_MAX> target{};
    if (::fstat(link.get(), &status) != 0 || ::fstat(folder, &around) != 0)
        return refused(fmt::format("not to be opened: {}", system_error(errno)));
    if (!S_ISLNK(status.st_mode))
        return refused("not a folder");
    if (is_of_another_user(status))
        return refused(fmt::format("a link of another user ({})", status.st_uid));
    if (others_may_replace_links(around))
        return refused("a link in a folder that others may change");
    const ssize_t length = ::readlinkat(link.get(), "", target.data(), target.size());
    if (length <= 0)
        return refused(fmt::format("a link that cannot be read: {}", system_error(errno)));
    return std::string(target.data(), static_cast<std::size_t>(length));
}

Status OpenPlace::check_owner() const
{
    struct stat status {};
    if (::fstat(m_top.get(), &status) != 0)
        return error(Code::io, "The directory {} cannot be looked at: {}.", in_quotes(m_directory),
                     system_error(errno));
    if (is_of_another_user(status))
        return error(Code::denied,
                     "The directory {} belongs to another user ({}), who may have put anything there. Remove it or "
                     "change its owner; nothing was read or written.",
                     in_quotes(m_directory), status.st_uid);
    const bool others_write = (status.st_mode & (m_others_write_above ? k_others_write : S_IWOTH)) != 0;
    if (others_write || (m_others_write_above && status.st_uid != ::geteuid()))
        return error(
            Code::denied,
            "The directory {} may be written by others, or lies where others may write. So it must be your own "
            "and nobody else may write it. 'chown {} {}' and 'chmod go-w {}' see to that; nothing was read or "
            "written.",
            in_quotes(m_directory), ::geteuid(), printable(m_directory), printable(m_directory));
    return {};
}

bool OpenPlace::is_below_mark() const
{
    Descriptor folder(::openat(m_top.get(), "..", k_folder));
    struct stat below {};
    struct stat status {};
    static_cast<void>(::fstat(m_top.get(), &below));
    while (::fstat(folder.get(), &status) == 0 && (status.st_ino != below.st_ino || status.st_dev != below.st_dev)) {
        if (has_unsigned_mark(folder.get()))
            return true;
        below = status;
        folder = Descriptor(::openat(folder.get(), "..", k_folder));
    }
    return false;
}

bool has_unsigned_mark(int folder, const std::string& below)
{
    struct stat status {};
    const std::string mark = below + "/" + std::string(k_unsigned_mark);
    // A neighbour's in /tmp says nothing.
    return ::fstatat(folder, mark.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && !is_of_another_user(status);
}

bool set_unsigned_mark(int folder)
{
    if (has_unsigned_mark(folder))
        return true;
    Descriptor mark(
        ::openat(folder, std::string(k_unsigned_mark).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    // It has to be there after a power cut if what it stands for is.
    return mark.get() >= 0 && ::fsync(mark.get()) == 0 && mark.reset() == 0;
}

}  // namespace hearth::cli::carry
