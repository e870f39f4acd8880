#pragma once

#include "base/digest.hpp"
#include "base/ed25519.hpp"
#include "hearth/bundle.hpp"
#include "hearth/bytes.hpp"
#include "hearth/key.hpp"
#include "hearth/result.hpp"
#include "hearth/trust.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// A bundle: many entries in one file that never changes, found by key.
//
//   bundle   := header facts table seal page* entry*
//   header   := magic:u8[8] version:u16 entry_version:u16 zero:u32 entries:u64 entry_bytes:u64 facts_size:u64
//   facts    := base:u8[32] names names zero:u8*         targets, then compilers; padded to a multiple of 1024 bytes
//   names    := count:u32 (size:u16 text entries:u64)*   in ascending order
//   table    := (first_key:u8[32] SHA-256(page):u8[32] offset:u64)*   one a page
//   seal     := root:u8[32] public_key:u8[32] signature:u8[64]        the last two are zero if it is not signed
//   page     := row*                                     128 of them, fewer in the last
//   row      := key:u8[32] SHA-256(entry):u8[32] offset:u64 size:u64  keys ascend
//   entry    := the entry's bytes as format/entry.hpp has them, perhaps with a signature behind them
//   root     := SHA-256(header facts table)
//   message  := "hearth bundle signature 1" root         what is signed, with Ed25519
//
// Integers are little-endian; offsets count from the first byte of the first entry. Entries stand in the order of their
// keys without a gap, so every place in the file follows from the header, and a row that says otherwise is refused. The
// root vouches for the pages, and the pages for the entries: a signature over the root covers every byte.
//
// The index stands before the entries, so if a file was cut, only the entries behind the cut are lost. Opening reads
// the header, the facts and the table (60 KB for 100,000 entries). A lookup reads one page, which is kept, and the
// entry.

namespace hearth::format {

inline constexpr std::uint16_t k_bundle_version = 1;
inline constexpr std::size_t k_bundle_header_size = 40;
inline constexpr std::size_t k_bundle_facts_unit = 1024;
inline constexpr std::size_t k_bundle_table_row_size = 72;
inline constexpr std::size_t k_bundle_seal_size = 128;
inline constexpr std::size_t k_bundle_page_rows = 128;
inline constexpr std::size_t k_bundle_row_size = 80;
inline constexpr std::uint64_t k_max_bundle_entries = 1 << 26;
inline constexpr std::uint64_t k_max_bundle_bytes = std::uint64_t{1} << 48U;
inline constexpr std::size_t k_max_bundle_names = 256;       // of targets, and of compilers
inline constexpr std::size_t k_max_bundle_name_bytes = 256;  // longer ones are not listed
inline constexpr std::uint64_t k_max_bundle_facts = 256_KiB;

// The numbers that everything else follows from.
struct BundleHeader {
    std::uint64_t entries = 0;
    std::uint64_t entry_bytes = 0;
    std::uint64_t facts_size = 0;

    std::size_t pages() const { return (entries + k_bundle_page_rows - 1) / k_bundle_page_rows; }
    std::size_t rows_in(std::size_t page) const
    {
        return std::min<std::uint64_t>(entries - page * k_bundle_page_rows, k_bundle_page_rows);
    }
    std::uint64_t table_at() const { return k_bundle_header_size + facts_size; }
    std::uint64_t seal_at() const { return table_at() + pages() * k_bundle_table_row_size; }
    std::uint64_t page_at(std::size_t page) const
    {
        return seal_at() + k_bundle_seal_size + page * k_bundle_page_rows * k_bundle_row_size;
    }
    std::uint64_t entries_at() const { return seal_at() + k_bundle_seal_size + entries * k_bundle_row_size; }
    std::uint64_t file_size() const { return entries_at() + entry_bytes; }
};

struct BundleRow {
    Key key;
    base::Sha256 digest{};
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

struct BundleFacts {
    base::Sha256 base{};  // the root of the bundle that this is a delta over; zeros: it is no delta
    std::vector<bundles::Named> targets;
    std::vector<bundles::Named> compilers;
};

// What opening has to read, decoded and checked.
class BundleHead {
public:
    // `head` is the file up to its pages. Its root is computed again, so damage anywhere in it is found.
    static Result<BundleHead> decode(const BundleHeader& header, const Bytes& head, const std::string& path);

    const BundleHeader& header() const { return m_header; }
    const BundleFacts& facts() const { return m_facts; }
    const base::Sha256& root() const { return m_root; }

    // Who claims to have signed it.
    const std::optional<PublicKey>& signer() const { return m_signer; }
    // Whether that key has signed this very root.
    bool is_signature_right() const;

    // The only page that can hold this key; none: no page can.
    std::optional<std::size_t> page_with(const Key& key) const;
    // Whether these bytes are that page: by its digest, and by what its rows say.
    bool is_page(std::size_t number, ByteView page) const;

private:
    bool read_table() const;
    ByteView table_row(std::size_t page) const;
    std::uint64_t offset_of(std::size_t page) const;

    BundleHeader m_header;
    BundleFacts m_facts;
    Bytes m_table;
    base::Sha256 m_root{};
    std::optional<PublicKey> m_signer;
    base::Ed25519Signature m_signature{};
};

// From the first bytes of a file. An error is a sentence about the file at `path`.
Result<BundleHeader> decode_bundle_header(ByteView bytes, std::uint64_t file_size, const std::string& path);

// A row of a page for which is_page() was true.
BundleRow bundle_row(ByteView page, std::size_t number);
std::optional<std::size_t> find_in_page(ByteView page, const Key& key);

// For the writer. `rows` are the rows of all pages, one after the other.
void append_bundle_row(std::string& rows, const BundleRow& row);
std::string encode_bundle_facts(const BundleFacts& facts);
// Everything before the pages; signed if there is a key.
struct EncodedBundleHead {
    std::string bytes;
    base::Sha256 root{};
};
Result<EncodedBundleHead> encode_bundle_head(const BundleFacts& facts, std::uint64_t entries, std::uint64_t entry_bytes,
                                             std::string_view rows, const SigningKey* sign_with);

}  // namespace hearth::format
