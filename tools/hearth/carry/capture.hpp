#pragma once

#include "hearth/bytes.hpp"
#include "hearth/key.hpp"
#include "hearth/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What a directory held when it was captured: paths, modes, times, and by digest the contents. The contents themselves
// lie in entries of their own, the packs, so that a second capture costs only what has changed.
//
//   capture  = version:u32 text(name) text(directory) facts packs pieces items
//   facts    = count:u32 (text(what) text(value))*             what the content was made with and for
//   packs    = count:u32 (key:32 size:u64)*                    entries that hold contents, one behind the other
//   pieces   = count:u32 (digest:32 pack:u32 offset:u64 size:u64)*
//   items    = count:u32 (kind:u8 mode:u16 modified:i64 text(path) rest)*   sorted by path, a folder before what is in
//   it rest     = nothing for a folder (1); count:u32 piece:u32* for a file (2); text(target) for a link (3) text     =
//   length:u16 bytes
//
// Integers are little-endian; `modified` is in nanoseconds since 1970.

namespace hearth::cli::carry {

// A file is cut into pieces of this size. What is smaller than a small piece shares its pack with others.
inline constexpr std::uint64_t k_piece_bytes = 4_MiB;
inline constexpr std::uint64_t k_small_bytes = 256_KiB;

// The folder in which a restore prepares what it will move into place. It is in no capture.
inline constexpr std::string_view k_staging = ".hearth-carry";
// The file that a restore locks meanwhile. It is in no capture either.
inline constexpr std::string_view k_lock = ".hearth-carry.lock";

// The file in a directory that says that a restore without a trusted signature wrote there. It is in no capture.
inline constexpr std::string_view k_unsigned_mark = ".hearth-unsigned";

// Of a path below the directory, in bytes.
inline constexpr std::size_t k_longest_path = 4000;

// Something that has to be the same where a capture is restored: ("triton", "3.9.0").
struct Fact {
    std::string what;
    std::string value;
    friend bool operator==(const Fact&, const Fact&) = default;
};

struct Pack {
    Key key;
    std::uint64_t size = 0;
};

struct Piece {
    Key content;
    std::uint32_t pack = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

enum class Kind : std::uint8_t { folder = 1, file = 2, link = 3 };

struct Item {
    Kind kind = Kind::file;
    std::uint16_t mode = 0;     // permissions only
    std::int64_t modified = 0;  // nanoseconds since 1970
    std::string path{};         // below the directory
    std::vector<std::uint32_t> pieces{};
    std::string target{};  // of a link
};

struct Capture {
    std::string name;       // of the tool, or the directory's own path
    std::string directory;  // where it lay
    std::vector<Fact> identity;
    std::vector<Pack> packs;
    std::vector<Piece> pieces;
    std::vector<Item> items;

    std::uint64_t size_of(const Item& item) const;
    std::uint64_t bytes() const;
    std::uint64_t files() const;
};

// What an archive may ask for at most.
struct Bounds {
    std::uint64_t bytes = 16_GiB;
    std::uint64_t items = 1'000'000;
};

// The digest of a content, and the key of the entry that holds it alone.
Key content_key(ByteView content);

// Whether a link leads to a place in the directory, whatever is there.
bool stays_inside(const Item& link);

std::string encode(const Capture& capture);
// Takes only what follows the grammar and whose numbers lead to something. That is not yet safe to restore: check().
Result<Capture> decode(ByteView bytes);

// What a stranger's capture must be before anything is written: no path or link leads out of the directory, nothing but
// files, folders and links, no mode beyond permissions, within the bounds. The error's sentence names the culprit.
Status check(const Capture& capture, const Bounds& bounds);

}  // namespace hearth::cli::carry
