#include "support/recording_files.hpp"

#include "support/scratch_directory.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <set>

namespace hearth::test {

using Change = RecordingFiles::Change;
using Kind = Change::Kind;

std::vector<Change> RecordingFiles::changes() const
{
    const std::lock_guard lock(m_mutex);
    return m_changes;
}

std::optional<std::string> RecordingFiles::relative(base::At at) const
{
    std::string whole = at.name;
    if (at.folder != AT_FDCWD) {
        const auto folder = m_folders.find(at.folder);
        if (folder == m_folders.end())
            return std::nullopt;
        whole = m_folder + folder->second + (folder->second.empty() ? "" : "/") + whole;
    }
    if (whole.ends_with("/."))
        whole.pop_back();
    if (!whole.starts_with(m_folder))
        return std::nullopt;
    return whole.substr(m_folder.size());
}

int RecordingFiles::open(base::At at, int flags, unsigned mode)
{
    const std::lock_guard lock(m_mutex);
    const int fd = ForwardingFiles::open(at, flags, mode);
    const std::optional<std::string> name = relative(at);
    if (fd < 0 || !name)
        return fd;
    if ((flags & O_DIRECTORY) != 0)
        m_folders[fd] = *name;
    auto named = m_named.find(*name);
    if (named == m_named.end() && (flags & O_CREAT) != 0) {
        named = m_named.emplace(*name, ++m_last_file).first;
        m_changes.push_back({.kind = Kind::create, .file = named->second, .path = *name});
    }
    m_open[fd] = named == m_named.end() ? 0 : named->second;
    return fd;
}

int RecordingFiles::close(int fd)
{
    const std::lock_guard lock(m_mutex);
    m_open.erase(fd);
    m_folders.erase(fd);
    return ForwardingFiles::close(fd);
}

ssize_t RecordingFiles::pwrite(int fd, const void* buffer, std::size_t size, std::uint64_t offset)
{
    const std::lock_guard lock(m_mutex);
    const ssize_t put = ForwardingFiles::pwrite(fd, buffer, size, offset);
    if (put > 0 && m_open.contains(fd))
        m_changes.push_back({.kind = Kind::write,
                             .file = m_open.at(fd),
                             .data = std::string(static_cast<const char*>(buffer), static_cast<std::size_t>(put)),
                             .where = offset});
    return put;
}

int RecordingFiles::truncate(int fd, std::uint64_t size)
{
    const std::lock_guard lock(m_mutex);
    return noted(ForwardingFiles::truncate(fd, size), fd, Kind::truncate, size);
}

int RecordingFiles::sync(int fd)
{
    const std::lock_guard lock(m_mutex);
    return noted(ForwardingFiles::sync(fd), fd, Kind::sync, 0);
}

int RecordingFiles::rename(base::At from, base::At to)
{
    const std::lock_guard lock(m_mutex);
    const int result = ForwardingFiles::rename(from, to);
    const auto named = m_named.find(relative(from).value_or(""));
    if (result == 0 && named != m_named.end()) {
        const auto [path, file] = *named;
        const std::string target = relative(to).value_or("");
        m_named.erase(named);
        m_named[target] = file;
        m_changes.push_back({.kind = Kind::rename, .file = file, .path = path, .to = target});
    }
    return result;
}

int RecordingFiles::unlink(base::At at)
{
    const std::lock_guard lock(m_mutex);
    const int result = ForwardingFiles::unlink(at);
    const auto named = m_named.find(relative(at).value_or(""));
    if (result == 0 && named != m_named.end()) {
        m_changes.push_back({.kind = Kind::unlink, .file = named->second, .path = named->first});
        m_named.erase(named);
    }
    return result;
}

int RecordingFiles::mkdir(base::At at, unsigned mode)
{
    const std::lock_guard lock(m_mutex);
    return noted(ForwardingFiles::mkdir(at, mode), at, Kind::mkdir);
}

int RecordingFiles::rmdir(base::At at)
{
    const std::lock_guard lock(m_mutex);
    return noted(ForwardingFiles::rmdir(at), at, Kind::rmdir);
}

int RecordingFiles::noted(int result, base::At folder, Kind kind)
{
    if (const auto name = relative(folder); result == 0 && name)
        m_changes.push_back({.kind = kind, .path = *name});
    return result;
}

int RecordingFiles::noted(int result, int fd, Kind kind, std::uint64_t where)
{
    if (result == 0 && m_open.contains(fd))
        m_changes.push_back({.kind = kind, .file = m_open.at(fd), .where = where});
    return result;
}

namespace {

// The disk as it is put together again, change by change.
class Disk {
public:
    void name(const Change& change)
    {
        switch (change.kind) {
        case Kind::create:
            m_names[change.path] = change.file;
            break;
        case Kind::rename:
            forget(change.path, change.file);
            m_names[change.to] = change.file;
            break;
        case Kind::unlink:
            forget(change.path, change.file);
            break;
        case Kind::mkdir:
            m_folders.insert(change.path);
            break;
        case Kind::rmdir:
            m_folders.erase(change.path);
            break;
        default:
            break;
        }
    }
    void write(std::uint64_t file, std::uint64_t where, const std::string& data)
    {
        std::string& content = m_contents[file];
        content.resize(std::max<std::size_t>(content.size(), where + data.size()), '\0');
        content.replace(where, data.size(), data);
    }
    void truncate(std::uint64_t file, std::uint64_t size) { m_contents[file].resize(size, '\0'); }

    void put(const std::string& into)
    {
        namespace fs = std::filesystem;
        for (const std::string& folder : m_folders)
            fs::create_directories(into + "/" + folder);
        for (const auto& [path, file] : m_names) {
            const std::string whole = into + "/" + path;
            fs::create_directories(fs::path(whole).parent_path());
            write_file(whole, m_contents[file]);
        }
    }

private:
    void forget(const std::string& path, std::uint64_t file)
    {
        const auto named = m_names.find(path);
        if (named != m_names.end() && named->second == file)
            m_names.erase(named);
    }

    std::map<std::string, std::uint64_t> m_names;
    std::set<std::string> m_folders;
    std::map<std::uint64_t, std::string> m_contents;
};

bool is_naming(Kind kind)
{
    return kind != Kind::write && kind != Kind::truncate && kind != Kind::sync;
}

void write_or_lose(Disk& disk, const Change& change, bool zeroed, std::mt19937_64& random)
{
    if (change.kind == Kind::truncate) {
        if (random() % 2 == 0)
            disk.truncate(change.file, change.where);
        return;
    }
    const std::size_t size = change.data.size();
    const std::size_t torn_at = random() % (size + 1);
    switch (zeroed ? random() % 2 : random() % 5) {
    case 0:  // lost without a trace
        break;
    case 1:  // the length was kept, the bytes were not
        disk.write(change.file, change.where, std::string(size, '\0'));
        break;
    case 2:  // torn: the rest never came
        disk.write(change.file, change.where, change.data.substr(0, torn_at));
        break;
    case 3:  // torn: the rest is zeros
        disk.write(change.file, change.where, change.data.substr(0, torn_at) + std::string(size - torn_at, '\0'));
        break;
    default:
        disk.write(change.file, change.where, change.data);
    }
}

}  // namespace

void power_cut(const std::vector<Change>& changes, std::size_t count, PowerCut kind, std::mt19937_64& random,
               const std::string& into)
{
    // Up to where each file's data, and with a directory's sync the names, were made safe.
    std::map<std::uint64_t, std::size_t> synced;
    for (std::size_t i = 0; i < count; ++i)
        if (changes[i].kind == Kind::sync)
            synced[changes[i].file] = i;
    std::size_t names_until = count;
    if (kind == PowerCut::keeps_old_names)
        names_until = synced[0] + random() % (count - synced[0] + 1);

    Disk disk;
    for (std::size_t i = 0; i < count; ++i) {
        const Change& change = changes[i];
        const bool safe = kind == PowerCut::keeps_all || i < synced[is_naming(change.kind) ? 0 : change.file];
        if (is_naming(change.kind)) {
            if (safe || kind == PowerCut::loses_data || (kind == PowerCut::keeps_old_names && i < names_until) ||
                (kind == PowerCut::keeps_any && random() % 4 != 0))
                disk.name(change);
        } else if (change.kind != Kind::sync && safe) {
            if (change.kind == Kind::write)
                disk.write(change.file, change.where, change.data);
            else
                disk.truncate(change.file, change.where);
        } else if (change.kind != Kind::sync) {
            write_or_lose(disk, change, kind == PowerCut::loses_data, random);
        }
    }
    disk.put(into);
}

}  // namespace hearth::test
