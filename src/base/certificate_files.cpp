// As in ed25519.cpp, in a library context of its own: the default one reads openssl.cnf on first use and belongs to the
// host program. Each check has a new one, because a remote is opened once.

#include "base/certificate_files.hpp"

#include "base/error.hpp"

#include <cerrno>
#include <fmt/format.h>
#include <memory>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/x509.h>
#include <system_error>

namespace hearth::base {

namespace {

struct FreeOpenssl {
    void operator()(OSSL_LIB_CTX* context) const { OSSL_LIB_CTX_free(context); }
    void operator()(OSSL_PROVIDER* provider) const { OSSL_PROVIDER_unload(provider); }
    void operator()(BIO* bio) const { BIO_free(bio); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using Owned = std::unique_ptr<T, FreeOpenssl>;

// Keeps OpenSSL's errors out of the host program's error queue.
class QuietErrors {
public:
    QuietErrors() { ERR_set_mark(); }
    ~QuietErrors() { ERR_pop_to_mark(); }
    QuietErrors(const QuietErrors&) = delete;
    QuietErrors& operator=(const QuietErrors&) = delete;
};

// In place of OpenSSL's own, which asks at the terminal.
int note_that_a_password_is_wanted(char* /*password*/, int /*size*/, int /*writing*/, void* wanted)
{
    *static_cast<bool*>(wanted) = true;
    return -1;
}

Error unusable(std::string why)
{
    return error(Code::invalid_argument, "{}", std::move(why));
}

Result<Owned<BIO>> open(const std::string& path, const char* what)
{
    errno = 0;
    Owned<BIO> file(BIO_new_file(path.c_str(), "rb"));
    if (!file)
        return unusable(fmt::format("the {} {} cannot be read: {}.", what, path,
                                    errno != 0 ? std::generic_category().message(errno) : "there is no memory for it"));
    return file;
}

}  // namespace

Status check(const CertificateFiles& files)
{
    const QuietErrors quiet;
    const Owned<OSSL_LIB_CTX> context(OSSL_LIB_CTX_new());
    const Owned<OSSL_PROVIDER> provider(context ? OSSL_PROVIDER_load(context.get(), "default") : nullptr);
    if (!provider)
        return error(Code::unavailable, "OpenSSL could not be set up.");

    const Result<Owned<BIO>> certificate_file = open(files.certificate, "certificate");
    HEARTH_TRY(certificate_file);
    X509* fresh = X509_new_ex(context.get(), nullptr);
    const bool is_read = fresh && PEM_read_bio_X509(certificate_file->get(), &fresh, nullptr, nullptr);
    const Owned<X509> certificate(fresh);  // null if it was broken: then OpenSSL has freed it
    if (!is_read)
        return unusable(fmt::format("{} holds no certificate in PEM format.", files.certificate));

    const Result<Owned<BIO>> key_file = open(files.key, "key");
    HEARTH_TRY(key_file);
    bool wants_password = false;
    const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey_ex(key_file->get(), nullptr, &note_that_a_password_is_wanted,
                                                         &wants_password, context.get(), nullptr));
    if (wants_password)
        return unusable(fmt::format("the key {} is encrypted, and there is nobody to ask for its password. Keep it in "
                                    "the clear, in a file that only its user can read.",
                                    files.key));
    if (!key)
        return unusable(fmt::format("{} holds no private key in PEM format.", files.key));
    if (X509_check_private_key(certificate.get(), key.get()) != 1)
        return unusable(fmt::format("the key {} does not belong to the certificate {}.", files.key, files.certificate));
    return {};
}

}  // namespace hearth::base
