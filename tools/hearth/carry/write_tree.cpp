#include "carry/write_tree.hpp"

#include "base/error.hpp"
#include "carry/file_facts.hpp"
#include "carry/stage.hpp"
#include "process/descriptor.hpp"
#include "process/folder_lock.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::cli::carry {

namespace {

namespace fs = std::filesystem;

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
    if (folder->get() < 0 || ::fstatat(folder->get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
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
        m_existing == Existing::keep || (there == item.kind && has_content(folder->get(), name.c_str(), status, item));
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

// The directory, made if it is not there, and removed again if nothing came of it.
class Target {
public:
    explicit Target(const std::string& directory)
    {
        std::error_code error;
        for (fs::path path = directory; !path.empty() && !fs::exists(path, error) && path != path.root_path();
             path = path.parent_path())
            m_made.push_back(path.string());
        fs::create_directories(directory, error);
    }
    ~Target()
    {
        for (const std::string& path : m_made)
            if (::rmdir(path.c_str()) != 0)  // only what is empty goes
                return;
    }
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

private:
    std::vector<std::string> m_made;  // innermost first
};

}  // namespace

Result<Written> write_tree(const Capture& capture, const std::string& directory, Existing existing,
                           const ReadPack& read_pack, const Progress& progress)
{
    const Target target(directory);
    const Descriptor top(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (top.get() < 0)
        return error(Code::io, "The directory {} cannot be opened: {}. Change its permissions or free its place.",
                     in_quotes(directory), system_error(errno));
    struct stat status {};
    if (::fstat(top.get(), &status) == 0 && is_of_another_user(status))
        return error(Code::denied,
                     "The directory {} belongs to another user ({}), who could change what is restored. Nothing was "
                     "written. Remove it or change its owner.",
                     in_quotes(directory), status.st_uid);
    const FolderLock lock(directory + "/" + std::string(k_staging), [&] { return !progress || progress(0, 0); });
    // A limit on the size of files is to be an error like a full disk, not the end of this process.
    std::signal(SIGXFSZ, SIG_IGN);
    Plan plan(capture, top.get(), existing);
    HEARTH_TRY(plan.make());
    Stage stage(capture, directory, top.get());
    HEARTH_TRY(stage.prepare(plan.needed, read_pack, progress));
    HEARTH_TRY(stage.move_into_place(existing));
    for (const std::size_t number : plan.touched)
        HEARTH_TRY(stage.touch(capture.items[number]));
    plan.written.files = stage.files();
    plan.written.bytes = stage.bytes();
    return plan.written;
}

}  // namespace hearth::cli::carry
