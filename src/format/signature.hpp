#pragma once

#include "hearth/bytes.hpp"
#include "hearth/key.hpp"
#include "hearth/result.hpp"
#include "hearth/trust.hpp"

#include <cstdint>
#include <optional>
#include <span>

// An entry with a signature: the same bytes with a trailer behind them. The entry's own head says where it ends.
//
//   signed  := entry [trailer]
//   trailer := magic:u8[8] public_key:u8[32] signature:u8[64]
//   message := "hearth entry signature 1" key:u8[32] SHA-256(entry):u8[32]           what is signed, with Ed25519
//
// Without a demand for signatures the trailer is not read. With one, it is checked before the entry is decoded.

namespace hearth::format {

inline constexpr std::size_t k_trailer_size = 8 + 32 + 64;

// The entry without its trailer. Bytes that are no entry come back as they are.
ByteView without_signature(ByteView bytes);
bool has_signature(ByteView bytes);

// The entry with a signature by this key, which replaces any that it had.
Result<Bytes> sign_entry(const Key& key, const Bytes& entry, const SigningKey& signing_key);

// Whether one of these has signed exactly this entry under exactly this key.
bool is_signed_by(std::span<const PublicKey> trusted, const Key& key, ByteView bytes);

}  // namespace hearth::format
