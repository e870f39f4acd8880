#pragma once

#include "base/digest.hpp"
#include "base/wire.hpp"
#include "hearth/key.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::test {

// Places of the grammar in format/entry.hpp, written down a second time so that a change there is noticed here.
inline constexpr std::size_t k_version_at = 8;
inline constexpr std::size_t k_checksum_at = 10;
inline constexpr std::size_t k_sections_at = 12;
inline constexpr std::size_t k_key_at = 16;
inline constexpr std::size_t k_total_at = 48;
inline constexpr std::size_t k_table_size_at = 84;
inline constexpr std::size_t k_request_size_at = 88;
inline constexpr std::size_t k_metadata_size_at = 92;
inline constexpr std::size_t k_table_at = 96;
inline constexpr std::size_t k_head_sum_bytes = 8;
inline constexpr std::size_t k_sum_bytes = 16;

template <class T>
T number_at(std::string_view bytes, std::size_t at)
{
    return base::WireReader(as_bytes(bytes.substr(at))).number<T>();
}

template <class T>
void set_number(std::string& bytes, std::size_t at, T value)
{
    base::WireWriter out;
    out.number(value);
    bytes.replace(at, sizeof(T), out.out());
}

// Makes both sums right where a decoder will look for them, whatever the lengths say: after this only bounds checks
// stand between a lie and the decoder.
inline void reseal(std::string& bytes)
{
    if (bytes.size() < k_table_at + k_head_sum_bytes + k_sum_bytes)
        return;
    const auto kind = static_cast<base::ChecksumKind>(bytes[k_checksum_at]);
    const std::size_t head_size = k_table_at + std::size_t{number_at<std::uint32_t>(bytes, k_table_size_at)};
    const std::size_t body = bytes.size() - k_sum_bytes;
    const auto put_sum = [&](std::size_t covered, std::size_t size) {
        if (const auto sum = base::checksum(kind, as_bytes(bytes).first(covered)))
            std::memcpy(bytes.data() + covered, sum->data(), size);
    };
    if (head_size <= body && body - head_size >= k_head_sum_bytes)
        put_sum(head_size, k_head_sum_bytes);
    put_sum(body, k_sum_bytes);
}

// An entry put together by hand, byte by byte as the grammar says, with lies wherever a test wants one.
struct ForgedEntry {
    struct Row {
        std::string name;
        std::uint8_t codec = 0;
        std::string payload;
        std::optional<std::uint16_t> name_size{};
        std::optional<std::uint64_t> stored{};
        std::optional<std::uint64_t> raw{};
    };

    std::string magic = "\x89HEARTH\n";
    std::uint16_t version = 1;
    base::ChecksumKind checksum = base::ChecksumKind::sha256;
    std::uint8_t zero = 0;
    Key key;
    std::int64_t created = 0;
    std::int64_t expires = 0;
    std::uint64_t cost = 0;
    std::int32_t status = 0;
    std::string request;
    std::string metadata;
    std::vector<Row> rows;

    // What is written in place of the truth.
    std::optional<std::uint32_t> sections{};
    std::optional<std::uint64_t> total{};
    std::optional<std::uint32_t> table_size{};
    std::optional<std::uint32_t> request_size{};
    std::optional<std::uint32_t> metadata_size{};

    static std::string metadata_item(std::uint8_t tag, std::string_view text)
    {
        base::WireWriter out;
        out.number(tag);
        out.prefixed<std::uint32_t>(text);
        return std::move(out.out());
    }

    std::string bytes() const
    {
        base::WireWriter table;
        table.raw(request);
        table.raw(metadata);
        std::string payload;
        for (const Row& row : rows) {
            table.number(row.name_size.value_or(static_cast<std::uint16_t>(row.name.size())));
            table.raw(row.name);
            table.number(row.codec);
            table.number(row.stored.value_or(row.payload.size()));
            table.number(row.raw.value_or(row.payload.size()));
            payload += row.payload;
        }
        const std::uint64_t whole = k_table_at + table.size() + k_head_sum_bytes + payload.size() + k_sum_bytes;
        base::WireWriter out;
        out.raw(magic);
        out.number(version);
        out.number(static_cast<std::uint8_t>(checksum));
        out.number(zero);
        out.number(sections.value_or(static_cast<std::uint32_t>(rows.size())));
        out.raw(std::as_bytes(std::span(key.digest)));
        out.number(total.value_or(whole));
        out.number(created);
        out.number(expires);
        out.number(cost);
        out.number(status);
        out.number(table_size.value_or(static_cast<std::uint32_t>(table.size())));
        out.number(request_size.value_or(static_cast<std::uint32_t>(request.size())));
        out.number(metadata_size.value_or(static_cast<std::uint32_t>(metadata.size())));
        out.raw(table.view());
        out.raw(std::string(k_head_sum_bytes, '\0'));
        out.raw(payload);
        out.raw(std::string(k_sum_bytes, '\0'));
        reseal(out.out());
        return std::move(out.out());
    }
};

}  // namespace hearth::test
