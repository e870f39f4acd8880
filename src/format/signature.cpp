#include "format/signature.hpp"

#include "base/digest.hpp"
#include "base/ed25519.hpp"
#include "base/error.hpp"
#include "base/wire.hpp"
#include "format/entry.hpp"

#include <algorithm>
#include <cstring>

namespace hearth::format {

namespace {

constexpr std::string_view k_signature_magic = "HRTHSIG1";
constexpr std::string_view k_entry_purpose = "hearth entry signature 1";
constexpr std::size_t k_key_at = 8;
constexpr std::size_t k_signature_at = 40;

struct Parts {
    ByteView entry;
    ByteView trailer;  // empty: there is none
};

Parts split(ByteView bytes)
{
    const std::optional<std::uint64_t> total = claimed_size(bytes);
    if (!total || *total + k_trailer_size != bytes.size())
        return {bytes, {}};
    const ByteView trailer = bytes.subspan(*total);
    if (as_text(trailer.first(k_signature_magic.size())) != k_signature_magic)
        return {bytes, {}};
    return {bytes.first(*total), trailer};
}

Bytes message_of(const Key& key, ByteView entry)
{
    const base::Sha256 digest = base::sha256(entry);
    base::WireWriter message;
    message.raw(as_bytes(k_entry_purpose));
    message.raw(std::as_bytes(std::span(key.digest)));
    message.raw(std::as_bytes(std::span(digest)));
    return Bytes::copy_of(message.view());
}

}  // namespace

ByteView without_signature(ByteView bytes)
{
    return split(bytes).entry;
}

bool has_signature(ByteView bytes)
{
    return !split(bytes).trailer.empty();
}

Result<Bytes> sign_entry(const Key& key, const Bytes& entry, const SigningKey& signing_key)
{
    const ByteView plain = without_signature(entry);
    const std::optional<base::Ed25519Signature> signature =
        base::ed25519_sign(signing_key.secret(), message_of(key, plain));
    if (!signature)
        return error(Code::unavailable, "This machine's OpenSSL cannot make Ed25519 signatures. Install OpenSSL 3.");
    return Bytes::make(plain.size() + k_trailer_size, [&](std::span<std::byte> out) {
        std::memcpy(out.data(), plain.data(), plain.size());
        std::byte* const trailer = out.data() + plain.size();
        std::memcpy(trailer, k_signature_magic.data(), k_signature_magic.size());
        std::memcpy(trailer + k_key_at, signing_key.public_key().bytes.data(), sizeof(PublicKey::bytes));
        std::memcpy(trailer + k_signature_at, signature->data(), signature->size());
    });
}

bool is_signed_by(std::span<const PublicKey> trusted, const Key& key, ByteView bytes)
{
    const Parts parts = split(bytes);
    if (parts.trailer.empty())
        return false;
    PublicKey signer;
    base::Ed25519Signature signature;
    std::memcpy(signer.bytes.data(), parts.trailer.data() + k_key_at, signer.bytes.size());
    std::memcpy(signature.data(), parts.trailer.data() + k_signature_at, signature.size());
    return std::find(trusted.begin(), trusted.end(), signer) != trusted.end() &&
           base::ed25519_verify(signer.bytes, signature, message_of(key, parts.entry));
}

}  // namespace hearth::format
