#include "cache/directory_facts.hpp"

#include "hearth/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

using DirectoryKind = DirectoryFacts::Kind;

struct FileSystem {
    std::uint32_t magic;
    const char* name;
    DirectoryKind kind;
};

// From statfs(2) and the file systems' own sources.
constexpr std::array k_file_systems{
    FileSystem{0xEF53, "ext4", DirectoryKind::local},        FileSystem{0x58465342, "xfs", DirectoryKind::local},
    FileSystem{0x9123683E, "btrfs", DirectoryKind::local},   FileSystem{0x2FC12FC1, "zfs", DirectoryKind::local},
    FileSystem{0xF2F52010, "f2fs", DirectoryKind::local},    FileSystem{0xCA451A4E, "bcachefs", DirectoryKind::local},
    FileSystem{0x794C7630, "overlay", DirectoryKind::local}, FileSystem{0x4D44, "vfat", DirectoryKind::local},
    FileSystem{0x5346544E, "ntfs", DirectoryKind::local},    FileSystem{0x73717368, "squashfs", DirectoryKind::local},
    FileSystem{0x01021994, "tmpfs", DirectoryKind::memory},  FileSystem{0x858458F6, "ramfs", DirectoryKind::memory},
    FileSystem{0x6969, "nfs", DirectoryKind::network},       FileSystem{0x0BD00BD0, "lustre", DirectoryKind::network},
    FileSystem{0x47504653, "gpfs", DirectoryKind::network},  FileSystem{0x19830326, "beegfs", DirectoryKind::network},
    FileSystem{0x00C36400, "ceph", DirectoryKind::network},  FileSystem{0xFF534D42, "cifs", DirectoryKind::network},
    FileSystem{0xFE534D42, "smb2", DirectoryKind::network},  FileSystem{0x5346414F, "afs", DirectoryKind::network},
    FileSystem{0x01021997, "9p", DirectoryKind::network},    FileSystem{0x65735546, "fuse", DirectoryKind::unknown},
};

std::string name_of_user(uid_t user)
{
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> buffer(16384);
    if (::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
        return found->pw_name;
    return std::to_string(user);
}

std::string nearest_existing(const std::string& path)
{
    std::error_code error;
    std::filesystem::path place = std::filesystem::absolute(path, error);
    while (place.has_relative_path() && !std::filesystem::exists(place, error))
        place = place.parent_path();
    return place.empty() ? "/" : place.string();
}

void look_at_file_system(const std::string& place, DirectoryFacts& facts)
{
    struct statfs status {};
    if (::statfs(place.c_str(), &status) != 0)
        return;
    const auto magic = static_cast<std::uint32_t>(status.f_type);
    const auto known = std::find_if(k_file_systems.begin(), k_file_systems.end(),
                                    [magic](const FileSystem& candidate) { return candidate.magic == magic; });
    facts.file_system = known != k_file_systems.end() ? known->name : fmt::format("{:#x}", magic);
    facts.kind = known != k_file_systems.end() ? known->kind : DirectoryKind::unknown;
    const auto block = static_cast<std::uint64_t>(status.f_frsize != 0 ? status.f_frsize : status.f_bsize);
    facts.free_bytes = block * status.f_bavail;
    facts.total_bytes = block * status.f_blocks;
}

}  // namespace

DirectoryFacts look_at_directory(const std::string& path)
{
    DirectoryFacts facts;
    std::error_code error;
    facts.path = std::filesystem::absolute(path, error).string();
    struct stat status {};
    facts.exists = ::stat(path.c_str(), &status) == 0;
    facts.is_directory = facts.exists && S_ISDIR(status.st_mode);
    const std::string place = facts.exists ? path : nearest_existing(path);
    if (::stat(place.c_str(), &status) == 0) {
        facts.ours = status.st_uid == ::geteuid();
        facts.owner = name_of_user(status.st_uid);
        facts.writable = S_ISDIR(status.st_mode) && ::faccessat(AT_FDCWD, place.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
    }
    look_at_file_system(place, facts);
    return facts;
}

std::string_view to_string(DirectoryFacts::Kind kind)
{
    switch (kind) {
    case DirectoryKind::local:
        return "local";
    case DirectoryKind::network:
        return "network";
    case DirectoryKind::memory:
        return "memory";
    case DirectoryKind::unknown:
        break;
    }
    return "unknown";
}

std::uint64_t recommended_disk_bytes(std::uint64_t free_bytes)
{
    return std::clamp<std::uint64_t>(free_bytes / 10, 1_GiB, 50_GiB);
}

std::uint64_t recommended_memory_bytes()
{
    const auto pages = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
    const auto page = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
    return std::clamp<std::uint64_t>(pages * page / 64, 64_MiB, 1_GiB);
}

}  // namespace hearth::cli
