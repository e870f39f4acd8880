#pragma once

#include "hearth/key.hpp"

#include <optional>
#include <string>
#include <string_view>

// Where things are in a cache directory. All of it is below v1/: another format version has a folder of its own, and
// nothing outside the folder is ever touched, whatever else the directory holds.
//
//   DIR/v1/CACHEDIR.TAG                  tells backup programs to skip the cache
//   DIR/v1/entries/ab/cdef...            one file per entry, named by its key; 256 shards
//   DIR/v1/tmp/...                       entries being written; each is locked by its writer while it lives
//   DIR/v1/index                         derived: what eviction needs (tiers/disk/index.hpp)
//   DIR/v1/lock                          held while entries are published or removed
//   DIR/v1/flight/...                    held while an entry is being compiled
//   DIR/v1/notes/...                     statistics and the like

namespace hearth::tiers {

class Layout {
public:
    explicit Layout(std::string directory);

    const std::string& directory() const { return m_directory; }
    const std::string& root() const { return m_root; }
    std::string tag() const { return m_root + "/CACHEDIR.TAG"; }
    std::string entries() const { return m_root + "/entries"; }
    std::string temporaries() const { return m_root + "/tmp"; }
    std::string index() const { return m_root + "/index"; }
    std::string lock() const { return m_root + "/lock"; }
    std::string flights() const { return m_root + "/flight"; }
    std::string notes() const { return m_root + "/notes"; }
    std::string note(std::string_view name) const { return notes() + "/" + std::string(name) + ".slots"; }

    static constexpr unsigned k_shards = 256;
    std::string shard(unsigned number) const;
    std::string shard(const Key& key) const { return shard(key.digest[0]); }
    std::string entry(const Key& key) const;
    std::string flight(const Key& key) const { return flights() + "/" + key.hex(); }

    // The number of a shard from its folder's name, and the key from the name of a file in it; none for other names.
    static std::optional<unsigned> shard_of(std::string_view folder_name);
    static std::optional<Key> key_of(unsigned shard, std::string_view file_name);

private:
    std::string m_directory;
    std::string m_root;
};

}  // namespace hearth::tiers
