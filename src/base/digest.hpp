#pragma once

#include "hearth/bytes.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace hearth::base {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(ByteView bytes);

// OpenSSL ends when the program does, and after what is registered with std::atexit() from now on.
void start_openssl() noexcept;

// How a file's integrity is checked. The number is part of the entry format.
enum class ChecksumKind : std::uint8_t {
    xxh3 = 1,    // XXH3-128: written by builds that had xxhash.h
    sha256 = 2,  // the first 16 bytes of SHA-256: written by builds without it, and read by all
};

using Checksum = std::array<std::uint8_t, 16>;

// What this build writes.
ChecksumKind preferred_checksum();

// None when this build cannot compute that kind.
std::optional<Checksum> checksum(ChecksumKind kind, ByteView bytes);

}  // namespace hearth::base
