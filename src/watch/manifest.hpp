#pragma once

#include "hearth/key.hpp"
#include "watch/condition.hpp"

#include <optional>
#include <string_view>
#include <vector>

// What is known of a question before it is compiled: under which conditions it had which result. Kept as an entry under
// the question's key.
//
//   manifest   := "hearth manifest 3\n" next:u32 sets:u8 (result:32 conditions)*      newest first, 8 at most
//   conditions := count:u32 condition*
//   condition  := kind:u8 same_file:u32 (variable | path)
//   variable   := name:text16 [value:text32 | digest:32]           by the kind; a value only where it is harmless
//   path       := from:u8 index:u16 rest:text16 [digest:32 | error:i32 | text:text16]          by the kind
//   text16     := size:u16 bytes
//
// Stamps are kept beside it, on this machine alone:
//
//   stamps     := "hearth stamps 1\n" count:u32 (device:u64 inode:u64 size:u64 modified_ns:i64 changed_ns:i64
//   settled:u8)*

namespace hearth::watch {

// In one list. Who reads it takes memory for each. (An nvcc compile of CUB with 22 include directories has 32,000, in
// 1.8 MB; they grow with the directories.)
inline constexpr std::uint32_t k_most_conditions = 1U << 18;
inline constexpr std::size_t k_most_bytes_of_conditions = std::size_t{32} << 20;

struct ConditionSet {
    Key result;
    std::vector<Condition> conditions;

    friend bool operator==(const ConditionSet&, const ConditionSet&) = default;
};

struct Manifest {
    static constexpr std::size_t k_most_sets = 8;

    std::uint32_t next = 0;  // number of the next result that is not known here
    std::vector<ConditionSet> sets;

    // As the newest; the oldest goes if there are too many.
    void add(ConditionSet set);

    friend bool operator==(const Manifest&, const Manifest&) = default;
};

Bytes encode_manifest(const Manifest& manifest);
Bytes encode_conditions(const std::vector<Condition>& conditions);
Bytes encode_stamps(const Stamps& stamps);
// None if the bytes are not exactly that.
std::optional<Manifest> decode_manifest(ByteView bytes);
std::optional<std::vector<Condition>> decode_conditions(ByteView bytes);
std::optional<Stamps> decode_stamps(ByteView bytes);

}  // namespace hearth::watch
