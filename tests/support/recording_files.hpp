#pragma once

#include "support/forwarding_files.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace hearth::test {

// Carries everything out and writes down what changed, so that power_cut() can say what a disk might hold had the power
// gone between any two changes. Records what happens below one folder, which is empty to begin with.
// Thread safety: all of it.
class RecordingFiles final : public ForwardingFiles {
public:
    struct Change {
        enum class Kind : std::uint8_t { create, write, truncate, sync, rename, unlink, mkdir, rmdir };
        Kind kind = Kind::create;
        std::uint64_t file = 0;   // the file it is about, whatever its name; 0 for a directory
        std::string path{};       // relative to the folder
        std::string to{};         // of a rename
        std::string data{};       // of a write
        std::uint64_t where = 0;  // of a write; the size, of a truncate
    };

    explicit RecordingFiles(std::string folder, base::Files& inner = base::system_files())
        : ForwardingFiles(inner), m_folder(std::move(folder) + "/")
    {
    }

    std::vector<Change> changes() const;

    int open(base::At at, int flags, unsigned mode) override;
    int close(int fd) override;
    ssize_t pwrite(int fd, const void* buffer, std::size_t size, std::uint64_t offset) override;
    int truncate(int fd, std::uint64_t size) override;
    int sync(int fd) override;
    int rename(base::At from, base::At to) override;
    int unlink(base::At at) override;
    int mkdir(base::At at, unsigned mode) override;
    int rmdir(base::At at) override;

private:
    // What became of a change of a folder, or of an open file, which is written down if it was made.
    int noted(int result, base::At folder, Change::Kind kind);
    int noted(int result, int fd, Change::Kind kind, std::uint64_t where);
    // Where it is in the folder; none if it is elsewhere, empty if it is the folder itself.
    std::optional<std::string> relative(base::At at) const;

    const std::string m_folder;
    mutable std::mutex m_mutex;
    std::vector<Change> m_changes;
    std::map<std::string, std::uint64_t> m_named;  // files by their present names
    std::map<int, std::uint64_t> m_open;           // files by descriptor; 0 for a directory
    std::map<int, std::string> m_folders;          // open folders, by descriptor
    std::uint64_t m_last_file = 0;
};

// What may have become of changes that were not yet on the disk when the power went.
enum class PowerCut : std::uint8_t {
    keeps_all,        // none was lost: what a kill leaves
    loses_data,       // names were kept, what was written was not: files of the right length full of zeros, or empty
    keeps_old_names,  // the newest renames and unlinks were lost, as by a journal; data lost, torn or kept
    keeps_any,        // each change was lost, torn or kept by itself
};
inline constexpr PowerCut k_power_cuts[] = {PowerCut::keeps_all, PowerCut::loses_data, PowerCut::keeps_old_names,
                                            PowerCut::keeps_any};

// Fills the empty folder `into` with what a disk may hold after these changes, the first `count` of them made. What
// was synced is always there.
void power_cut(const std::vector<RecordingFiles::Change>& changes, std::size_t count, PowerCut kind,
               std::mt19937_64& random, const std::string& into);

}  // namespace hearth::test
