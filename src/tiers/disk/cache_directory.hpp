#pragma once

#include "base/files.hpp"
#include "format/entry.hpp"
#include "hearth/tier.hpp"
#include "tiers/disk/index.hpp"
#include "tiers/disk/layout.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace hearth::tiers {

// What a disk tier takes from the machine; tests hand in their own.
struct DiskEnvironment {
    base::Files* files = &base::system_files();
    BootId boot{};
    std::uint64_t seed = 0;

    // This machine's files, boot and a seed of its own.
    static DiskEnvironment system();
};

// The files of one cache directory. Entries are written under temporary names and renamed into place.
// Thread safety: all of it. Knows nothing of budgets; publishing and removing are done under the directory's lock.
class CacheDirectory {
public:
    CacheDirectory(std::string directory, bool shared, const DiskEnvironment& environment);

    base::Files& files() const { return m_files; }
    const Layout& layout() const { return m_layout; }
    // Of what is created: for its owner alone, or in a shared directory for those whom its own mode lets in.
    unsigned file_mode() const { return folder_mode() & 0666U; }
    unsigned folder_mode() const;

    // Whether the directory may be used: it is a directory, and it is ours and nobody else writes there, or it is meant
    // to be shared. It need not exist yet.
    Status check() const;
    // Creates what is missing. 0 or -errno.
    int prepare() const;

    // A folder of the layout, to name files in. Whoever shares the directory may put links in it: whatever is created,
    // renamed or removed is named in a folder that was reached without following one. In a shared directory that is
    // true of what is read, too. (Elsewhere entries are read by their paths, which is faster: a link there leads to
    // nothing that is not the user's own, and what is read is checked.)
    base::FileHandle open_folder(const std::string& path) const;
    base::FileHandle make_and_open(const std::string& path) const;
    // Makes a folder in one that is there. 0 also if there is something of that name.
    int make_folder(const std::string& path) const;

    // The entry's bytes, or empty with -errno in `error`: -ENOENT if there is none, -ELOOP and the like if it is not a
    // file, -EPERM if somebody else put it into a directory that is not shared, -EOVERFLOW as format::read_entry().
    // `is_neighbours`: another user who shares the directory has written it, or could have.
    Bytes read_entry(const Key& key, int& error, std::uint64_t most = format::k_max_entry_bytes,
                     bool* is_neighbours = nullptr) const;
    // Its first bytes, enough for the head; `size` is that of the whole file.
    Bytes read_entry_head(const Key& key, std::uint64_t& size, int& error) const;
    // Its size, or -errno; -ENOENT also if something else than a file is in its place.
    std::int64_t stat_entry(const Key& key, WallTime* modified = nullptr) const;
    // 0 if it is gone now, whoever removed it. A directory in its place is not an entry, and is left alone.
    int unlink_entry(const Key& key) const;

    // An entry written under a temporary name; unlinked again unless it was published.
    class Temporary {
    public:
        Temporary(const CacheDirectory& directory, base::FileHandle folder, std::string name, base::FileHandle file)
            : m_directory(directory), m_folder(std::move(folder)), m_name(std::move(name)), m_file(std::move(file))
        {
        }
        ~Temporary();
        Temporary(const Temporary&) = delete;
        Temporary& operator=(const Temporary&) = delete;
        // Returns when its bytes are on the disk. 0 or -errno.
        int sync() const { return m_directory.m_files.sync(m_file.fd()); }
        // Renames it to its place. 0 or -errno.
        int publish(const Key& key);

    private:
        friend class CacheDirectory;
        int move_to(const Key& key);

        const CacheDirectory& m_directory;
        base::FileHandle m_folder;
        std::string m_name;
        base::FileHandle m_file;  // open and locked for as long as the temporary is ours
    };
    std::unique_ptr<Temporary> write_temporary(ByteView bytes, int& error);
    // Returns when the name of an entry that was published is on the disk. 0 or -errno.
    int sync_name(const Key& key) const;

    // Visits the key of every entry file, shard by shard, until told to stop. `strays` counts other files.
    int for_each_entry(const std::function<bool(const Key&)>& visit, std::uint64_t* strays = nullptr) const;
    // Unlinks what killed processes left behind; returns how many.
    std::uint64_t sweep_temporaries(WallTime now) const;
    std::uint64_t sweep_flights(WallTime now) const;

    // One lock file per key, for single flight between processes.
    FlightAttempt try_flight(const Key& key) const;

    Bytes read_note(std::string_view name) const;
    bool update_note(std::string_view name, const std::function<Bytes(ByteView)>& edit) const;

private:
    int sync_folder(const std::string& path) const;
    base::FileHandle open_entry(const Key& key, base::FileStat& stat) const;
    // Calls it with where the entry is, or returns why its shard cannot be used: -errno.
    template <class Use>
    int at_entry(const Key& key, Use&& use) const;
    std::string unique_name() const;
    bool is_user_or_root(std::uint32_t owner) const;
    std::unique_ptr<Temporary> create_temporary(int& error) const;
    std::uint64_t sweep_abandoned(const std::string& path, bool (*is_ours)(std::string_view), WallTime now) const;

    base::Files& m_files;
    Layout m_layout;
    bool m_shared;
    std::uint32_t m_user;  // who opened it
    std::uint64_t m_seed;
    mutable std::atomic<std::uint64_t> m_counter{0};
    mutable std::array<std::atomic<bool>, Layout::k_shards> m_synced{};  // the names of these shards are on the disk
};

}  // namespace hearth::tiers
