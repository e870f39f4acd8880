#pragma once

#include "hearth/bytes.hpp"

#include <optional>

namespace hearth::format {

// The compressed bytes, or none when compressing gains less than a tenth.
std::optional<Bytes> compress(ByteView raw, int level);

// None unless the bytes are one zstd frame of exactly `raw_size` bytes. If a frame states another size, nothing is
// allocated for it.
std::optional<Bytes> decompress(ByteView compressed, std::uint64_t raw_size);

}  // namespace hearth::format
