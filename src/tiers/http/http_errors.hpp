#pragma once

#include "hearth/result.hpp"
#include "tiers/http/request.hpp"

#include <cstdint>
#include <curl/curl.h>
#include <optional>
#include <string>
#include <string_view>

// Errors for failed transfers and for refusals by servers. None of these holds a secret: only short codes are taken
// from what a server says, and libcurl's messages have no headers in them.

namespace hearth::tiers::http {

Error passed_deadline(const std::string& address);
Error too_large(const std::string& address, std::uint64_t limit);
Error not_http(const std::string& address, std::string_view why);

// For a transfer that got no answer. `words` is libcurl's message.
Error error_of_transfer(CURLcode code, std::string_view words, const ClientOptions& options, SteadyTime deadline);

// For an answer that says that the server wants a certificate from us, or another one. None for other answers.
std::optional<Error> certificate_refusal(const Answer& answer, Method method, const ClientOptions& options);

// For a status that is neither success nor a plain "not found". `reason` may be empty.
Error error_of_status(long status, Method method, const std::string& address, std::string_view reason);

}  // namespace hearth::tiers::http
