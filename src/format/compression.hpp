#pragma once

#include "hearth/bytes.hpp"

#include <optional>

namespace hearth::format {

// The compressed bytes, or none when compressing gains less than a tenth.
std::optional<Bytes> compress(ByteView raw, int level);

// None unless the bytes are one zstd frame of exactly `raw_size` bytes. Nothing is allocated on the word of a frame
// that disagrees with `raw_size`.
std::optional<Bytes> decompress(ByteView compressed, std::uint64_t raw_size);

}  // namespace hearth::format
