#pragma once

#include "hearth/artifact.hpp"
#include "hearth/bytes.hpp"

#include <optional>
#include <string>
#include <string_view>

// Leases on servers without expiry that know one condition: "If-None-Match: *", write only if there is no object.
//
// Such a server keeps an object until it is removed, so the lease itself says how long it is valid. The object of a
// name that ends in ".lease" is
//
//   lease   := "hearth-lease 1 " expires "\n" content
//   expires := 1 to 19 digits: milliseconds since 1970 in UTC, by the clock of the writer
//
// An object without this beginning is all content, and never expires. An expired lease is removed by the next process
// that wants it. If clocks differ, a lease ends early or late by the difference. Another process may change a lease
// between our look at it and our removing or rewriting it. Then two may hold it, or the one who took it may lose it.
// All that is rare and harmless: a lease only saves work, and two who compile the same entry store the same.

namespace hearth::tiers::http {

struct LeaseObject {
    Bytes content;
    WallTime expires{};
};

bool is_lease_name(std::string_view name);
std::string encode_lease(ByteView content, WallTime expires);
// None if it has no such beginning.
std::optional<LeaseObject> decode_lease(const Bytes& object);

}  // namespace hearth::tiers::http
