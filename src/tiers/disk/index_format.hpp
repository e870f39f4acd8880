#pragma once

#include "hearth/key.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

// The bytes of the index file; index.hpp says what they are for.
//
//   index  := header bucket*                       the header takes 4096 bytes, a bucket 16384
//   bucket := record{204} and padding              a record that is all zeros is free
//   record := key:u8[32] tick:u64 aging:f64 bytes:u64 cost:f32 uses:u32 created:u32 last_used:u32 expires:u32 sum:u32
//
// Little-endian; times are seconds since 1970; the sum makes a torn record recognisable.

namespace hearth::tiers {

struct IndexRecord {
    Key key;
    std::uint64_t tick = 0;   // order of last use: later is higher
    double aging = 0;         // the policy's stamp
    std::uint64_t bytes = 0;  // 0: free
    float cost = 0;           // seconds
    std::uint32_t uses = 0;
    std::uint32_t created = 0;
    std::uint32_t last_used = 0;  // 0: never
    std::uint32_t expires = 0;    // 0: never

    friend bool operator==(const IndexRecord&, const IndexRecord&) = default;
};

struct IndexTotals {
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;

    friend bool operator==(const IndexTotals&, const IndexTotals&) = default;
};

using BootId = std::array<std::uint8_t, 16>;

// What is being done to the entry of the announced record.
enum class IndexChange : std::uint8_t { none = 0, add = 1, remove = 2 };

struct IndexHeader {
    BootId boot{};
    std::uint64_t buckets = 1;
    IndexTotals totals;
    std::uint64_t tick = 0;
    double clock = 0;
    IndexChange announced = IndexChange::none;
    std::uint64_t announced_old_bytes = 0;  // of the record it replaces or removes; 0: none
    IndexRecord announced_record;
};

inline constexpr std::size_t k_index_record_bytes = 80;
inline constexpr std::size_t k_index_header_bytes = 256;  // in use; the rest is padding

std::string encode_header(const IndexHeader& header);
// False for a damaged one.
bool decode_header(ByteView bytes, IndexHeader& header);
std::string encode_record(const IndexRecord& record);
// None for a damaged one.
std::optional<IndexRecord> decode_record(ByteView bytes);

}  // namespace hearth::tiers
