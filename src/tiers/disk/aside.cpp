#include "tiers/disk/aside.hpp"

#include "base/clock.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <vector>

namespace hearth::tiers {

namespace {

// Formats put their files four folders deep at most. What is deeper was made by somebody else.
constexpr int k_deepest = 6;

struct Copy {
    std::string name;
    std::uint64_t bytes = 0;
    WallTime modified{};
};

std::vector<std::string> names_in(base::Files& files, const base::FileHandle& folder)
{
    std::vector<std::string> names;
    if (!folder.open() || files.list({folder.fd(), "."}, names) != 0)
        names.clear();
    return names;
}

std::vector<Copy> copies_in(base::Files& files, const base::FileHandle& quarantine)
{
    std::vector<Copy> copies;
    for (const std::string& name : names_in(files, quarantine)) {
        base::FileStat stat;
        if (Layout::names_key(name) && files.stat({quarantine.fd(), name}, stat) == 0 &&
            stat.type == base::FileType::file)
            copies.push_back({name, stat.size, stat.modified});
    }
    return copies;
}

struct Tree {
    std::uint64_t bytes = 0;
    WallTime newest = WallTime::min();
    bool known = true;  // all of it could be looked at
};

void measure(base::Files& files, base::At at, int depth, Tree& tree)
{
    base::FileStat stat;
    if (depth > k_deepest || files.stat(at, stat) != 0) {
        tree.known = false;
        return;
    }
    tree.newest = std::max(tree.newest, stat.modified);
    if (stat.type != base::FileType::directory) {
        tree.bytes += stat.size;
        return;
    }
    const base::FileHandle folder(files, files.open(at, O_PATH | O_DIRECTORY, 0));
    std::vector<std::string> names;
    tree.known &= folder.open() && files.list({folder.fd(), "."}, names) == 0;
    for (const std::string& name : names)
        measure(files, {folder.fd(), name}, depth + 1, tree);
}

void remove_tree(base::Files& files, base::At at, int depth)
{
    {
        const base::FileHandle folder(files, files.open(at, O_PATH | O_DIRECTORY, 0));
        if (!folder.open()) {
            files.unlink(at);
            return;
        }
        for (const std::string& name : depth < k_deepest ? names_in(files, folder) : std::vector<std::string>{})
            remove_tree(files, {folder.fd(), name}, depth + 1);
    }
    files.rmdir(at);
}

// A folder of that name may be a user's. What we make says that it is a cache.
bool is_older_format(base::Files& files, const base::FileHandle& top, const std::string& name)
{
    if (!name.starts_with('v'))
        return false;
    const auto version = base::parse_number<unsigned>(name.substr(1));
    const base::FileHandle folder(files, files.open({top.fd(), name}, O_PATH | O_DIRECTORY, 0));
    base::FileStat tag;
    return version && *version < Layout::k_version && folder.open() &&
           files.stat({folder.fd(), Layout::k_tag}, tag) == 0 && tag.type == base::FileType::file;
}

template <class Visit>
void for_each_older_format(const CacheDirectory& directory, const Visit& visit)
{
    base::Files& files = directory.files();
    const base::FileHandle top = directory.open_folder(directory.layout().directory());
    for (const std::string& name : names_in(files, top)) {
        if (!is_older_format(files, top, name))
            continue;
        Tree tree;
        measure(files, {top.fd(), name}, 0, tree);
        visit(base::At(top.fd(), name), tree);
    }
}

}  // namespace

std::uint64_t aside_bytes(const CacheDirectory& directory)
{
    std::uint64_t sum = 0;
    for (const Copy& copy : copies_in(directory.files(), directory.open_folder(directory.layout().quarantine())))
        sum += copy.bytes;
    for_each_older_format(directory, [&](base::At, const Tree& tree) { sum += tree.bytes; });
    return sum;
}

void sweep_quarantine(const CacheDirectory& directory, std::uint64_t most, WallTime now)
{
    base::Files& files = directory.files();
    const base::FileHandle folder = directory.open_folder(directory.layout().quarantine());
    std::vector<Copy> copies = copies_in(files, folder);
    std::sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) { return a.modified > b.modified; });
    const WallTime since = base::time_before(now, k_aside_kept);
    std::uint64_t kept = 0;
    for (const Copy& copy : copies) {
        kept += copy.bytes;
        if (kept > most || copy.modified < since)
            files.unlink({folder.fd(), copy.name});
    }
}

void sweep_older_formats(const CacheDirectory& directory, WallTime now)
{
    for_each_older_format(directory, [&](base::At at, const Tree& tree) {
        if (tree.known && tree.newest < base::time_before(now, k_aside_kept))
            remove_tree(directory.files(), at, 0);
    });
}

}  // namespace hearth::tiers
