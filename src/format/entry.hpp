#pragma once

#include "base/digest.hpp"
#include "hearth/artifact.hpp"
#include "hearth/result.hpp"
#include "hearth/tier.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// An entry: an artifact at rest, the same bytes on disk, in an export and on the wire.
//
//   entry    := head head_sum:u8[8] payload sum:u8[16]
//   head     := magic:u8[8] version:u16 checksum:u8 zero:u8 sections:u32
//               key:u8[32] total:u64 created:i64 expires:i64 cost:u64 status:i32
//               table_size:u32 request_size:u32 metadata_size:u32 table             table starts at byte 96
//   table    := request metadata row{sections}                                      table_size bytes in all
//   request  := the request's canonical encoding (format/request.hpp), or nothing
//   metadata := (tag:u8 size:u32 text)*          tag: 1 label, 2 compiler, 3 target, 4 option (again
//                                              for each), 5 writer
//   row      := name_size:u16 name codec:u8 stored:u64 raw:u64                       codec: 0 as it is, 1 zstd
//   payload  := the stored bytes of each section, in the order of the rows
//
// Integers are little-endian; times are nanoseconds since 1970, 0 for none; cost is nanoseconds. `checksum` says how
// both sums are computed (base/digest.hpp): head_sum over every byte before it, sum over every byte before it.
// Magic and version stand at the same place in every version. Another version is left alone and is a miss. Unknown
// metadata tags are skipped; anything else that is not exactly this is corrupt.

namespace hearth::format {

inline constexpr std::uint16_t k_entry_version = 1;
inline constexpr std::size_t k_entry_fixed_size = 96;
inline constexpr std::size_t k_entry_head_sum_size = 8;
inline constexpr std::uint64_t k_max_entry_bytes = 1_GiB;     // encoded
inline constexpr std::uint64_t k_max_artifact_bytes = 2_GiB;  // all sections, decoded
inline constexpr std::uint32_t k_max_sections = 4096;
inline constexpr std::uint32_t k_max_table_bytes = 16 << 20;

struct EncodeOptions {
    int compression = 1;  // zstd level for the larger sections; 0: all are stored as they are
    base::ChecksumKind checksum = base::preferred_checksum();
};

Result<Bytes> encode_entry(const Key& key, const Artifact& artifact, const EncodeOptions& options = {});

// An artifact, or why these bytes are none.
struct DecodedEntry {
    std::shared_ptr<Artifact> artifact;
    Miss why = Miss::corrupt;  // corrupt or other_version; meaningful only without an artifact
};

// Verifies everything before anything is used: lengths, both sums, and that the key inside is the one asked for. A
// signature behind the entry is ignored: callers that demand one have checked it before.
// Nothing is unpacked of one that would take more than `most`: Miss::other_version.
DecodedEntry decode_entry(const Bytes& entry, const Key& expected, std::uint64_t most = k_max_artifact_bytes);

// What a listing needs. It is read from the first bytes of an entry alone, and verified by the head's own sum.
struct EntryHead {
    Key key;
    std::uint64_t total = 0;
    std::uint64_t raw_bytes = 0;
    WallTime created{};
    WallTime expires{};
    std::chrono::nanoseconds cost{0};
    std::int32_t status = 0;
    Metadata metadata;
    std::string compiler_build;
};

struct DecodedHead {
    enum class Outcome : std::uint8_t { ok, need_more, corrupt, other_version };
    Outcome outcome = Outcome::corrupt;
    std::size_t needed = 0;  // with need_more: how many bytes the head takes
    EntryHead head;
};

DecodedHead decode_head(ByteView prefix);

// The key an entry claims, before it is verified: enough to know which entry to verify it as. None: not an entry.
std::optional<Key> claimed_key(ByteView prefix);
// The same for its size. Bytes behind that do not belong to the entry (format/signature.hpp).
std::optional<std::uint64_t> claimed_size(ByteView prefix);

}  // namespace hearth::format
