#pragma once

#include "base/digest.hpp"
#include "hearth/bytes.hpp"
#include "hearth/key.hpp"
#include "hearth/result.hpp"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// What programs compiled, with everything needed to compile it again elsewhere. Any number of processes append to one
// file, one record with each write, so each record shows where it begins and whether it is whole.
//
//   file     := record*
//   record   := magic:u8[8] checksum:u8[16] version:u16 kind:u8 zero:u8 size:u32 payload:u8[size]
//   checksum := the first 16 bytes of SHA-256(all that follows it in the record)
//   kind     := 'C' content | 'R' recipe | 'P' recipe of a command | 'E' recipe of a result | 'U' use
//
//   content  := digest:u8[32] form:u8 raw_size:u64 bytes     form := 0 as they are | 1 one zstd frame
//   recipe   := key:u8[32] flags:u8 status:i32 cost_ns:u64 source:u8[32] name:text options:list names:list
//               given:u32 (name:text digest:u8[32])*          headers given with the program
//               files:u32 (path:text label:text digest:u8[32] flags:u8)*
//               target:text build_id:text builtins:text compiler:text environment:text directory:text why_past:text
//   of a command := recipe conditions:u8[32]                 zeros: they are not known
//   of a result  := recipe                                   its source is the entry itself (format/entry.hpp)
//   flags    := of a recipe: 1 the program's path matters | 2 every path matters; of a file: 1 its path matters
//   use      := key:u8[32] count:u64 at_ns:u64 pid:u32 began_ns:i64
//   text     := size:u32 bytes
//   list     := count:u32 text*
//
// Integers are little-endian. The record's head is the same in every version, and states the first version that has
// such a record: 3 for a recipe of a result, 2 for one of a command, 1 for all others. Contents are named by their
// SHA-256 and stand once for each process that wrote to the file. A recipe is named by its request's key and what it
// read; if the request goes past the cache, by the SHA-256 of the recipe's own payload with a key of zeros. A reader
// takes each once. If a record is cut or damaged, only that record is lost: the next one is found by its magic. A
// record that is whole but unknown to us (an unknown kind, a payload that makes no sense) is skipped as a whole.

namespace hearth::format {

// Every record begins with this; a file that begins otherwise holds something else.
inline constexpr std::string_view k_recipe_magic = "\x89HRTHRC\n";

inline constexpr std::uint16_t k_recipe_version = 3;
inline constexpr std::size_t k_recipe_head_size = 32;
// The largest source or header, and, with room to spare, the largest payload. Larger ones are not recorded.
inline constexpr std::uint64_t k_max_content = 256_MiB;
inline constexpr std::uint32_t k_max_recipe_payload = 512U << 20U;

struct RecipeHeader {
    std::string name;  // that it is included by
    base::Sha256 digest{};

    friend bool operator==(const RecipeHeader&, const RecipeHeader&) = default;
};

struct RecipeFile {
    std::string path;   // as the compiler opened it
    std::string label;  // its place relative to the program: the same when the whole tree has moved
    base::Sha256 digest{};
    bool path_matters = false;

    friend bool operator==(const RecipeFile&, const RecipeFile&) = default;
};

// `result`: of what only the program itself can compile, such as a framework's kernel. It is recorded as it is.
enum class RecipeKind : std::uint8_t { nvrtc, command, result };

// What NVRTC was asked to compile, what command was started to compile something, or what a program has compiled
// itself. Contents are named by their digests.
struct Recipe {
    RecipeKind kind = RecipeKind::nvrtc;
    Key key;
    base::Sha256 source{};              // of a command: its first
    std::string name;                   // of the program, as it was given; empty: it was given none
    std::vector<std::string> options;   // with the target; of a command: all its words
    std::vector<std::string> names;     // name expressions; of a command: directories that it names, its streams
    std::vector<RecipeHeader> given;    // headers that came with the program; of a command: its other sources
    std::vector<RecipeFile> files;      // headers that were found, in the order they were found
    base::Sha256 conditions{};          // of a command: those of its result, a content too
    bool program_path_matters = false;  // the output may hold it
    bool all_paths_matter = false;
    std::string target;  // the one the options name; empty: none
    std::string build_id;
    std::string builtins;            // digest of the compiler's built-in headers; of a command: its question's key
    std::string compiler;            // "nvrtc 13.0"; empty if nothing was compiled
    std::string environment;         // variables that the compiler may read: "NAME=value", each with a zero byte behind
    std::string working_directory;   // at the time
    std::string why_past_the_cache;  // why it goes past the cache; empty: it does not
    std::int32_t status = 0;         // what the compiler returned, if `compiler` is not empty
    std::chrono::nanoseconds cost{0};

    friend bool operator==(const Recipe&, const Recipe&) = default;
};

struct RecipeUse {
    Key key;
    std::uint64_t count = 1;            // uses since the process last wrote a use of this recipe
    std::chrono::nanoseconds at{0};     // since the process began
    std::uint32_t pid = 0;              // of the process...
    std::chrono::nanoseconds began{0};  // ...that began then, since 1970

    friend bool operator==(const RecipeUse&, const RecipeUse&) = default;
    friend auto operator<=>(const RecipeUse&, const RecipeUse&) = default;
};

// A content as it lies in a file.
struct StoredContent {
    ByteView bytes;
    std::uint64_t raw_size = 0;
    bool compressed = false;
    bool proven = false;  // it was unpacked once, and is what its digest says
};
// None when it is not what its digest says.
std::optional<Bytes> unpack(const StoredContent& content, const base::Sha256& digest);

// Whole records; empty if something is too large for a record.
std::string encode_content(const base::Sha256& digest, ByteView raw, int compression);
std::string encode_content(const base::Sha256& digest, const StoredContent& content);
std::string encode_recipe(const Recipe& recipe);
std::string encode_use(const RecipeUse& use);

// What a record is, by its first bytes: its head and a digest. It may still turn out to be damaged.
struct RecordName {
    enum class What : std::uint8_t { content, recipe, other };
    What what = What::other;
    base::Sha256 digest{};
    std::uint64_t size = 0;  // of the whole record
};
// None if no record begins so.
std::optional<RecordName> name_of_record(std::string_view begin);

// The name of a recipe whose request goes past the cache.
Key key_of_past_the_cache(Recipe recipe);

struct DigestHash {
    std::size_t operator()(const base::Sha256& digest) const noexcept
    {
        std::size_t word = 0;
        std::memcpy(&word, digest.data(), sizeof word);  // uniform already
        return word;
    }
};

// By their digests, each once.
using StoredContents = std::unordered_map<base::Sha256, StoredContent, DigestHash>;

// Adds one. If several name the same digest and differ, the first stays unless it is not what the digest says.
// `patience`: bytes that may still be unpacked to find that out; when they are used up, the first stays.
void add_content(StoredContents& all, const base::Sha256& digest, const StoredContent& content,
                 std::uint64_t& patience);
// The patience to begin with, for a file of so many bytes.
std::uint64_t patience_with(std::uint64_t bytes);

// What is in a file, duplicates included, and what of it could not be read.
struct DecodedRecipes {
    std::vector<Recipe> recipes;
    StoredContents contents;
    std::vector<RecipeUse> uses;
    std::uint64_t records = 0;
    std::uint64_t damaged_places = 0;  // stretches of bytes that belong to no whole record
    std::uint64_t damaged_bytes = 0;
};

// Reads `bytes`; the contents point into them. Returns an error about `name` if a newer version wrote some of it, or if
// it is not empty and holds no record.
Result<DecodedRecipes> decode_recipes(ByteView bytes, const std::string& name);

}  // namespace hearth::format
