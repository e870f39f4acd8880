#pragma once

#include "base/certificate_files.hpp"
#include "hearth/result.hpp"
#include "remote/url.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

// What an address may say of TLS, whatever is spoken over it:
//
//   ?ca=FILE               certificates of those who may vouch for the server; the system's when none is given
//   ?insecure=1            takes any certificate
//   ?cert=FILE&key=FILE    what we show to a server that demands a certificate of its clients

namespace hearth::remotes {

inline constexpr std::array<std::string_view, 4> k_names_of_tls_options = {"ca", "insecure", "cert", "key"};

enum class Verify : std::uint8_t { peer, nothing };
enum class Encrypted : std::uint8_t { no, yes };

struct TlsOptions {
    std::string ca_file{};  // empty: the system's
    Verify verify = Verify::peer;
    base::CertificateFiles ours{};  // empty: none
};

// Reads the files of `ours`, to see that they can be used. Where nothing is encrypted these options may not stand.
Result<TlsOptions> tls_options(const Url& url, Encrypted encrypted);

}  // namespace hearth::remotes
