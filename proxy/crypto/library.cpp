#include "crypto/functions.hpp"

#include <openssl/crypto.h>

// It never ends: what is still on its way to a server when the program exits is signed first.
extern "C" __attribute__((visibility("default"))) const hearth::proxy::CryptoFunctions* hearth_dropin_crypto_1()
{
    using namespace hearth;
    static const proxy::CryptoFunctions k_functions{base::ed25519_generate, base::ed25519_public_of, base::ed25519_sign,
                                                    base::ed25519_verify, base::check};
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
    return &k_functions;
}
