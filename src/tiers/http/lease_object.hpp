#pragma once

#include "hearth/artifact.hpp"
#include "hearth/bytes.hpp"

#include <optional>
#include <string>
#include <string_view>

// HTTP and S3 servers keep what they are given until it is removed, so a lease says itself how long it is good. The
// object of a name that ends in ".lease" is
//
//   lease   := "hearth-lease 1 " expires "\n" content
//   expires := 1 to 19 digits: milliseconds since 1970 in UTC, by the clock of who wrote it
//
// Clocks that differ make a lease end early or late by as much; a lease only saves work, so nothing breaks. What does
// not begin like this is content as it stands, without end.

namespace hearth::tiers::http {

struct LeaseObject {
    Bytes content;
    WallTime expires{};
};

bool is_lease_name(std::string_view name);
std::string encode_lease(ByteView content, WallTime expires);
// None: it has no such beginning.
std::optional<LeaseObject> decode_lease(const Bytes& object);

}  // namespace hearth::tiers::http
