#include "carry/read_tree.hpp"

#include "base/error.hpp"
#include "carry/below.hpp"
#include "carry/file_facts.hpp"
#include "hearth/units.hpp"
#include "process/descriptor.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::cli::carry {

namespace {

// How often something that changes is read again, and how long it is left in peace before.
constexpr int k_attempts = 3;
constexpr std::chrono::milliseconds k_rest(20);

bool same_time(const timespec& a, const timespec& b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool is_unchanged(const struct stat& a, const struct stat& b)
{
    return a.st_size == b.st_size && a.st_ino == b.st_ino && same_time(a.st_mtim, b.st_mtim) &&
           same_time(a.st_ctim, b.st_ctim);
}

// The clock of a file system ticks every few milliseconds: a change within one tick would not be seen.
bool was_changed_just_now(const struct stat& status)
{
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const auto since = std::chrono::seconds(now.tv_sec - status.st_ctim.tv_sec) +
                       std::chrono::nanoseconds(now.tv_nsec - status.st_ctim.tv_nsec);
    return since >= since.zero() && since < k_rest;
}

// The system grants a read lease only if nobody has the file open for writing. Where it grants none to us, as for files
// of others and on some file systems, that is not known, and the times of the file have to do.
bool is_being_written(int file)
{
    if (::fcntl(file, F_SETLEASE, F_RDLCK) == 0) {
        ::fcntl(file, F_SETLEASE, F_UNLCK);
        return false;
    }
    return errno == EAGAIN;
}

constexpr const char* k_passing = "is a lock or a temporary file";

// Locks and temporary files of the tools. PyTorch waits for ever for a "lock" that nobody will remove. Of folders only
// Triton's are known to be temporary: a folder named "lock" may hold anything.
bool is_passing(std::string_view name, bool is_folder)
{
    if (is_folder)
        return name.starts_with("tmp.pid_");
    return name == "lock" || name.ends_with(".lock") || name.ends_with(".tmp") || name.starts_with("tmp.pid_") ||
           name == ".ninja_lock";
}

// By the tag that every cache of Hearth has. To capture one would be to store what was stored, each time anew.
bool is_cache_of_hearth(int folder)
{
    constexpr std::string_view k_words = "# Hearth keeps";
    std::array<char, 256> text{};
    const Descriptor tag(::openat(folder, "CACHEDIR.TAG", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const ssize_t length = tag.get() >= 0 ? ::read(tag.get(), text.data(), text.size()) : 0;
    return length > 0 &&
           std::string_view(text.data(), static_cast<std::size_t>(length)).find(k_words) != std::string_view::npos;
}

class Reader {
public:
    Reader(const OpenPlace& place, Marked marked, Packer& packer, const Bounds& bounds, const Progress& progress)
        : m_place(place), m_marked(marked), m_packer(packer), m_bounds(bounds), m_progress(progress)
    {
    }

    Status read_folder(int folder, const std::string& path);
    Status check_marks() const;
    Tree take()
    {
        std::sort(m_tree.items.begin(), m_tree.items.end(),
                  [](const Item& a, const Item& b) { return a.path < b.path; });
        // Of many only the first are shown.
        std::stable_partition(m_tree.left_out.begin(), m_tree.left_out.end(),
                              [](const Tree::LeftOut& one) { return one.why != k_passing; });
        return std::move(m_tree);
    }

private:
    struct ReadFile {
        std::vector<std::uint32_t> pieces;
        std::uint64_t bytes = 0;
    };

    Status read_inner(int folder, const std::string& name, const std::string& path);
    Status read_names(int folder, const std::string& path, std::vector<std::string>& folders);
    Status read_file(int folder, const char* name, Item item);
    Result<std::optional<ReadFile>> try_file(int file, const struct stat& before);
    Status add(Item item, std::uint64_t bytes);
    void leave_out(const std::string& path, std::string why) { m_tree.left_out.push_back({path, std::move(why)}); }

    const OpenPlace& m_place;
    Marked m_marked;
    Packer& m_packer;
    const Bounds& m_bounds;
    const Progress& m_progress;
    Tree m_tree;
};

Item item_of(Kind kind, const std::string& path, const struct stat& status)
{
    return {.kind = kind,
            .mode = static_cast<std::uint16_t>(status.st_mode & 0777U),
            .modified = nanoseconds_of(status.st_mtim),
            .path = path};
}

Status Reader::add(Item item, std::uint64_t bytes)
{
    m_tree.items.push_back(std::move(item));
    m_tree.bytes += bytes;
    if (m_tree.items.size() > m_bounds.items)
        return error(Code::too_large, "There are more than {} files and folders. Allow more with --max-files.",
                     m_bounds.items);
    if (m_tree.bytes > m_bounds.bytes)
        return error(Code::too_large, "The files take more than {}. Allow more with --max-bytes.",
                     format_size(m_bounds.bytes));
    if (m_progress && !m_progress(m_tree.items.size(), 0))
        return error(Code::timeout, "{}", "The reading was stopped.");
    return {};
}

// A restore makes its mark before anything else. So whoever finds none when all is read has read nothing of one that
// was under way.
Status Reader::check_marks() const
{
    if (m_marked == Marked::take)
        return {};
    const auto refused = [&](const std::string& path) {
        return error(Code::denied,
                     "What is in {} was restored without a trusted signature, or made from that, so it cannot be "
                     "signed. Remove the directory and let its program fill it anew, or capture it without a key "
                     "(HEARTH_SIGN_WITH, --sign-with).",
                     in_quotes(path));
    };
    if (m_place.is_below_mark() || has_unsigned_mark(m_place.get()))
        return refused(m_place.directory());
    for (const Item& item : m_tree.items)
        if (item.kind == Kind::folder && has_unsigned_mark(m_place.get(), item.path))
            return refused(m_place.directory() + "/" + item.path);
    return {};
}

// Files and links of a folder, and the names of its folders. Listed again if names come and go meanwhile: what a tool
// writes last tells that the rest is there, so the rest has to be in the listing too.
Status Reader::read_folder(int folder, const std::string& path)
{
    std::vector<std::string> folders;
    for (int attempt = 1; attempt <= k_attempts; ++attempt) {
        struct stat before {};
        struct stat after {};
        if (::fstat(folder, &before) != 0)
            break;
        const std::size_t items = m_tree.items.size();
        const std::size_t left_out = m_tree.left_out.size();
        const std::uint64_t bytes = m_tree.bytes;
        folders.clear();
        HEARTH_TRY(read_names(folder, path, folders));
        if ((::fstat(folder, &after) == 0 && is_unchanged(before, after)) || attempt == k_attempts)
            break;
        m_tree.items.resize(items);
        m_tree.left_out.resize(left_out);
        m_tree.bytes = bytes;
    }
    for (const std::string& name : folders)
        HEARTH_TRY(read_inner(folder, name, path.empty() ? name : path + "/" + name));
    return {};
}

Status Reader::read_inner(int folder, const std::string& name, const std::string& path)
{
    const Descriptor inner(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (inner.get() < 0 || ::fstat(inner.get(), &status) != 0) {
        if (errno != ENOENT)
            leave_out(path, "cannot be read: " + system_error(errno));
        return {};
    }
    if (is_of_another_user(status)) {
        leave_out(path, "belongs to another user");
        return {};
    }
    if (is_cache_of_hearth(inner.get())) {
        leave_out(path, "is a cache of Hearth");
        return {};
    }
    HEARTH_TRY(add(item_of(Kind::folder, path, status), 0));
    return read_folder(inner.get(), path);
}

Status Reader::read_names(int folder, const std::string& path, std::vector<std::string>& folders)
{
    const std::optional<std::vector<std::string>> names = names_in(folder);
    if (!names) {
        leave_out(path, "cannot be listed: " + system_error(errno));
        return {};
    }
    for (const std::string& name : *names) {
        const std::string below = path.empty() ? name : path + "/" + name;
        struct stat status {};
        if (name == k_staging || name == k_lock || name == k_unsigned_mark ||
            ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (is_passing(name, S_ISDIR(status.st_mode))) {
            leave_out(below, k_passing);
        } else if (below.size() > k_longest_path) {
            leave_out(below.substr(0, 100) + "...", "has a path that is too long");
        } else if (S_ISDIR(status.st_mode)) {
            folders.push_back(name);
        } else if (S_ISREG(status.st_mode)) {
            HEARTH_TRY(read_file(folder, name.c_str(), item_of(Kind::file, below, status)));
        } else if (S_ISLNK(status.st_mode)) {
            std::array<char, PATH_MAX> target{};
            const ssize_t length = ::readlinkat(folder, name.c_str(), target.data(), target.size());
            Item link = item_of(Kind::link, below, status);
            link.target.assign(target.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
            if (stays_inside(link))
                HEARTH_TRY(add(std::move(link), 0));
            else
                leave_out(below, "is a link out of the directory, or one that cannot be followed by its words alone");
        } else {
            leave_out(below, "is neither a file nor a folder nor a link");
        }
    }
    return {};
}

Status Reader::read_file(int folder, const char* name, Item item)
{
    const Descriptor file(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file.get() < 0) {
        if (errno != ENOENT)
            leave_out(item.path, "cannot be read: " + system_error(errno));
        return {};
    }
    for (int attempt = 1; attempt <= k_attempts; ++attempt) {
        struct stat before {};
        if (::fstat(file.get(), &before) != 0 || !S_ISREG(before.st_mode))
            return {};
        if (is_of_another_user(before)) {
            leave_out(item.path, "belongs to another user");
            return {};
        }
        if (const std::int64_t time = nanoseconds_of(before.st_mtim); time == k_first_time || time == k_last_time) {
            leave_out(item.path, "has a time before 1677 or after 2262");
            return {};
        }
        if (was_changed_just_now(before))
            std::this_thread::sleep_for(k_rest);
        HEARTH_TRY_SET(std::optional<ReadFile> read, try_file(file.get(), before));
        if (!read) {
            std::this_thread::sleep_for(k_rest);
            continue;
        }
        Item whole = item_of(Kind::file, item.path, before);
        whole.pieces = std::move(read->pieces);
        return add(std::move(whole), read->bytes);
    }
    leave_out(item.path, "is being written");
    return {};
}

// None: it changed meanwhile, or somebody writes it.
Result<std::optional<Reader::ReadFile>> Reader::try_file(int file, const struct stat& before)
{
    const auto size = static_cast<std::uint64_t>(before.st_size);
    if (size > m_bounds.bytes)
        return error(Code::too_large, "The files take more than {}. Allow more with --max-bytes.",
                     format_size(m_bounds.bytes));
    const auto is_whole = [&] {
        struct stat after {};
        return ::fstat(file, &after) == 0 && is_unchanged(before, after) && !is_being_written(file);
    };
    ReadFile read;
    while (read.bytes < size) {
        std::vector<std::byte> piece(static_cast<std::size_t>(std::min(k_piece_bytes, size - read.bytes)));
        std::size_t have = 0;
        while (have < piece.size()) {
            const ssize_t got =
                ::pread(file, piece.data() + have, piece.size() - have, static_cast<off_t>(read.bytes + have));
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return std::optional<ReadFile>{};
            have += static_cast<std::size_t>(got);
        }
        read.bytes += have;
        // What is read in one piece is looked at again before anything is kept of it.
        if (size <= k_piece_bytes && !is_whole())
            return std::optional<ReadFile>{};
        HEARTH_TRY_SET(const std::uint32_t number, m_packer.add(Bytes::adopt(std::move(piece))));
        read.pieces.push_back(number);
    }
    return is_whole() ? std::optional(std::move(read)) : std::nullopt;
}

}  // namespace

Result<Tree> read_tree(const OpenPlace& place, Marked marked, Packer& packer, const Bounds& bounds,
                       const Progress& progress)
{
    // Whoever opens a file for writing while a lease on it is held makes the system send this.
    std::signal(SIGIO, SIG_IGN);
    Reader reader(place, marked, packer, bounds, progress);
    HEARTH_TRY(reader.check_marks());  // soon told, where it is so already
    HEARTH_TRY(reader.read_folder(place.get(), ""));
    HEARTH_TRY(packer.finish());
    HEARTH_TRY(reader.check_marks());
    return reader.take();
}

}  // namespace hearth::cli::carry
