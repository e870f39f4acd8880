// Only in the drop-in libraries: what src/base has of OpenSSL, from the library that they share.

#include "crypto/functions.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/shared_library.hpp"

#include <atomic>

namespace hearth::proxy {

namespace {

// An address of ours, to find the file that this code is in.
const char k_crypto_is_beside = 0;

// Null if it is not there; it is looked for again then. Two threads may both load it, which is the same as once.
const CryptoFunctions* crypto()
{
    static constinit std::atomic<const CryptoFunctions*> g_functions{nullptr};
    if (const CryptoFunctions* const loaded = g_functions.load(std::memory_order_acquire))
        return loaded;
    const std::string file = base::mapped_file(&k_crypto_is_beside);
    const Result<base::SharedLibrary> library =
        base::SharedLibrary::load(file.substr(0, file.rfind('/') + 1) + "libhearth_dropin_crypto.so");
    CryptoSymbol* const symbol = library ? library->find<CryptoSymbol>(k_crypto_symbol) : nullptr;
    const CryptoFunctions* const functions = symbol != nullptr ? symbol() : nullptr;
    g_functions.store(functions, std::memory_order_release);  // pairs with the acquire above
    return functions;
}

}  // namespace

}  // namespace hearth::proxy

namespace hearth::base {

std::optional<Ed25519Secret> ed25519_generate()
{
    const proxy::CryptoFunctions* const functions = proxy::crypto();
    return functions != nullptr ? functions->generate() : std::nullopt;
}

std::optional<Ed25519Public> ed25519_public_of(const Ed25519Secret& secret)
{
    const proxy::CryptoFunctions* const functions = proxy::crypto();
    return functions != nullptr ? functions->public_of(secret) : std::nullopt;
}

std::optional<Ed25519Signature> ed25519_sign(const Ed25519Secret& secret, ByteView message)
{
    const proxy::CryptoFunctions* const functions = proxy::crypto();
    return functions != nullptr ? functions->sign(secret, message) : std::nullopt;
}

bool ed25519_verify(const Ed25519Public& key, const Ed25519Signature& signature, ByteView message)
{
    const proxy::CryptoFunctions* const functions = proxy::crypto();
    return functions != nullptr && functions->verify(key, signature, message);
}

Status check(const CertificateFiles& files)
{
    const proxy::CryptoFunctions* const functions = proxy::crypto();
    if (functions == nullptr)
        return error(Code::unavailable, "libhearth_dropin_crypto.so is not beside the drop-in libraries. Install it.");
    return functions->check(files);
}

void start_openssl() noexcept {}  // it never ends there

}  // namespace hearth::base
