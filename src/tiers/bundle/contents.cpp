#include "tiers/bundle/contents.hpp"

#include "base/digest.hpp"
#include "base/problems.hpp"
#include "format/entry.hpp"
#include "format/entry_row.hpp"

#include <fmt/format.h>

namespace hearth::tiers {

using base::tell;

void for_each_row(const format::BundleFile& file, const VisitRow& visit, const VisitDamage& damaged)
{
    const format::BundleHeader& header = file.head().header();
    for (std::size_t page = 0; page < header.pages(); ++page) {
        Miss why{};
        const Bytes* const rows = file.page(page, why);
        if (!rows && damaged)
            damaged(page, header.rows_in(page));
        for (std::size_t i = 0; rows && i < header.rows_in(page); ++i)
            if (!visit(page * format::k_bundle_page_rows + i, format::bundle_row(*rows, i)))
                return;
    }
}

EntryRow describe(const format::BundleFile& file, const format::BundleRow& row)
{
    EntryRow described;
    described.key = row.key;
    described.stored_bytes = row.size;
    int error = 0;
    format::fill_from_head(described, file.read_head(row, error));
    return described;
}

Bytes read_vouched(const format::BundleFile& file, const format::BundleRow& row, Miss& why)
{
    int error = 0;
    Bytes bytes = file.read(row, error);
    if (error == 0 && base::sha256(bytes) == row.digest)
        return bytes;
    why = error == 0 ? Miss::corrupt : format::miss_of(error);
    return {};
}

VerifyReport verify_contents(const format::BundleFile& file, const Progress& progress)
{
    VerifyReport report;
    const format::BundleHeader& header = file.head().header();
    if (file.size() != header.file_size())
        tell(report.problems, fmt::format("{} is {} bytes long and should be {}. Get the file again.", file.path(),
                                          file.size(), header.file_size()));
    const auto check = [&](std::size_t /*number*/, const format::BundleRow& row) {
        ++report.checked;
        Miss why{};
        const Bytes bytes = read_vouched(file, row, why);
        const format::DecodedEntry decoded =
            bytes.empty() ? format::DecodedEntry{nullptr, why} : format::decode_entry(bytes, row.key);
        if (decoded.artifact) {
            ++report.intact;
        } else if (decoded.why == Miss::other_version) {
            ++report.other_version;
            tell(report.problems, fmt::format("Entry {} in {} is of another format version, or has a checksum that "
                                              "this build cannot compute.",
                                              row.key.hex(), file.path()));
        } else {
            ++report.corrupt;
            tell(report.problems,
                 fmt::format("Entry {} in {} is damaged. Get the file again.", row.key.hex(), file.path()));
        }
        return !progress || progress(report.checked, header.entries);
    };
    for_each_row(file, check, [&](std::size_t page, std::uint64_t rows) {
        report.checked += rows;
        report.corrupt += rows;
        tell(report.problems, fmt::format("Page {} of the index of {} is damaged, and {} entries cannot be found. Get "
                                          "the file again.",
                                          page, file.path(), rows));
    });
    return report;
}

}  // namespace hearth::tiers
