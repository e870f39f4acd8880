#include "carry/stage.hpp"

#include "base/error.hpp"
#include "carry/below.hpp"
#include "carry/file_facts.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::cli::carry {

namespace {

constexpr std::int64_t k_second = 1'000'000'000;
// Whoever restores a folder has to write into it.
constexpr mode_t k_owner = 0700;

// Access stays as it is; a time before 1970 has a positive part of a second too.
std::array<timespec, 2> times_of(const Item& item)
{
    std::int64_t seconds = item.modified / k_second;
    std::int64_t rest = item.modified % k_second;
    if (rest < 0) {
        rest += k_second;
        --seconds;
    }
    return {timespec{0, UTIME_OMIT}, timespec{static_cast<time_t>(seconds), static_cast<long>(rest)}};
}

// Moves a name where none is yet. False with EEXIST: one is.
bool move_to_free_name(int from, int to, const char* name)
{
    if (::renameat2(from, name, to, name, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    // A file system that cannot do it in one step: others do not make names that are keys by chance.
    struct stat status {};
    if (::fstatat(to, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return false;
    }
    return ::renameat(from, name, to, name) == 0;
}

bool copy_bytes(int from, int to)
{
    std::array<char, 65536> buffer{};
    for (;;) {
        const ssize_t got = ::read(from, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        for (ssize_t done = 0; done < got;) {
            const ssize_t put = ::write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
            if (put < 0 && errno != EINTR)
                return false;
            done += put > 0 ? put : 0;
        }
    }
}

// Makes a copy of a file or link in another file system, with its mode and time.
bool copy_item(int from, const char* name, int to, const char* as)
{
    struct stat status {};
    if (::fstatat(from, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    if (S_ISLNK(status.st_mode)) {
        std::array<char, PATH_MAX> target{};
        return ::readlinkat(from, name, target.data(), target.size() - 1) > 0 &&
               ::symlinkat(target.data(), to, as) == 0;
    }
    const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, status.st_mtim};
    const Descriptor source(::openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    Descriptor copy(::openat(to, as, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    return source.get() >= 0 && copy.get() >= 0 && copy_bytes(source.get(), copy.get()) &&
           ::fchmod(copy.get(), status.st_mode & 0777U) == 0 && ::futimens(copy.get(), times.data()) == 0 &&
           ::fsync(copy.get()) == 0 && copy.reset() == 0;
}

// Moves a file or link to another file system: the copy gets its name when it is whole. Captures leave out the name
// that it has until then.
bool move_across(int from, int to, const char* name, Existing existing)
{
    constexpr const char* k_copy = ".hearth-carry.tmp";
    ::unlinkat(to, k_copy, 0);  // of a restore that was killed
    if (copy_item(from, name, to, k_copy) &&
        ::renameat2(to, k_copy, to, name, existing == Existing::keep ? RENAME_NOREPLACE : 0) == 0)
        return true;
    const int why = errno;
    ::unlinkat(to, k_copy, 0);
    errno = why;
    return why == EEXIST && existing == Existing::keep;
}

}  // namespace

std::uint16_t restored_mode(const Item& item)
{
    return static_cast<std::uint16_t>(item.mode | (item.kind == Kind::folder ? k_owner : 0));
}

Stage::Stage(const Capture& capture, const std::string& directory, int top)
    : m_capture(capture), m_directory(directory), m_top(top)
{
}

Stage::~Stage()
{
    if (m_stage >= 0)
        ::close(m_stage);
    remove_all(m_top, std::string(k_staging));
}

Error Stage::cannot_write(const std::string& path, int error) const
{
    return hearth::error(error == ENOSPC || error == EDQUOT || error == EFBIG ? Code::no_space : Code::io,
                         "{} cannot be restored in {}: {}. The directory is as it was.", in_quotes(path),
                         in_quotes(m_directory), system_error(error));
}

Status Stage::prepare(const std::vector<bool>& needed, const ReadPack& read_pack, const Progress& progress)
{
    const std::string name(k_staging);
    remove_all(m_top, name);  // of a restore that was killed
    if (::mkdirat(m_top, name.c_str(), k_owner) == 0)
        m_stage = ::openat(m_top, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (m_stage < 0)
        return cannot_write(name, errno);

    HEARTH_TRY(make_items(needed));
    std::vector<std::vector<Part>> parts_of(m_capture.pieces.size());
    for (std::size_t i = 0; i < m_capture.items.size(); ++i) {
        std::uint64_t offset = 0;
        if (needed[i])
            for (const std::uint32_t piece : m_capture.items[i].pieces) {
                parts_of[piece].push_back({i, offset});
                offset += m_capture.pieces[piece].size;
            }
    }
    std::vector<std::vector<std::uint32_t>> pieces_of(m_capture.packs.size());
    for (std::uint32_t piece = 0; piece < m_capture.pieces.size(); ++piece)
        if (!parts_of[piece].empty())
            pieces_of[m_capture.pieces[piece].pack].push_back(piece);
    for (std::uint32_t pack = 0; pack < m_capture.packs.size(); ++pack) {
        const auto goes_on = [&](std::uint32_t done) { return !progress || progress(done, m_capture.packs.size()); };
        if (!pieces_of[pack].empty())
            HEARTH_TRY(
                write_pack(m_capture.packs[pack], pieces_of[pack], parts_of, read_pack, [&] { return goes_on(pack); }));
        if (!goes_on(pack + 1))
            return stopped();
    }
    return finish_items(needed);
}

Error Stage::stopped()
{
    return error(Code::timeout, "{}", "The restore was stopped. The directory is as it was.");
}

Status Stage::make_items(const std::vector<bool>& needed)
{
    for (std::size_t i = 0; i < m_capture.items.size(); ++i) {
        const Item& item = m_capture.items[i];
        const auto [folder, name] = open_parent(m_stage, item.path);
        int made = 0;
        if (item.kind == Kind::folder)
            made = ::mkdirat(folder.get(), name.c_str(), k_owner);
        else if (needed[i] && item.kind == Kind::link)
            made = ::symlinkat(item.target.c_str(), folder.get(), name.c_str());
        else if (needed[i])
            made =
                Descriptor(::openat(folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)).get() <
                        0
                    ? -1
                    : 0;
        if (made != 0)
            return cannot_write(item.path, errno);
    }
    return {};
}

Status Stage::write_pack(const Pack& pack, const std::vector<std::uint32_t>& pieces,
                         const std::vector<std::vector<Part>>& parts_of, const ReadPack& read_pack,
                         const std::function<bool()>& goes_on)
{
    HEARTH_TRY_SET(const Bytes bytes, read_pack(pack));
    for (const std::uint32_t number : pieces) {
        const Piece& piece = m_capture.pieces[number];
        const Bytes content = bytes.slice(piece.offset, piece.size);
        if (content_key(content) != piece.content)
            return error(Code::corrupt, "{}",
                         "The capture's contents are not what it says they are. Nothing was "
                         "written.");
        for (const Part& part : parts_of[number]) {
            HEARTH_TRY(write_part(part, content));
            if (!goes_on())
                return stopped();
        }
    }
    return {};
}

Status Stage::write_part(const Part& part, ByteView content) const
{
    const Item& item = m_capture.items[part.item];
    const auto [folder, name] = open_parent(m_stage, item.path);
    Descriptor file(::openat(folder.get(), name.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    if (file.get() < 0)
        return cannot_write(item.path, errno);
    for (std::size_t done = 0; done < content.size();) {
        const ssize_t got =
            ::pwrite(file.get(), content.data() + done, content.size() - done, static_cast<off_t>(part.offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return cannot_write(item.path, got < 0 ? errno : ENOSPC);
        done += static_cast<std::size_t>(got);
    }
    return file.reset() == 0 ? Status{} : Status{cannot_write(item.path, errno)};
}

// Times and modes, folders last and from the inside out: what is written into a folder changes its time. Then all of it
// is synced at once, or a power cut could leave names in place without what is in them. (A sync for each of 5000 files
// took 8 s.)
Status Stage::finish_items(const std::vector<bool>& needed)
{
    for (std::size_t i = m_capture.items.size(); i > 0; --i) {
        const Item& item = m_capture.items[i - 1];
        const std::array<timespec, 2> times = times_of(item);
        if (item.kind != Kind::folder && !needed[i - 1])
            continue;
        const auto [folder, name] = open_parent(m_stage, item.path);
        if (item.kind == Kind::link) {
            ::utimensat(folder.get(), name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
            ++m_files;
            continue;
        }
        const bool is_folder = item.kind == Kind::folder;
        Descriptor file(::openat(folder.get(), name.c_str(),
                                 (is_folder ? O_RDONLY | O_DIRECTORY : O_WRONLY) | O_NOFOLLOW | O_CLOEXEC));
        if (file.get() < 0 || ::fchmod(file.get(), restored_mode(item)) != 0 ||
            ::futimens(file.get(), times.data()) != 0)
            return cannot_write(item.path, errno);
        if (!is_folder) {
            ++m_files;
            m_bytes += m_capture.size_of(item);
        }
    }
    if (m_files != 0 && ::syncfs(m_stage) != 0)
        return cannot_write(std::string(k_staging), errno);
    return {};
}

Status Stage::move_into_place(Existing existing)
{
    return merge(m_stage, m_top, "", existing);
}

Error Stage::cannot_move(const std::string& path, int error) const
{
    return hearth::error(error == ENOSPC || error == EDQUOT ? Code::no_space : Code::io,
                         "{} cannot be moved into {}: {}. What was moved before it is whole; restore again.",
                         in_quotes(path), in_quotes(m_directory), system_error(error));
}

Status Stage::merge(int from, int to, const std::string& path, Existing existing) const
{
    const std::optional<std::vector<std::string>> names = names_in(from);
    if (!names)
        return cannot_move(path.empty() ? std::string(k_staging) : path, errno);
    for (const std::string& name : *names) {
        if (move_to_free_name(from, to, name.c_str()))
            continue;
        const std::string below = path.empty() ? name : path + "/" + name;
        const int why = errno;
        if (why != EEXIST && why != ENOTEMPTY && why != EXDEV)
            return cannot_move(below, why);
        struct stat status {};
        if (::fstatat(from, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            return cannot_move(below, errno);
        if (S_ISDIR(status.st_mode)) {
            HEARTH_TRY(move_folder(from, to, name, below, existing));
            continue;
        }
        if (why != EXDEV && (existing == Existing::keep || ::renameat(from, name.c_str(), to, name.c_str()) == 0))
            continue;
        if ((why != EXDEV && errno != EXDEV) || !move_across(from, to, name.c_str(), existing))
            return cannot_move(below, errno);
    }
    return {};
}

// What is in a staged folder, to where a folder of that name is or, in another file system, is to be.
Status Stage::move_folder(int from, int to, const std::string& name, const std::string& path, Existing existing) const
{
    const bool is_new = ::mkdirat(to, name.c_str(), k_owner) == 0;
    if (!is_new && errno != EEXIST)
        return cannot_move(path, errno);
    const Descriptor inner(::openat(from, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (inner.get() < 0 || ::fstat(inner.get(), &status) != 0)
        return cannot_move(path, errno);
    const Descriptor there(::openat(to, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat theirs {};
    if (there.get() < 0 || ::fstat(there.get(), &theirs) != 0 || is_of_another_user(theirs))
        return error(Code::denied,
                     "{} in {} has become a link, a file or another user's meanwhile. What was moved before it is "
                     "whole; restore again.",
                     in_quotes(path), in_quotes(m_directory));
    HEARTH_TRY(merge(inner.get(), there.get(), path, existing));
    const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, status.st_mtim};
    if (is_new && (::fchmod(there.get(), status.st_mode & 0777U) != 0 || ::futimens(there.get(), times.data()) != 0))
        return cannot_move(path, errno);
    return {};
}

Status Stage::touch(const Item& item) const
{
    const bool is_folder = item.kind == Kind::folder;
    const auto [folder, name] = open_parent(m_top, item.path);
    const Descriptor file(::openat(folder.get(), name.c_str(),
                                   O_RDONLY | (is_folder ? O_DIRECTORY : 0) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const std::array<timespec, 2> times = times_of(item);
    struct stat status {};
    // What has another name elsewhere by now, or another owner, is changed by nobody here.
    if (file.get() >= 0 && ::fstat(file.get(), &status) == 0 &&
        (is_of_another_user(status) || (!is_folder && status.st_nlink > 1)))
        return {};
    if (file.get() < 0 || ::fchmod(file.get(), restored_mode(item)) != 0 ||
        (!is_folder && ::futimens(file.get(), times.data()) != 0))
        return error(Code::io, "All contents are restored, but {} in {} cannot be given its mode{}: {}.",
                     in_quotes(item.path), in_quotes(m_directory), is_folder ? "" : " and time", system_error(errno));
    return {};
}

}  // namespace hearth::cli::carry
