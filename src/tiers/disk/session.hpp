#pragma once

#include "tiers/disk/directory_lock.hpp"
#include "tiers/disk/disk_tier.hpp"

#include <chrono>
#include <mutex>
#include <optional>

namespace hearth::tiers {

// Holds the mutex of sessions and the directory's lock, with the index open and settled (or rebuilt, when it was lost).
class DiskTier::Session {
public:
    enum class Directory : std::uint8_t { must_exist, create };

    explicit Session(DiskTier& tier, Directory directory = Directory::must_exist,
                     std::chrono::milliseconds patience = std::chrono::milliseconds(2000))
        : m_tier(tier), m_guard(tier.m_sessions.hold()), m_root(open_root(tier.m_directory, directory)),
          m_index(tier.m_directory.files(), Layout::k_index, tier.m_boot, {m_root.fd(), tier.m_directory.file_mode()}),
          m_error(lock(patience))
    {
        if (m_error != 0)
            return;
        m_error = m_index.open([&](const Key& key) { return tier.m_directory.stat_entry(key); });
        if (m_error == -EBADMSG)
            m_error = tier.rebuild(m_index, {});
    }

    int error() const { return m_error; }
    Index& index() { return m_index; }
    // Takes the index away; it is rebuilt from the entries, by us or by whoever comes next.
    int drop_index() { return m_tier.m_directory.files().unlink({m_root.fd(), Layout::k_index}); }

    // Makes a change. If the index turns out to be damaged, rebuilds it from the entries and makes the change again.
    int change(const std::function<int()>& make)
    {
        const int error = make();
        if (error != -EBADMSG || m_tier.reconcile(m_index) != 0)
            return error;
        return make();
    }

private:
    static base::FileHandle open_root(const CacheDirectory& cache, Directory directory)
    {
        const std::string root = cache.layout().root();
        return directory == Directory::create ? cache.make_and_open(root) : cache.open_folder(root);
    }

    int lock(std::chrono::milliseconds patience)
    {
        if (!m_root.open())
            return m_root.fd();
        const CacheDirectory& cache = m_tier.m_directory;
        m_lock.emplace(cache.files(), base::At(m_root.fd(), Layout::k_lock), cache.file_mode(), patience);
        return m_lock->error();
    }

    DiskTier& m_tier;
    const std::unique_lock<std::mutex> m_guard;
    base::FileHandle m_root;  // the lock and the index are named in it, whatever becomes of its own name
    std::optional<DirectoryLock> m_lock;
    Index m_index;
    const base::ForkGuard m_fork_guard{[this] {
                                           m_index.close();
                                           m_root.close();
                                       },
                                       base::ForkGuard::Calls::once};
    int m_error;
};

}  // namespace hearth::tiers
