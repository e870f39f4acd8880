#pragma once

#include "hearth/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The address of a remote, as people write it:
//
//   url   := scheme "://" [user [":" password] "@"] hosts ["/" path] ["?" option ("&" option)*]
//   hosts := host [":" port] ("," host [":" port])*         none for NAME+unix, whose path is the socket's
//   host  := a name, an IPv4 address, or an IPv6 address in brackets
//
// User, password, path and options may hold %XX. Nothing else of RFC 3986 is supported.

namespace hearth::remotes {

struct HostPort {
    std::string host;
    std::uint16_t port = 0;  // 0: the scheme's own

    std::string shown() const;  // "host:80", "[fd00::1]:80", "host"
    friend bool operator==(const HostPort&, const HostPort&) = default;
    friend auto operator<=>(const HostPort&, const HostPort&) = default;
};

struct Url {
    std::string scheme;
    std::string user;
    std::string password;
    std::vector<HostPort> hosts;
    std::string path;  // without the slash before it, except for a socket
    std::map<std::string, std::string> options;

    // For people: never with a password, nor with an option that may hold a secret.
    std::string shown() const;
    std::optional<std::string> option(std::string_view name) const;
};

Result<Url> parse_url(std::string_view text);

// The text with %XX for all but letters, digits, "-_.~" and those of `also`, for the path or query of a request.
std::string percent_encoded(std::string_view text, std::string_view also = {});

// "The remote redis://h cannot be used: WHY". `why` is the end of that sentence, and more where it helps.
Error unusable(const Url& url, std::string_view why);

}  // namespace hearth::remotes
