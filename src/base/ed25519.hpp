#pragma once

#include "hearth/bytes.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace hearth::base {

using Ed25519Public = std::array<std::uint8_t, 32>;
using Ed25519Secret = std::array<std::uint8_t, 32>;
using Ed25519Signature = std::array<std::uint8_t, 64>;

// None if this machine's OpenSSL cannot do it.
// Thread safety: all of it. Cost: the first call sets up a library context of our own, about a millisecond; then some
// 50 us to sign and 130 us to verify.
std::optional<Ed25519Secret> ed25519_generate();
std::optional<Ed25519Public> ed25519_public_of(const Ed25519Secret& secret);
std::optional<Ed25519Signature> ed25519_sign(const Ed25519Secret& secret, ByteView message);
bool ed25519_verify(const Ed25519Public& key, const Ed25519Signature& signature, ByteView message);

}  // namespace hearth::base
