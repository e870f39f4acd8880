#include "carry/write_tree.hpp"

#include "base/error.hpp"
#include "carry/below.hpp"
#include "carry/file_facts.hpp"
#include "carry/stage.hpp"
#include "process/descriptor.hpp"
#include "process/folder_lock.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::cli::carry {

namespace {

// Compares a capture with what is in a directory, and says which items have to be written.
class Plan {
public:
    Plan(const Capture& capture, int top, Existing existing) : m_capture(capture), m_top(top), m_existing(existing) {}

    Status make()
    {
        needed.resize(m_capture.items.size());
        for (std::size_t i = 0; i < m_capture.items.size(); ++i)
            HEARTH_TRY(look_at(i));
        return {};
    }

    std::vector<bool> needed;
    std::vector<std::size_t> touched;  // the same content, but another time or mode; folders of another mode
    Written written;

private:
    Status look_at(std::size_t number);
    bool has_content(int folder, const char* name, const struct stat& status, const Item& item) const;

    const Capture& m_capture;
    int m_top;
    Existing m_existing;
};

Kind kind_of(const struct stat& status)
{
    return S_ISDIR(status.st_mode)   ? Kind::folder
           : S_ISLNK(status.st_mode) ? Kind::link
           : S_ISREG(status.st_mode) ? Kind::file
                                     : Kind{};
}

Status Plan::look_at(std::size_t number)
{
    const Item& item = m_capture.items[number];
    const auto [folder, name] = open_parent(m_top, item.path);
    struct stat status {};
    if (folder.get() < 0 || ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        // An item in a folder that is a link or a file here is refused with that folder, which comes first.
        needed[number] = true;
        return {};
    }
    const Kind there = kind_of(status);
    const bool is_file = there == Kind::file || there == Kind::link;
    if (there != item.kind && !(is_file && item.kind != Kind::folder))
        return error(Code::denied,
                     "{} in the directory is not what the capture holds there ({} instead of {}). Remove it and "
                     "restore again; nothing was written.",
                     in_quotes(item.path),
                     there == Kind::folder ? "a folder"
                     : there == Kind::link ? "a link"
                     : there == Kind::file ? "a file"
                                           : "something else",
                     item.kind == Kind::folder ? "a folder" : "a file");
    const mode_t mode = status.st_mode & 0777U;
    if (item.kind == Kind::folder) {
        if (is_of_another_user(status))
            return error(Code::denied,
                         "{} in the directory belongs to another user ({}). Remove it or change its owner, and restore "
                         "again; nothing was written.",
                         in_quotes(item.path), status.st_uid);
        if (m_existing == Existing::replace && mode != restored_mode(item))
            touched.push_back(number);
        return {};
    }
    // What is to stay need not be read.
    bool same =
        m_existing == Existing::keep || (there == item.kind && has_content(folder.get(), name.c_str(), status, item));
    if (same && item.kind == Kind::file && m_existing == Existing::replace) {
        const bool touch = nanoseconds_of(status.st_mtim) != item.modified || mode != item.mode;
        // Only an owner sets times, and what has another name elsewhere would change there too: these are replaced.
        if (is_of_another_user(status) || (touch && (status.st_nlink > 1 || status.st_uid != ::geteuid())))
            same = false;
        else if (touch)
            touched.push_back(number);
    }
    needed[number] = !same;
    written.same += same ? 1 : 0;
    return {};
}

bool Plan::has_content(int folder, const char* name, const struct stat& status, const Item& item) const
{
    if (item.kind == Kind::link) {
        std::array<char, PATH_MAX> target{};
        const ssize_t length = ::readlinkat(folder, name, target.data(), target.size());
        return length >= 0 && std::string_view(target.data(), static_cast<std::size_t>(length)) == item.target;
    }
    if (static_cast<std::uint64_t>(status.st_size) != m_capture.size_of(item))
        return false;
    const Descriptor file(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    std::vector<std::byte> piece;
    off_t offset = 0;
    for (const std::uint32_t number : item.pieces) {
        piece.resize(m_capture.pieces[number].size);
        for (std::size_t have = 0; have < piece.size();) {
            const ssize_t got =
                ::pread(file.get(), piece.data() + have, piece.size() - have, offset + static_cast<off_t>(have));
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return false;
            have += static_cast<std::size_t>(got);
        }
        if (content_key(piece) != m_capture.pieces[number].content)
            return false;
        offset += static_cast<off_t>(piece.size());
    }
    return true;
}

}  // namespace

Result<Written> write_tree(const Capture& capture, const OpenPlace& place, const WriteOptions& options,
                           const ReadPack& read_pack, const Progress& progress)
{
    const FolderLock lock(Descriptor(::openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                          std::string(k_lock), place.directory(), [&] { return !progress || progress(0, 0); });
    // A limit on the size of files is to be an error like a full disk, not the end of this process.
    std::signal(SIGXFSZ, SIG_IGN);
    Plan plan(capture, place.get(), options.existing);
    HEARTH_TRY(plan.make());
    Stage stage(capture, place.directory(), place.get());
    // Before anything else, so that no moment is without it.
    const bool changes = !plan.touched.empty() || std::ranges::find(plan.needed, true) != plan.needed.end();
    const bool was_marked = has_unsigned_mark(place.get());
    if (changes && !options.is_trusted && !set_unsigned_mark(place.get()))
        return error(Code::io, "The mark {} cannot be made in {}: {}. The directory is as it was.", k_unsigned_mark,
                     in_quotes(place.directory()), system_error(errno));
    if (Status prepared = stage.prepare(plan.needed, read_pack, progress); !prepared) {
        if (!was_marked)
            ::unlinkat(place.get(), std::string(k_unsigned_mark).c_str(), 0);
        return prepared.error();
    }
    HEARTH_TRY(stage.move_into_place(options.existing));
    for (const std::size_t number : plan.touched)
        HEARTH_TRY(stage.touch(capture.items[number]));
    plan.written.files = stage.files();
    plan.written.bytes = stage.bytes();
    return plan.written;
}

}  // namespace hearth::cli::carry
