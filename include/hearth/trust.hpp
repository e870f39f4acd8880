#pragma once

#include "hearth/api.hpp"
#include "hearth/result.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Who may write what a cache will load. An entry can carry an Ed25519 signature over its key and content; a tier can
// demand one, by a key that it trusts. docs/security.md says what that promises, and against whom.

namespace hearth {

// Shown as "ed25519:" and 64 hexadecimal digits.
struct PublicKey {
    std::array<std::uint8_t, 32> bytes{};

    HEARTH_API std::string text() const;
    HEARTH_API static Result<PublicKey> parse(std::string_view text);
    friend bool operator==(const PublicKey&, const PublicKey&) = default;
};

// What a writer signs with. It never leaves the process, and nothing prints it.
class SigningKey {
public:
    // A new one, from the operating system's randomness.
    HEARTH_API static Result<SigningKey> generate();
    // From a file that holds "ed25519-secret:" and 64 hexadecimal digits, and that nobody but its owner can read.
    HEARTH_API static Result<SigningKey> load(const std::string& path);
    // Writes such a file, which must not be there yet.
    HEARTH_API Status save(const std::string& path) const;

    const PublicKey& public_key() const noexcept { return m_public; }
    const std::array<std::uint8_t, 32>& secret() const noexcept { return m_secret; }

private:
    SigningKey() = default;
    std::array<std::uint8_t, 32> m_secret{};
    PublicKey m_public;
};

enum class Signatures : std::uint8_t {
    not_asked,  // entries are taken with or without
    demanded,   // only entries that one of the trusted keys has signed
};

struct Trust {
    Signatures signatures = Signatures::not_asked;
    std::vector<PublicKey> trusted{};
    // None, or the one key that signs what is stored. It is trusted too, and signatures are demanded: what is signed
    // here must have been compiled here, or signed by somebody who is trusted.
    std::vector<SigningKey> sign_with{};
};

// Reads one key a line. Empty lines, and what follows a '#' or the key itself, are ignored.
HEARTH_API Result<std::vector<PublicKey>> load_public_keys(const std::string& path);

}  // namespace hearth
