#pragma once

#include "hearth/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

// Errors for refusals by servers and for failed connections. None of these holds a secret: a server's answer to AUTH
// may repeat the password, so only its first word is used.

namespace hearth::tiers::redis {

// For an error reply: -NOPERM ..., -LOADING ..., -ERR ...
Error error_of_reply(std::string_view words, const std::string& address);
Error error_of_auth(std::string_view words, const std::string& address);

Error passed_deadline(const std::string& address);
Error broke_off(const std::string& address, std::string_view why);
Error not_redis(const std::string& address, std::string_view why);
Error too_large(const std::string& address, std::uint64_t bytes, std::uint64_t limit);

}  // namespace hearth::tiers::redis
