#pragma once

#include "base/certificate_files.hpp"
#include "base/ed25519.hpp"

// OpenSSL is four of the seven megabytes that a drop-in library with all of it has, and few programs sign anything. So
// it is in libhearth_dropin_crypto.so, once for all drop-in libraries, which look for it beside themselves when they
// first sign or check something. Like them it has the C++ library inside, so that each can free what the other
// allocated.

namespace hearth::proxy {

struct CryptoFunctions {
    decltype(&base::ed25519_generate) generate;
    decltype(&base::ed25519_public_of) public_of;
    decltype(&base::ed25519_sign) sign;
    decltype(&base::ed25519_verify) verify;
    Status (*check)(const base::CertificateFiles& files);
};

// The one function of that library. Its name changes with the table.
inline constexpr const char* k_crypto_symbol = "hearth_dropin_crypto_1";
using CryptoSymbol = const CryptoFunctions*();

}  // namespace hearth::proxy
