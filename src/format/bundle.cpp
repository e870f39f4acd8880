#include "format/bundle.hpp"

#include "base/error.hpp"
#include "base/wire.hpp"
#include "format/entry.hpp"
#include "format/signature.hpp"

#include <cstring>
#include <fmt/format.h>

namespace hearth::format {

namespace {

constexpr std::string_view k_bundle_magic = "\x89HRTHBN\n";
constexpr std::string_view k_export_magic = "\x89HRTHAR\n";
constexpr std::string_view k_bundle_purpose = "hearth bundle signature 1";
constexpr std::uint64_t k_max_row_bytes = k_max_entry_bytes + k_trailer_size;
constexpr std::size_t k_digest_at = 32;
constexpr std::size_t k_offset_at = 64;

Error damaged(const std::string& path, std::string_view where)
{
    return error(Code::corrupt, "{} is damaged: {}. Get the file again.", path, where);
}

// Keys are compared where they lie.
int compare(ByteView row, const Key& key)
{
    return std::memcmp(row.data(), key.digest.data(), key.digest.size());
}

base::Sha256 digest_at(ByteView bytes, std::size_t at)
{
    base::Sha256 digest{};
    std::memcpy(digest.data(), bytes.data() + at, digest.size());
    return digest;
}

std::uint64_t number_at(ByteView bytes, std::size_t at)
{
    return base::WireReader(bytes.subspan(at, sizeof(std::uint64_t))).number<std::uint64_t>();
}

ByteView bytes_of(const base::Sha256& digest)
{
    return std::as_bytes(std::span(digest));
}

Bytes message_of(const base::Sha256& root)
{
    base::WireWriter message;
    message.raw(k_bundle_purpose);
    message.raw(bytes_of(root));
    return Bytes::copy_of(message.view());
}

bool read_names(base::WireReader& reader, std::vector<bundles::Named>& names)
{
    const auto count = reader.number<std::uint32_t>();
    if (count > k_max_bundle_names)
        return false;
    for (std::uint32_t i = 0; i < count && !reader.failed(); ++i) {
        bundles::Named one;
        one.name = reader.prefixed<std::uint16_t>();
        one.entries = reader.number<std::uint64_t>();
        if (one.name.size() > k_max_bundle_name_bytes || (!names.empty() && names.back().name >= one.name))
            return false;
        names.push_back(std::move(one));
    }
    return !reader.failed();
}

bool read_facts(ByteView bytes, BundleFacts& facts)
{
    base::WireReader reader(bytes);
    const ByteView base = reader.raw(facts.base.size());
    if (reader.failed() || !read_names(reader, facts.targets) || !read_names(reader, facts.compilers))
        return false;
    std::memcpy(facts.base.data(), base.data(), base.size());
    const ByteView padding = reader.raw(reader.rest());
    return std::all_of(padding.begin(), padding.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

void write_names(base::WireWriter& out, const std::vector<bundles::Named>& names)
{
    out.number(static_cast<std::uint32_t>(names.size()));
    for (const bundles::Named& one : names) {
        out.prefixed<std::uint16_t>(one.name);
        out.number(one.entries);
    }
}

}  // namespace

Result<BundleHeader> decode_bundle_header(ByteView bytes, std::uint64_t file_size, const std::string& path)
{
    base::WireReader reader(bytes);
    const std::string_view magic = as_text(reader.raw(k_bundle_magic.size()));
    if (magic == k_export_magic)
        return error(Code::invalid_argument,
                     "{} is an export and no bundle. Load it with `hearth import`, and make a bundle with "
                     "`hearth bundle create FILE`.",
                     path);
    if (magic != k_bundle_magic)
        return error(Code::invalid_argument, "{} is no Hearth bundle. Make one with `hearth bundle create FILE`.",
                     path);
    const auto version = reader.number<std::uint16_t>();
    const auto entry_version = reader.number<std::uint16_t>();
    if (!reader.failed() && version != k_bundle_version)
        return error(Code::other_version,
                     "{} is a bundle of version {}; this Hearth reads version {}. Use the Hearth that wrote "
                     "it, or make the bundle again with this one.",
                     path, version, k_bundle_version);
    if (!reader.failed() && entry_version != k_entry_version)
        return error(Code::other_version,
                     "{} holds entries of format {}; this Hearth reads format {}. Use the Hearth that wrote "
                     "it, or make the bundle again with this one.",
                     path, entry_version, k_entry_version);
    const auto zero = reader.number<std::uint32_t>();
    BundleHeader header;
    header.entries = reader.number<std::uint64_t>();
    header.entry_bytes = reader.number<std::uint64_t>();
    header.facts_size = reader.number<std::uint64_t>();
    if (reader.failed())
        return damaged(path, fmt::format("it ends after {} bytes, within its header", file_size));
    // Bounded before anything is computed from them, let alone allocated.
    if (zero != 0 || header.entries > k_max_bundle_entries || header.entry_bytes > k_max_bundle_bytes ||
        header.facts_size > k_max_bundle_facts || header.facts_size % k_bundle_facts_unit != 0 ||
        (header.entries == 0) != (header.entry_bytes == 0))
        return damaged(path, "its header holds impossible numbers");
    if (header.page_at(0) > file_size)
        return damaged(path,
                       fmt::format("it ends after {} bytes, and its index takes {}", file_size, header.page_at(0)));
    return header;
}

Result<BundleHead> BundleHead::decode(const BundleHeader& header, const Bytes& head, const std::string& path)
{
    BundleHead decoded;
    decoded.m_header = header;
    decoded.m_root = base::sha256(head.view().first(header.seal_at()));
    const ByteView seal = head.view().subspan(header.seal_at(), k_bundle_seal_size);
    if (digest_at(seal, 0) != decoded.m_root)
        return damaged(path, "its header, facts and table are not those it was written with");
    decoded.m_table = head.slice(header.table_at(), header.seal_at() - header.table_at());
    if (!read_facts(head.view().subspan(k_bundle_header_size, header.facts_size), decoded.m_facts) ||
        !decoded.read_table())
        return damaged(path, "its facts or its table are impossible");
    PublicKey signer;
    base::WireReader reader(seal.subspan(sizeof decoded.m_root));
    const ByteView key = reader.raw(signer.bytes.size());
    const ByteView signature = reader.raw(decoded.m_signature.size());
    std::memcpy(signer.bytes.data(), key.data(), key.size());
    std::memcpy(decoded.m_signature.data(), signature.data(), signature.size());
    if (signer != PublicKey{} || decoded.m_signature != base::Ed25519Signature{})
        decoded.m_signer = signer;
    return decoded;
}

ByteView BundleHead::table_row(std::size_t page) const
{
    return m_table.view().subspan(page * k_bundle_table_row_size, k_bundle_table_row_size);
}

// Where the entries of a page begin. For the page number behind the last: where all entries end.
std::uint64_t BundleHead::offset_of(std::size_t page) const
{
    return page == m_header.pages() ? m_header.entry_bytes : number_at(table_row(page), k_offset_at);
}

bool BundleHead::read_table() const
{
    for (std::size_t page = 0; page < m_header.pages(); ++page) {
        if (page == 0 ? offset_of(0) != 0
                      : std::memcmp(table_row(page - 1).data(), table_row(page).data(), sizeof(Key)) >= 0)
            return false;
        if (offset_of(page) >= offset_of(page + 1))
            return false;
    }
    return true;
}

bool BundleHead::is_signature_right() const
{
    return m_signer && base::ed25519_verify(m_signer->bytes, m_signature, message_of(m_root));
}

std::optional<std::size_t> BundleHead::page_with(const Key& key) const
{
    std::size_t low = 0;
    std::size_t high = m_header.pages();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (compare(table_row(middle), key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? std::nullopt : std::optional(low - 1);
}

bool BundleHead::is_page(std::size_t number, ByteView page) const
{
    const std::size_t rows = m_header.rows_in(number);
    if (page.size() != rows * k_bundle_row_size || base::sha256(page) != digest_at(table_row(number), k_digest_at))
        return false;
    // The table vouches for the page, but nobody vouches for who wrote both: what the page says must be possible too.
    std::uint64_t offset = offset_of(number);
    for (std::size_t i = 0; i < rows; ++i) {
        const BundleRow row = bundle_row(page, i);
        const ByteView before = i == 0 ? table_row(number) : page.subspan((i - 1) * k_bundle_row_size);
        if (row.offset != offset || row.size == 0 || row.size > k_max_row_bytes ||
            (i == 0 ? compare(before, row.key) != 0 : compare(before, row.key) >= 0))
            return false;
        offset += row.size;
    }
    if (number + 1 < m_header.pages() && compare(table_row(number + 1), bundle_row(page, rows - 1).key) <= 0)
        return false;
    return offset == offset_of(number + 1);
}

BundleRow bundle_row(ByteView page, std::size_t number)
{
    const ByteView bytes = page.subspan(number * k_bundle_row_size, k_bundle_row_size);
    BundleRow row;
    std::memcpy(row.key.digest.data(), bytes.data(), row.key.digest.size());
    row.digest = digest_at(bytes, k_digest_at);
    row.offset = number_at(bytes, k_offset_at);
    row.size = number_at(bytes, k_offset_at + sizeof row.offset);
    return row;
}

std::optional<std::size_t> find_in_page(ByteView page, const Key& key)
{
    std::size_t low = 0;
    std::size_t high = page.size() / k_bundle_row_size;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        const int order = compare(page.subspan(middle * k_bundle_row_size), key);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return std::nullopt;
}

void append_bundle_row(std::string& rows, const BundleRow& row)
{
    base::WireWriter out;
    out.raw(std::as_bytes(std::span(row.key.digest)));
    out.raw(bytes_of(row.digest));
    out.number(row.offset);
    out.number(row.size);
    rows += out.out();
}

std::string encode_bundle_facts(const BundleFacts& facts)
{
    base::WireWriter out;
    out.raw(bytes_of(facts.base));
    write_names(out, facts.targets);
    write_names(out, facts.compilers);
    const std::size_t units = (out.size() + k_bundle_facts_unit - 1) / k_bundle_facts_unit;
    out.out().resize(units * k_bundle_facts_unit, '\0');
    return std::move(out.out());
}

Result<EncodedBundleHead> encode_bundle_head(const BundleFacts& facts, std::uint64_t entries, std::uint64_t entry_bytes,
                                             std::string_view rows, const SigningKey* sign_with)
{
    const std::string encoded_facts = encode_bundle_facts(facts);
    base::WireWriter out;
    out.raw(k_bundle_magic);
    out.number(k_bundle_version);
    out.number(k_entry_version);
    out.number(std::uint32_t{0});
    out.number(entries);
    out.number(entry_bytes);
    out.number(static_cast<std::uint64_t>(encoded_facts.size()));
    out.raw(encoded_facts);
    static constexpr std::size_t k_page_bytes = k_bundle_page_rows * k_bundle_row_size;
    for (std::size_t at = 0; at < rows.size(); at += k_page_bytes) {
        const ByteView page = as_bytes(rows.substr(at, k_page_bytes));
        out.raw(page.first(sizeof(Key)));
        out.raw(bytes_of(base::sha256(page)));
        out.number(bundle_row(page, 0).offset);
    }
    EncodedBundleHead head;
    head.root = base::sha256(out.view());
    PublicKey signer;
    base::Ed25519Signature signature{};
    if (sign_with) {
        const std::optional<base::Ed25519Signature> made =
            base::ed25519_sign(sign_with->secret(), message_of(head.root));
        if (!made)
            return error(Code::unavailable,
                         "This machine's OpenSSL cannot make Ed25519 signatures. Install OpenSSL 3.");
        signer = sign_with->public_key();
        signature = *made;
    }
    out.raw(bytes_of(head.root));
    out.raw(std::as_bytes(std::span(signer.bytes)));
    out.raw(std::as_bytes(std::span(signature)));
    head.bytes = std::move(out.out());
    return head;
}

}  // namespace hearth::format
