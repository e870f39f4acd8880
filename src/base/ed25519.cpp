// OpenSSL's EVP interface, in a library context of our own: the default one reads openssl.cnf on first use and belongs
// to the host program.

#include "base/ed25519.hpp"

#include <atomic>
#include <memory>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/rand.h>

namespace hearth::base {

namespace {

constinit std::atomic<OSSL_LIB_CTX*> g_context{nullptr};

// Created once and never freed. Two threads may create one each; the second's is freed again.
OSSL_LIB_CTX* context()
{
    // acquire: pairs with the exchange below, so that the provider is seen loaded.
    if (OSSL_LIB_CTX* made = g_context.load(std::memory_order_acquire))
        return made;
    OSSL_LIB_CTX* fresh = OSSL_LIB_CTX_new();
    if (fresh == nullptr || OSSL_PROVIDER_load(fresh, "default") == nullptr) {
        OSSL_LIB_CTX_free(fresh);
        return nullptr;
    }
    OSSL_LIB_CTX* before = nullptr;
    if (g_context.compare_exchange_strong(before, fresh, std::memory_order_acq_rel))
        return fresh;
    OSSL_LIB_CTX_free(fresh);
    return before;
}

struct FreeEvp {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(EVP_MD_CTX* digest) const { EVP_MD_CTX_free(digest); }
};
using Pkey = std::unique_ptr<EVP_PKEY, FreeEvp>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeEvp>;

const unsigned char* start_of(ByteView bytes)
{
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

Pkey secret_key(const Ed25519Secret& secret)
{
    OSSL_LIB_CTX* const in = context();
    return Pkey(in ? EVP_PKEY_new_raw_private_key_ex(in, "ED25519", nullptr, secret.data(), secret.size()) : nullptr);
}

}  // namespace

std::optional<Ed25519Secret> ed25519_generate()
{
    Ed25519Secret secret{};
    OSSL_LIB_CTX* const in = context();
    if (in == nullptr || RAND_priv_bytes_ex(in, secret.data(), secret.size(), 0) != 1)
        return std::nullopt;
    return secret;
}

std::optional<Ed25519Public> ed25519_public_of(const Ed25519Secret& secret)
{
    const Pkey key = secret_key(secret);
    Ed25519Public out{};
    std::size_t size = out.size();
    if (!key || EVP_PKEY_get_raw_public_key(key.get(), out.data(), &size) != 1 || size != out.size())
        return std::nullopt;
    return out;
}

std::optional<Ed25519Signature> ed25519_sign(const Ed25519Secret& secret, ByteView message)
{
    const Pkey key = secret_key(secret);
    const DigestContext digest(EVP_MD_CTX_new());
    Ed25519Signature signature{};
    std::size_t size = signature.size();
    if (!key || !digest ||
        EVP_DigestSignInit_ex(digest.get(), nullptr, nullptr, context(), nullptr, key.get(), nullptr) != 1 ||
        EVP_DigestSign(digest.get(), signature.data(), &size, start_of(message), message.size()) != 1 ||
        size != signature.size())
        return std::nullopt;
    return signature;
}

bool ed25519_verify(const Ed25519Public& key, const Ed25519Signature& signature, ByteView message)
{
    OSSL_LIB_CTX* const in = context();
    if (in == nullptr)
        return false;
    const Pkey pkey(EVP_PKEY_new_raw_public_key_ex(in, "ED25519", nullptr, key.data(), key.size()));
    const DigestContext digest(EVP_MD_CTX_new());
    return pkey && digest &&
           EVP_DigestVerifyInit_ex(digest.get(), nullptr, nullptr, in, nullptr, pkey.get(), nullptr) == 1 &&
           EVP_DigestVerify(digest.get(), signature.data(), signature.size(), start_of(message), message.size()) == 1;
}

}  // namespace hearth::base
