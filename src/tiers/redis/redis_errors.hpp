#pragma once

#include "hearth/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

// What servers refuse, and what goes wrong on the way to them, in our words. None of these holds a secret: what a
// server says of AUTH may repeat the password, so only its first word is taken over.

namespace hearth::tiers::redis {

// Of an error reply: -NOPERM ..., -LOADING ..., -ERR ...
Error error_of_reply(std::string_view words, const std::string& address);
Error error_of_auth(std::string_view words, const std::string& address);

Error passed_deadline(const std::string& address);
Error broke_off(const std::string& address, std::string_view why);
Error not_redis(const std::string& address, std::string_view why);
Error too_large(const std::string& address, std::uint64_t bytes, std::uint64_t limit);

}  // namespace hearth::tiers::redis
