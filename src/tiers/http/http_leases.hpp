#pragma once

#include "hearth/artifact.hpp"
#include "hearth/bytes.hpp"

#include <optional>
#include <string>
#include <string_view>

// Leases on servers that forget nothing and know one condition: "If-None-Match: *", only where nothing is there.
//
// They keep what they are given until it is removed, so a lease says itself how long it is good. The object of a name
// that ends in ".lease" is
//
//   lease   := "hearth-lease 1 " expires "\n" content
//   expires := 1 to 19 digits: milliseconds since 1970 in UTC, by the clock of who wrote it
//
// What does not begin like this is content as it stands, without end. One that has passed is removed by whoever wants
// it next. Clocks that differ make a lease end early or late by as much. Between looking at a lease and removing or
// rewriting it another may have changed it: two may then hold it, or the one who took it may lose it. All that is rare
// and harmless: a lease only saves work, and two who compile the same entry store the same.

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
