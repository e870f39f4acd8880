#include "base/digest.hpp"

#include <openssl/crypto.h>

namespace hearth::base {

void start_openssl() noexcept
{
    OPENSSL_init_crypto(0, nullptr);  // it registers its own end, and reads no configuration
}

}  // namespace hearth::base
