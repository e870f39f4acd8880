#pragma once

#include "hearth/bytes.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::cli {

// The whole of a file, or of standard input for "-". Fails with a sentence; a device is refused, and what has more than
// `most` bytes is not read to its end.
Bytes read_whole(const std::string& path, std::uint64_t most = UINT64_MAX);

// Readers of `path` see the old file or the whole new one, never a part: written beside it and renamed over it.
// A device or a pipe is written to as it is. Fails with a sentence.
void write_whole(const std::string& path, ByteView bytes);

// What a file of ours begins with, and what it is called.
struct FileKind {
    std::string_view magic;
    std::string_view name;
};
inline constexpr FileKind k_bundle_file{"\x89HRTHBN\n", "a bundle"};
inline constexpr FileKind k_export_file{"\x89HRTHAR\n", "an export"};

// Fails if a file of this kind is to be written to `path` and one of another kind is there, or one that this user
// cannot read.
void keep_other_files(const std::string& path, const FileKind& kind);

}  // namespace hearth::cli
