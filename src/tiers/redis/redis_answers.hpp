#pragma once

#include "hearth/result.hpp"
#include "tiers/redis/redis_settings.hpp"
#include "tiers/redis/resp.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What CLUSTER SLOTS, SCAN and INFO answer, and where MOVED and ASK send us. Pure: no input or output.

namespace hearth::tiers::redis {

constexpr std::size_t k_slots = 16384;

// CRC-16/XMODEM.
std::uint16_t crc16(std::string_view bytes);
// Hashes the part between the first '{' and the next '}' if there is one and it is not empty; else the whole key.
std::uint16_t slot_of(std::string_view key);

// Which master serves which slot.
struct SlotMap {
    static constexpr std::uint16_t k_nobody = 0xFFFF;
    static constexpr std::size_t k_max_nodes = 1024;

    std::vector<Endpoint> masters;
    std::vector<Endpoint> replicas;            // may be asked for the map when no master answers
    std::array<std::uint16_t, k_slots> owner;  // an index into masters, or k_nobody
};

// The reply to CLUSTER SLOTS: ranges of [first, last, master, replica...], each node [host, port, ...]. An empty or
// missing host is the one that was asked; "?" is an unknown host, and its slots have no owner. An Error is corrupt, and
// its message is the end of a sentence.
Result<SlotMap> parse_slots(const Reply& reply, const Endpoint& asked);

// "MOVED 3999 127.0.0.1:6381" and "ASK 3999 127.0.0.1:6381".
struct Redirection {
    enum class Kind : std::uint8_t { moved, ask };
    Kind kind = Kind::moved;
    std::uint16_t slot = 0;
    Endpoint to;
};
std::optional<Redirection> parse_redirection(std::string_view words, const Endpoint& asked);

struct ScanPage {
    std::string cursor;                   // where to go on: digits; "0" at the end
    std::vector<std::string_view> names;  // without the prefix, in the reply's own memory
};
// [cursor, [key, ...]]. Keys without the prefix, or with a name that we never use, are left out: others may keep keys
// there. None if it is not such a reply.
std::optional<ScanPage> parse_scan(const Reply& reply, std::string_view prefix);

// "7.0.15", from what INFO says; empty if it does not say. At most 32 printable characters.
std::string version_in(std::string_view info);

}  // namespace hearth::tiers::redis
