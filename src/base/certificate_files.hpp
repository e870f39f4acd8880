#pragma once

#include "hearth/result.hpp"

#include <string>

namespace hearth::base {

// A certificate to show to others and its private key, as the files in PEM format that TLS libraries take them from.
struct CertificateFiles {
    std::string certificate{};  // those that vouch for it may follow in the same file
    std::string key{};          // not encrypted: there is nobody to ask for a password

    bool empty() const { return certificate.empty() && key.empty(); }
};

// Whether both can be read, hold what they should, and belong together: a library would say so at the first connection,
// and in words of its own. An Error's message is the end of a sentence; it names the file, and shows nothing of it.
Status check(const CertificateFiles& files);

}  // namespace hearth::base
