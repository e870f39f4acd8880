#pragma once

#include "hearth/result.hpp"

#include <string>

namespace hearth::base {

// A certificate to show to others and its private key, as files in PEM format, the way TLS libraries take them.
struct CertificateFiles {
    std::string certificate{};  // certificates that vouch for it may follow in the same file
    std::string key{};          // not encrypted: there is nobody to ask for a password

    bool empty() const { return certificate.empty() && key.empty(); }
};

// Whether both can be read, hold what they should, and belong together. A library would only say so at the first
// connection, and in its own words. An Error's message is the end of a sentence; it names the file, and shows nothing
// of its content.
Status check(const CertificateFiles& files);

}  // namespace hearth::base
