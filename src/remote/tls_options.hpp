#pragma once

#include "base/certificate_files.hpp"
#include "hearth/result.hpp"
#include "remote/url.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

// The options about TLS that an address may have, whatever the protocol:
//
//   ?ca=FILE               certificates of the authorities to trust; the system's if none is given
//   ?insecure=1            accepts any certificate
//   ?cert=FILE&key=FILE    our certificate, for a server that demands one

namespace hearth::remotes {

inline constexpr std::array<std::string_view, 4> k_names_of_tls_options = {"ca", "insecure", "cert", "key"};

enum class Verify : std::uint8_t { peer, nothing };
enum class Encrypted : std::uint8_t { no, yes };

struct TlsOptions {
    std::string ca_file{};  // empty: the system's
    Verify verify = Verify::peer;
    base::CertificateFiles ours{};  // empty: none
};

// Reads the files of `ours` to check that they can be used. Without encryption these options are errors.
Result<TlsOptions> tls_options(const Url& url, Encrypted encrypted);

}  // namespace hearth::remotes
