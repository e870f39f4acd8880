#pragma once

#include "hearth/bytes.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Which headers a request reads, and which it looks for and does not find. A manifest is kept as an entry, under a key
// of everything but the headers, so that the next lookup need not search for them again.
//
//   manifest := "hearth manifest 1\n" flags:u8 past files:u32 file* absent:u32 path*
//   flags    := 1 the program's path matters | 2 every path matters
//   past     := text16                       why what depends on these headers goes past the cache; empty: it does not
//   file     := path:text16 label:text16 digest:32 flags:u8 identity
//   flags    := 1 its path matters | 2 its identity may be trusted
//   identity := device:u64 inode:u64 size:u64 modified_ns:i64 changed_ns:i64
//   path     := text16 := size:u16 bytes

namespace hearth::format {

// If a file's identity is the same, so is its content: every write sets its time of change.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;

    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

struct ManifestFile {
    std::string path;   // as the compiler opens it
    std::string label;  // its place relative to the request: the same when the whole tree has moved
    std::array<std::uint8_t, 32> digest{};
    FileIdentity identity;
    bool settled = false;       // whether `identity` can be trusted to tell of a change
    bool path_matters = false;  // the output may hold its path

    friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

struct Manifest {
    std::vector<ManifestFile> files;  // in the order they are found
    std::vector<std::string> absent;  // paths where the compiler looks before it finds those, and finds nothing
    std::string why_past_the_cache;
    bool program_path_matters = false;
    bool all_paths_matter = false;

    friend bool operator==(const Manifest&, const Manifest&) = default;
};

Bytes encode_manifest(const Manifest& manifest);
// None when the bytes are not exactly a manifest.
std::optional<Manifest> decode_manifest(ByteView bytes);

}  // namespace hearth::format
