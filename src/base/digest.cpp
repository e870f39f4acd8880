// The low-level SHA-256 of OpenSSL is used on purpose: the EVP interface reads openssl.cnf and loads providers on first
// use, which costs a host program milliseconds and touches its process-wide OpenSSL state.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/digest.hpp"

#include "base/digest_stream.hpp"

#include <cstring>
#include <openssl/sha.h>

#ifdef HEARTH_HAVE_XXHASH
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

namespace hearth::base {

Sha256 sha256(ByteView bytes)
{
    Sha256 digest;
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, bytes.data(), bytes.size());
    SHA256_Final(digest.data(), &context);
    return digest;
}

struct Sha256Stream::State {
    SHA256_CTX context;
};

Sha256Stream::Sha256Stream() : m_state(std::make_unique<State>())
{
    SHA256_Init(&m_state->context);
}

Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::add(ByteView bytes)
{
    SHA256_Update(&m_state->context, bytes.data(), bytes.size());
}

Sha256 Sha256Stream::finish()
{
    Sha256 digest;
    SHA256_Final(digest.data(), &m_state->context);
    return digest;
}

ChecksumKind preferred_checksum()
{
#ifdef HEARTH_HAVE_XXHASH
    return ChecksumKind::xxh3;
#else
    return ChecksumKind::sha256;
#endif
}

std::optional<Checksum> checksum(ChecksumKind kind, ByteView bytes)
{
    Checksum sum;
    switch (kind) {
    case ChecksumKind::xxh3: {
#ifdef HEARTH_HAVE_XXHASH
        XXH128_canonical_t canonical;
        XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
        std::memcpy(sum.data(), canonical.digest, sum.size());
        return sum;
#else
        return std::nullopt;
#endif
    }
    case ChecksumKind::sha256: {
        const Sha256 digest = sha256(bytes);
        std::memcpy(sum.data(), digest.data(), sum.size());
        return sum;
    }
    }
    return std::nullopt;
}

}  // namespace hearth::base
