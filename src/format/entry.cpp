#include "format/entry.hpp"

#include "base/error.hpp"
#include "base/wire.hpp"
#include "format/compression.hpp"
#include "format/request.hpp"
#include "format/signature.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <new>

namespace hearth::format {

namespace {

constexpr std::string_view k_entry_magic = "\x89HEARTH\n";
constexpr std::size_t k_sum_size = sizeof(base::Checksum);

// Smaller sections stay as they are. Compressing one saves a block or two of the file system at most, and unpacking it
// costs a hit more than everything else together (10 us for the 4 KB of a small kernel).
constexpr std::size_t k_least_compressed = 8192;

enum class Codec : std::uint8_t { raw = 0, zstd = 1 };
enum class Tag : std::uint8_t { label = 1, compiler = 2, target = 3, option = 4, writer = 5 };

struct Row {
    std::string_view name;
    Codec codec = Codec::raw;
    std::uint64_t stored = 0;
    std::uint64_t raw = 0;
};

struct Fixed {
    std::uint16_t version = 0;
    std::uint8_t checksum = 0;
    std::uint32_t sections = 0;
    std::uint32_t table_size = 0;
    std::uint32_t request_size = 0;
    std::uint32_t metadata_size = 0;
    EntryHead head;

    std::size_t head_size() const { return k_entry_fixed_size + table_size; }
    std::size_t payload_at() const { return head_size() + k_entry_head_sum_size; }
};

struct Table {
    ByteView request;
    Metadata metadata;
    std::vector<Row> rows;
    std::uint64_t stored = 0;
    std::uint64_t raw = 0;
};

std::int64_t to_ns(WallTime time)
{
    return time.time_since_epoch().count();
}

WallTime from_ns(std::int64_t ns)
{
    return WallTime(std::chrono::nanoseconds(ns));
}

bool same_sum(base::ChecksumKind kind, ByteView bytes, ByteView expected)
{
    const auto sum = base::checksum(kind, bytes);
    return sum && std::memcmp(sum->data(), expected.data(), expected.size()) == 0;
}

// The caller has checked that the whole head is there.
bool head_sum_right(const Fixed& fixed, ByteView bytes)
{
    return same_sum(static_cast<base::ChecksumKind>(fixed.checksum), bytes.first(fixed.head_size()),
                    bytes.subspan(fixed.head_size(), k_entry_head_sum_size));
}

using Outcome = DecodedHead::Outcome;

Outcome read_fixed(ByteView bytes, Fixed& fixed)
{
    base::WireReader reader(bytes);
    if (as_text(reader.raw(k_entry_magic.size())) != k_entry_magic)
        return bytes.size() < k_entry_magic.size() ? Outcome::need_more : Outcome::corrupt;
    fixed.version = reader.number<std::uint16_t>();
    if (reader.failed())
        return Outcome::need_more;
    if (fixed.version != k_entry_version)
        return Outcome::other_version;
    fixed.checksum = reader.number<std::uint8_t>();
    const auto zero = reader.number<std::uint8_t>();
    fixed.sections = reader.number<std::uint32_t>();
    const ByteView key = reader.raw(fixed.head.key.digest.size());
    fixed.head.total = reader.number<std::uint64_t>();
    fixed.head.created = from_ns(reader.number<std::int64_t>());
    fixed.head.expires = from_ns(reader.number<std::int64_t>());
    const auto cost = reader.number<std::uint64_t>();
    fixed.head.status = reader.number<std::int32_t>();
    fixed.table_size = reader.number<std::uint32_t>();
    fixed.request_size = reader.number<std::uint32_t>();
    fixed.metadata_size = reader.number<std::uint32_t>();
    if (reader.failed())
        return Outcome::need_more;
    std::memcpy(fixed.head.key.digest.data(), key.data(), key.size());
    fixed.head.cost = std::chrono::nanoseconds(static_cast<std::int64_t>(std::min<std::uint64_t>(cost, INT64_MAX)));
    if (zero != 0 || fixed.sections > k_max_sections || fixed.table_size > k_max_table_bytes ||
        fixed.head.total > k_max_entry_bytes || fixed.payload_at() + k_sum_size > fixed.head.total)
        return Outcome::corrupt;
    // An entry whose kind of checksum this build cannot compute is not damaged: a build that can will still want it.
    const auto kind = static_cast<base::ChecksumKind>(fixed.checksum);
    if (kind != base::ChecksumKind::sha256 && kind != base::ChecksumKind::xxh3)
        return Outcome::corrupt;
    return base::checksum(kind, {}) ? Outcome::ok : Outcome::other_version;
}

bool read_metadata(ByteView bytes, Metadata& metadata)
{
    base::WireReader reader(bytes);
    while (!reader.at_end()) {
        const auto tag = static_cast<Tag>(reader.number<std::uint8_t>());
        const std::string_view value = reader.prefixed<std::uint32_t>();
        switch (tag) {
        case Tag::label:
            metadata.label = value;
            break;
        case Tag::compiler:
            metadata.compiler = value;
            break;
        case Tag::target:
            metadata.target = value;
            break;
        case Tag::option:
            metadata.options.emplace_back(value);
            break;
        case Tag::writer:
            metadata.writer = value;
            break;
        default:
            break;
        }
    }
    return !reader.failed();
}

bool read_table(ByteView bytes, const Fixed& fixed, Table& table)
{
    base::WireReader reader(bytes);
    table.request = reader.raw(fixed.request_size);
    if (!read_metadata(reader.raw(fixed.metadata_size), table.metadata))
        return false;
    table.rows.reserve(fixed.sections);
    for (std::uint32_t i = 0; i < fixed.sections && !reader.failed(); ++i) {
        Row row;
        row.name = reader.prefixed<std::uint16_t>();
        const auto codec = reader.number<std::uint8_t>();
        row.stored = reader.number<std::uint64_t>();
        row.raw = reader.number<std::uint64_t>();
        if (codec > 1 || row.stored > k_max_entry_bytes || row.raw > k_max_artifact_bytes - table.raw)
            return false;
        row.codec = static_cast<Codec>(codec);
        if (row.codec == Codec::raw && row.stored != row.raw)
            return false;
        table.stored += row.stored;
        table.raw += row.raw;
        table.rows.push_back(row);
    }
    return !reader.failed() && reader.at_end() && fixed.payload_at() + table.stored + k_sum_size == fixed.head.total;
}

std::string encode_metadata(const Metadata& metadata)
{
    base::WireWriter out;
    const auto add = [&](Tag tag, const std::string& value) {
        if (value.empty() && tag != Tag::option)
            return;
        out.number(static_cast<std::uint8_t>(tag));
        out.prefixed<std::uint32_t>(value);
    };
    add(Tag::label, metadata.label);
    add(Tag::compiler, metadata.compiler);
    add(Tag::target, metadata.target);
    for (const std::string& option : metadata.options)
        add(Tag::option, option);
    add(Tag::writer, metadata.writer);
    return std::move(out.out());
}

Bytes section_bytes(const Bytes& entry, const Row& row, std::size_t at, bool& right)
{
    // A large uncompressed section shares the buffer that the entry was read into. A small one is copied, so that it
    // does not keep the whole entry in memory.
    static constexpr std::size_t k_share_from = 4096;
    const ByteView stored = entry.view().subspan(at, row.stored);
    if (row.codec == Codec::raw)
        return stored.size() >= k_share_from ? entry.slice(at, row.stored) : Bytes::copy_of(stored);
    std::optional<Bytes> raw = decompress(stored, row.raw);
    right = raw.has_value();
    return right ? *std::move(raw) : Bytes{};
}

}  // namespace

Result<Bytes> encode_entry(const Key& key, const Artifact& artifact, const EncodeOptions& options)
{
    if (artifact.size() > k_max_artifact_bytes)
        return error(Code::too_large,
                     "Artifact of {} bytes is larger than an entry can hold ({}). Split it over several keys.",
                     artifact.size(), k_max_artifact_bytes);
    if (artifact.sections.size() > k_max_sections)
        return error(Code::too_large,
                     "Artifact with {} sections has more than an entry can hold ({}). Join some of them.",
                     artifact.sections.size(), k_max_sections);

    const std::string metadata = encode_metadata(artifact.metadata);
    base::WireWriter rows;
    std::vector<Bytes> payloads;
    std::uint64_t stored = 0;
    for (const Section& section : artifact.sections) {
        if (section.name.size() > UINT16_MAX)
            return error(Code::invalid_argument, "Section name of {} bytes is longer than {}. Use a shorter one.",
                         section.name.size(), UINT16_MAX);
        std::optional<Bytes> compressed;
        if (section.data.size() >= k_least_compressed)
            compressed = compress(section.data, options.compression);
        const Bytes& payload = compressed ? *compressed : section.data;
        rows.prefixed<std::uint16_t>(section.name);
        rows.number(static_cast<std::uint8_t>(compressed ? Codec::zstd : Codec::raw));
        rows.number(static_cast<std::uint64_t>(payload.size()));
        rows.number(static_cast<std::uint64_t>(section.data.size()));
        stored += payload.size();
        payloads.push_back(payload);
    }

    const std::size_t table_size = artifact.request.size() + metadata.size() + rows.size();
    const std::uint64_t total = k_entry_fixed_size + table_size + k_entry_head_sum_size + stored + k_sum_size;
    if (table_size > k_max_table_bytes || total > k_max_entry_bytes)
        return error(Code::too_large,
                     "Entry of {} bytes ({} of them names and options) is larger than the format allows "
                     "({}, and {}). Split it over several keys.",
                     total, table_size, k_max_entry_bytes, k_max_table_bytes);

    base::WireWriter head;
    head.raw(k_entry_magic);
    head.number(k_entry_version);
    head.number(static_cast<std::uint8_t>(options.checksum));
    head.number(std::uint8_t{0});
    head.number(static_cast<std::uint32_t>(artifact.sections.size()));
    head.raw(std::as_bytes(std::span(key.digest)));
    head.number(total);
    head.number(to_ns(artifact.created));
    head.number(to_ns(artifact.expires));
    head.number(static_cast<std::uint64_t>(std::max<std::int64_t>(artifact.cost.count(), 0)));
    head.number(artifact.status);
    head.number(static_cast<std::uint32_t>(table_size));
    head.number(static_cast<std::uint32_t>(artifact.request.size()));
    head.number(static_cast<std::uint32_t>(metadata.size()));
    head.raw(artifact.request.view());
    head.raw(metadata);
    head.raw(rows.view());

    const auto head_sum = base::checksum(options.checksum, head.view());
    if (!head_sum)
        return error(Code::invalid_argument,
                     "This build of Hearth cannot compute the checksum asked for. Choose sha256.");
    return Bytes::make(total, [&](std::span<std::byte> target) {
        std::size_t at = 0;
        const auto put = [&](ByteView bytes) {
            if (!bytes.empty())
                std::memcpy(target.data() + at, bytes.data(), bytes.size());
            at += bytes.size();
        };
        put(head.view());
        put(std::as_bytes(std::span(*head_sum)).first(k_entry_head_sum_size));
        for (const Bytes& payload : payloads)
            put(payload);
        const auto sum = base::checksum(options.checksum, ByteView(target).first(at));
        put(std::as_bytes(std::span(*sum)));
    });
}

DecodedEntry decode_entry(const Bytes& entry, const Key& expected, std::uint64_t most)
try {
    const ByteView bytes = without_signature(entry);
    Fixed fixed;
    const Outcome outcome = read_fixed(bytes, fixed);
    if (outcome != Outcome::ok)
        return {nullptr, outcome == Outcome::other_version ? Miss::other_version : Miss::corrupt};
    const auto kind = static_cast<base::ChecksumKind>(fixed.checksum);
    const std::size_t body = bytes.size() < k_sum_size ? 0 : bytes.size() - k_sum_size;
    if (fixed.head.total != bytes.size() || fixed.head.key != expected || !head_sum_right(fixed, bytes) ||
        !same_sum(kind, bytes.first(body), bytes.subspan(body)))
        return {nullptr, Miss::corrupt};
    Table table;
    if (!read_table(bytes.subspan(k_entry_fixed_size, fixed.table_size), fixed, table))
        return {nullptr, Miss::corrupt};
    if (table.raw > most)
        return {nullptr, Miss::other_version};

    auto artifact = std::make_shared<Artifact>();
    artifact->metadata = std::move(table.metadata);
    artifact->request = Bytes::copy_of(table.request);
    artifact->status = fixed.head.status;
    artifact->cost = fixed.head.cost;
    artifact->created = fixed.head.created;
    artifact->expires = fixed.head.expires;
    artifact->origin = Origin::elsewhere;
    artifact->sections.reserve(table.rows.size());
    std::size_t at = fixed.payload_at();
    for (const Row& row : table.rows) {
        bool right = true;
        Bytes data = section_bytes(entry, row, at, right);
        if (!right)
            return {nullptr, Miss::corrupt};
        artifact->sections.push_back({std::string(row.name), std::move(data)});
        at += row.stored;
    }
    return {std::move(artifact), Miss::absent};
} catch (const std::bad_alloc&) {
    return {nullptr, Miss::outage};
}

DecodedHead decode_head(ByteView prefix)
{
    DecodedHead decoded;
    Fixed fixed;
    decoded.outcome = read_fixed(prefix, fixed);
    decoded.needed = k_entry_fixed_size;
    if (decoded.outcome != Outcome::ok)
        return decoded;
    decoded.needed = fixed.payload_at();
    if (prefix.size() < decoded.needed) {
        decoded.outcome = Outcome::need_more;
        return decoded;
    }
    decoded.outcome = Outcome::corrupt;
    Table table;
    if (!head_sum_right(fixed, prefix) ||
        !read_table(prefix.subspan(k_entry_fixed_size, fixed.table_size), fixed, table))
        return decoded;
    decoded.head = std::move(fixed.head);
    decoded.head.metadata = std::move(table.metadata);
    decoded.head.compiler_build = compiler_build_of(table.request);
    decoded.head.raw_bytes = table.raw;
    decoded.outcome = Outcome::ok;
    return decoded;
}

std::optional<Key> claimed_key(ByteView prefix)
{
    Fixed fixed;
    if (read_fixed(prefix, fixed) != Outcome::ok)
        return std::nullopt;
    return fixed.head.key;
}

std::optional<std::uint64_t> claimed_size(ByteView prefix)
{
    Fixed fixed;
    if (read_fixed(prefix, fixed) != Outcome::ok)
        return std::nullopt;
    return fixed.head.total;
}

}  // namespace hearth::format
