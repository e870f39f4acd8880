#pragma once

#include "base/files.hpp"
#include "base/placed_file.hpp"
#include "hearth/bytes.hpp"
#include "hearth/result.hpp"

#include <cstdint>
#include <optional>
#include <string>

// Many entries in one file, for backup and for moving a cache to another machine.
//
//   archive := magic:u8[8] version:u16 zero:u8[6] record* end
//   record  := 'E' size:u64 entry          the entry's bytes as format/entry.hpp has them
//   end     := 'Z' count:u64               how many records there were; without it the file was cut
//
// Integers are little-endian. Entries carry their own keys and checksums, so a damaged record costs only that entry; a
// damaged length ends the reading.

namespace hearth::format {

inline constexpr std::uint16_t k_archive_version = 1;

// Puts the file in its place on finish(). A file that was there stays until then.
class ArchiveWriter {
public:
    ArchiveWriter(base::Files& files, const std::string& path);

    Status add(ByteView entry);
    Status finish();

private:
    Status put(ByteView bytes);

    base::PlacedFile m_file;
    std::uint64_t m_at = 0;
    std::uint64_t m_count = 0;
};

class ArchiveReader {
public:
    static Result<ArchiveReader> open(base::Files& files, const std::string& path);

    // The next entry's bytes, not yet verified; none at the end. An error when the file is cut or no archive.
    Result<std::optional<Bytes>> next();
    std::uint64_t position() const { return m_at; }
    std::uint64_t size() const { return m_size; }

private:
    ArchiveReader(base::Files& files, std::string path, base::FileHandle file, std::uint64_t size);
    Error cut() const;

    base::Files* m_files;
    std::string m_path;
    base::FileHandle m_file;
    std::uint64_t m_size;
    std::uint64_t m_at = 0;
    std::uint64_t m_count = 0;
};

}  // namespace hearth::format
