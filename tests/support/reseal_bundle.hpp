#pragma once

#include "base/digest.hpp"
#include "hearth/key.hpp"
#include "support/forged_entry.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hearth::test {

// Places of the grammar in format/bundle.hpp, written down a second time so that a change there is noticed here.
inline constexpr std::size_t k_bundle_version_at = 8;
inline constexpr std::size_t k_bundle_entry_version_at = 10;
inline constexpr std::size_t k_bundle_zero_at = 12;
inline constexpr std::size_t k_bundle_entries_at = 16;
inline constexpr std::size_t k_bundle_entry_bytes_at = 24;
inline constexpr std::size_t k_bundle_facts_size_at = 32;
inline constexpr std::size_t k_bundle_facts_at = 40;
inline constexpr std::size_t k_table_row_bytes = 72;
inline constexpr std::size_t k_seal_bytes = 128;
inline constexpr std::size_t k_row_bytes = 80;
inline constexpr std::size_t k_rows_a_page = 128;

// Where the parts of a bundle lie that is in order, or nearly.
struct BundlePlaces {
    std::size_t entries = 0;
    std::size_t pages = 0;
    std::size_t table = 0;
    std::size_t seal = 0;
    std::size_t rows = 0;
    std::size_t data = 0;

    explicit BundlePlaces(const std::string& bytes)
        : entries(number_at<std::uint64_t>(bytes, k_bundle_entries_at)),
          pages((entries + k_rows_a_page - 1) / k_rows_a_page),
          table(k_bundle_facts_at + number_at<std::uint64_t>(bytes, k_bundle_facts_size_at)),
          seal(table + pages * k_table_row_bytes), rows(seal + k_seal_bytes), data(rows + entries * k_row_bytes)
    {
    }
};

// Makes the digests of all pages and the root right, whatever they cover: after this only bounds checks stand between a
// lie and the decoder. A signature is left as it is.
inline void reseal_bundle(std::string& bytes)
{
    if (bytes.size() < k_bundle_facts_at)
        return;
    const auto entries = number_at<std::uint64_t>(bytes, k_bundle_entries_at);
    const auto facts = number_at<std::uint64_t>(bytes, k_bundle_facts_size_at);
    if (entries > bytes.size() || facts > bytes.size())
        return;
    const BundlePlaces at(bytes);
    if (at.seal + sizeof(base::Sha256) > bytes.size())
        return;
    const auto put_digest = [&](std::size_t where, std::string_view of) {
        const base::Sha256 digest = base::sha256(as_bytes(of));
        std::memcpy(bytes.data() + where, digest.data(), digest.size());
    };
    for (std::size_t page = 0; page < at.pages; ++page) {
        const std::size_t from = at.rows + page * k_rows_a_page * k_row_bytes;
        const std::size_t rows = std::min(at.entries - page * k_rows_a_page, k_rows_a_page);
        if (from <= bytes.size())
            put_digest(at.table + page * k_table_row_bytes + sizeof(Key),
                       std::string_view(bytes).substr(from, rows * k_row_bytes));
    }
    put_digest(at.seal, std::string_view(bytes).substr(0, at.seal));
}

}  // namespace hearth::test
