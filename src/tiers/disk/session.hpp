#pragma once

#include "tiers/disk/directory_lock.hpp"
#include "tiers/disk/disk_tier.hpp"

#include <chrono>
#include <mutex>

namespace hearth::tiers {

// Holds the tier's mutex and the directory's lock, with the index open and settled (or rebuilt, when it was lost).
class DiskTier::Session {
public:
    enum class Directory : std::uint8_t { must_exist, create };

    explicit Session(DiskTier& tier, Directory directory = Directory::must_exist,
                     std::chrono::milliseconds patience = std::chrono::milliseconds(2000))
        : m_tier(tier), m_guard(tier.m_mutex), m_lock(acquire(tier, directory, patience)),
          m_index(tier.m_directory.files(), tier.m_directory.layout().index(), tier.m_boot)
    {
        m_error = m_lock.error();
        if (m_error != 0)
            return;
        m_error = m_index.open([&](const Key& key) { return tier.m_directory.stat_entry(key); });
        if (m_error == -EBADMSG)
            m_error = tier.rebuild(m_index, {});
    }

    int error() const { return m_error; }
    Index& index() { return m_index; }

    // Makes a change. If the index turns out to be damaged, rebuilds it from the entries and makes the change again.
    int change(const std::function<int()>& make)
    {
        const int error = make();
        if (error != -EBADMSG || m_tier.reconcile(m_index) != 0)
            return error;
        return make();
    }

private:
    static DirectoryLock acquire(DiskTier& tier, Directory directory, std::chrono::milliseconds patience)
    {
        const CacheDirectory& cache = tier.m_directory;
        const std::string path = cache.layout().lock();
        DirectoryLock lock(cache.files(), path, cache.file_mode(), patience);
        if (lock.error() != -ENOENT || directory == Directory::must_exist || cache.prepare() != 0)
            return lock;
        return {cache.files(), path, cache.file_mode(), patience};
    }

    DiskTier& m_tier;
    std::lock_guard<base::ForkSafeMutex> m_guard;
    DirectoryLock m_lock;
    Index m_index;
    int m_error = 0;
};

}  // namespace hearth::tiers
