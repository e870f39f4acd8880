#pragma once

#include "hearth/result.hpp"
#include "tiers/http/request.hpp"

#include <cstdint>
#include <curl/curl.h>
#include <optional>
#include <string>
#include <string_view>

// What goes wrong on the way to a server, and what servers refuse, in our words. None of these holds a secret: of what
// a server says only short codes are taken over, and what libcurl says has no header in it.

namespace hearth::tiers::http {

Error passed_deadline(const std::string& address);
Error too_large(const std::string& address, std::uint64_t limit);
Error not_http(const std::string& address, std::string_view why);

// Of a transfer that got no answer. `words` are libcurl's.
Error error_of_transfer(CURLcode code, std::string_view words, const ClientOptions& options, SteadyTime deadline);

// Of an answer that says that the server wants a certificate of ours, or another one. None: it does not say so.
std::optional<Error> certificate_refusal(const Answer& answer, Method method, const ClientOptions& options);

// Of a status that is no success and no plain "not there". `reason` may be empty.
Error error_of_status(long status, Method method, const std::string& address, std::string_view reason);

}  // namespace hearth::tiers::http
