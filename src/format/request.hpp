#pragma once

#include "hearth/key.hpp"

#include <optional>
#include <vector>

// The canonical encoding of a request. Its SHA-256 is the key, so a change here changes every key: it has a version of
// its own, pinned by constants in tests/format/request_test.cpp.
//
//   request := "hearth request 1\n" field*          the first field is the text "domain"
//   field   := kind:u8 form:u8 name_size:u16 name size:u64 value
//   kind    := 1 text | 2 bytes | 3 number | 4 flag | 5 list
//   form    := 0 whole | 1 digest
//   value   := `size` bytes                          whole text, bytes, number (u64), flag (u8)
//            | item{size}, item := u64 bytes          whole list
//            | 32 bytes, SHA-256 of the whole value   digest
//
// All integers are little-endian. Text and bytes longer than 128 bytes, and lists longer than 4096, enter as digests.

namespace hearth::format {

inline constexpr std::string_view k_request_magic = "hearth request 1\n";
inline constexpr std::size_t k_list_inline_limit = 4096;

// A command line, and variables as "NAME=value". The request is kept for people: it has them without their secrets, and
// if that hides anything, the digest of what they really are beside it.
void add_words(KeyBuilder& key, std::string_view name, const std::vector<std::string>& words);
void add_variables(KeyBuilder& key, std::string_view name, const std::vector<std::string>& variables);

// None when the bytes are not exactly a request.
std::optional<std::vector<Field>> decode_request(ByteView encoding);

// Which compiler exactly a request names: its texts "compiler build" and "linker build". Empty if it has none.
std::string compiler_build_of(ByteView encoding);

}  // namespace hearth::format
