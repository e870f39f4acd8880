#pragma once

#include "hearth/key.hpp"

#include <optional>
#include <string>
#include <string_view>

// Where things are in a cache directory. Nearly all of it is below v1/: another format version has a folder of its own,
// and nothing else that the directory holds is ever touched.
//
//   DIR/v1/CACHEDIR.TAG                  tells backup programs to skip the cache
//   DIR/v1/entries/ab/cdef...            one file per entry, named by its key; 256 shards
//   DIR/v1/tmp/...                       entries being written; each is locked by its writer while it lives
//   DIR/v1/index                         derived: what eviction needs (tiers/disk/index.hpp)
//   DIR/v1/lock                          held while entries are published or removed
//   DIR/v1/flight/...                    held while an entry is being compiled
//   DIR/v1/notes/...                     statistics and the like
//   DIR/quarantine/...                   copies of entries that were not trusted, for people to examine

namespace hearth::tiers {

class Layout {
public:
    static constexpr unsigned k_version = 1;

    explicit Layout(std::string directory);

    const std::string& directory() const { return m_directory; }
    const std::string& root() const { return m_root; }
    std::string entries() const { return m_root + "/entries"; }
    std::string temporaries() const { return m_root + "/tmp"; }
    static constexpr const char* k_tag = "CACHEDIR.TAG";  // in the root
    static constexpr const char* k_index = "index";
    static constexpr const char* k_lock = "lock";
    std::string index() const { return m_root + "/" + k_index; }
    std::string lock() const { return m_root + "/" + k_lock; }
    std::string flights() const { return m_root + "/flight"; }
    std::string notes() const { return m_root + "/notes"; }
    std::string quarantine() const { return m_directory + "/quarantine"; }

    static std::string note_name(std::string_view note) { return std::string(note) + ".slots"; }  // in notes()

    static constexpr unsigned k_shards = 256;
    std::string shard(unsigned number) const;
    std::string shard(const Key& key) const { return shard(key.digest[0]); }
    std::string entry(const Key& key) const;
    std::string flight(const Key& key) const { return flights() + "/" + key.hex(); }

    // The name of an entry's file in its shard.
    static std::string name_in_shard(const Key& key) { return key.hex().substr(2); }
    // Whether we give such names to temporaries (16 digits of a seed, a process and a count), and to what is named by
    // a whole key: flights, and copies in quarantine.
    static bool names_temporary(std::string_view file_name);
    static bool names_key(std::string_view file_name);
    // The number of a shard from its folder's name, and the key from the name of a file in it; none for other names.
    static std::optional<unsigned> shard_of(std::string_view folder_name);
    static std::optional<Key> key_of(unsigned shard, std::string_view file_name);

private:
    std::string m_directory;
    std::string m_root;
};

}  // namespace hearth::tiers
