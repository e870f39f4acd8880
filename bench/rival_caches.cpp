#include "rival_caches.hpp"

#include "timing.hpp"

#include <mutex>
#include <unordered_map>

#if HEARTH_HAVE_TBB
#include <tbb/concurrent_hash_map.h>
#endif
#if HEARTH_HAVE_ROCKSDB
#include <rocksdb/cache.h>
#endif

namespace hearth::bench {

namespace {

using SharedArtifact = std::shared_ptr<const Artifact>;

// What a program would otherwise write. The artifact outlives the lock, so it has to be shared.
class LockedMap {
public:
    void find(const Key& key)
    {
        const SharedArtifact found = [&] {
            const std::lock_guard lock(m_mutex);
            return m_map.find(key)->second;
        }();
        keep(found->status);
    }
    void put(const Key& key, const SharedArtifact& artifact)
    {
        const std::lock_guard lock(m_mutex);
        m_map[key] = artifact;
    }

private:
    std::mutex m_mutex;
    std::unordered_map<Key, SharedArtifact> m_map;
};

#if HEARTH_HAVE_TBB
// Read in place, under the entry's own lock: nothing is shared or copied.
class TbbMap {
public:
    void find(const Key& key)
    {
        Map::const_accessor found;
        m_map.find(found, key);
        keep(found->second->status);
    }
    void put(const Key& key, const SharedArtifact& artifact)
    {
        Map::accessor place;
        m_map.insert(place, key);
        place->second = artifact;
    }

private:
    struct Compare {
        static std::size_t hash(const Key& key) { return std::hash<Key>()(key); }
        static bool equal(const Key& a, const Key& b) { return a == b; }
    };
    using Map = tbb::concurrent_hash_map<Key, SharedArtifact, Compare>;
    Map m_map;
};
#endif

#if HEARTH_HAVE_ROCKSDB
// Its keys have 16 bytes. Told how many entries there will be, and with room for twice as many.
class HyperClock {
public:
    explicit HyperClock(std::size_t entries)
        : m_cache(rocksdb::HyperClockCacheOptions(2 * entries * k_charge, k_charge).MakeSharedCache())
    {
    }
    void find(const Key& key)
    {
        if (rocksdb::Cache::Handle* const handle = m_cache->Lookup(name(key))) {
            keep((*static_cast<const SharedArtifact*>(m_cache->Value(handle)))->status);
            m_cache->Release(handle);
        }
    }
    void put(const Key& key, const SharedArtifact& artifact)
    {
        (void)m_cache->Insert(name(key), new SharedArtifact(artifact), k_charge,
                              [](const rocksdb::Slice&, void* value) { delete static_cast<SharedArtifact*>(value); });
    }

private:
    static constexpr std::size_t k_charge = 1024;
    static rocksdb::Slice name(const Key& key) { return {reinterpret_cast<const char*>(key.digest.data()), 16}; }

    std::shared_ptr<rocksdb::Cache> m_cache;
};
#endif

template <class Cache>
Contender contender(std::string name, std::string row, std::shared_ptr<Cache> cache)
{
    return {std::move(name), std::move(row),
            [cache](std::span<const Key> keys) {
                for (const Key& key : keys)
                    cache->find(key);
            },
            [cache](const Key& key, const SharedArtifact& artifact) { cache->put(key, artifact); }};
}

}  // namespace

std::vector<Contender> rival_caches([[maybe_unused]] std::size_t entries)
{
    std::vector<Contender> rivals;
#if HEARTH_HAVE_TBB
    rivals.push_back(contender("TBB concurrent_hash_map", "tbb", std::make_shared<TbbMap>()));
#endif
#if HEARTH_HAVE_ROCKSDB
    rivals.push_back(contender("RocksDB HyperClockCache", "rocksdb", std::make_shared<HyperClock>(entries)));
#endif
    rivals.push_back(contender("mutex + unordered_map", "mutex", std::make_shared<LockedMap>()));
    return rivals;
}

}  // namespace hearth::bench
