// The input is the bundle itself, and then once more with its sums made right, so that the bounds are tried.

#include "format/bundle_file.hpp"
#include "format/bundle_writer.hpp"
#include "format/entry.hpp"
#include "fuzz/fuzz.hpp"
#include "support/reseal_bundle.hpp"
#include "support/single_file.hpp"

#include <optional>
#include <string>

namespace {

using namespace hearth;

constexpr std::size_t k_pages_read = 4;

// Every row of a page lies behind the one before it, within what the header says, and is found by its key.
void check_page(const format::BundleFile& bundle, std::size_t number, const Bytes& rows, std::uint64_t& end)
{
    const format::BundleHeader& header = bundle.head().header();
    for (std::size_t i = 0; i < header.rows_in(number); ++i) {
        const format::BundleRow row = format::bundle_row(rows, i);
        fuzz::require(row.offset >= end && row.size > 0 && row.offset <= header.entry_bytes &&
                          row.size <= header.entry_bytes - row.offset,
                      "entries do not overlap, and lie within the bundle");
        end = row.offset + row.size;
        Miss why{};
        const std::optional<format::BundleFile::Place> place = bundle.find(row.key, why);
        fuzz::require(place && place->number == number * format::k_bundle_page_rows + i && place->row.key == row.key,
                      "what is listed is found");
        int error = 0;
        const Bytes head = bundle.read_head(row, error);
        fuzz::require(head.size() <= row.size, "a head is part of its entry");
        const Bytes bytes = bundle.read(row, error);
        fuzz::require(bundle.reaches(row) == (error == 0) && bytes.size() == (error == 0 ? row.size : 0),
                      "an entry that the file reaches is read");
        const format::DecodedEntry decoded = format::decode_entry(bytes, row.key);
        fuzz::require(decoded.artifact || decoded.why != Miss::absent, "an entry is one, or says why not");
    }
}

void check(const std::string& bytes)
{
    test::SingleFile file(bytes);
    const Result<std::unique_ptr<format::BundleFile>> opened = format::BundleFile::open(file, "input");
    if (!opened) {
        fuzz::require(opened.error().message.find("input") != std::string::npos, "an error names the file");
        return;
    }
    const format::BundleFile& bundle = **opened;
    const format::BundleHead& head = bundle.head();
    fuzz::require(head.header().page_at(0) <= bytes.size(), "what was opened is there");
    std::uint64_t end = 0;
    bool whole = bytes.size() == head.header().file_size();
    for (std::size_t number = 0; number < std::min(head.header().pages(), k_pages_read); ++number) {
        Miss why{};
        const Bytes* const rows = bundle.page(number, why);
        fuzz::require(rows || why == Miss::corrupt, "a page is one, or damaged");
        whole = whole && rows;
        if (rows)
            check_page(bundle, number, *rows, end);
    }
    Miss why{};
    (void)bundle.find(Key::of("fuzz"), why);
    if (!whole || head.header().pages() > k_pages_read)
        return;
    // What is whole and holds entries is written again as it was, but for its signature.
    test::SingleFile copy;
    format::BundleWriter writer(copy, "copy", head.header().entries);
    for (std::size_t number = 0; number < head.header().pages(); ++number)
        for (std::size_t i = 0; i < head.header().rows_in(number); ++i) {
            int error = 0;
            const Bytes entry = bundle.read(format::bundle_row(*bundle.page(number, why), i), error);
            if (format::claimed_key(entry) != format::bundle_row(*bundle.page(number, why), i).key ||
                !writer.add(entry).ok())
                return;
        }
    fuzz::require(writer.finish(head.facts().base, nullptr).ok(), "a bundle that was read can be written");
    fuzz::require(copy.content().substr(copy.content().size() - end) == bytes.substr(bytes.size() - end),
                  "its entries are written again as they were");
}

void try_input(std::string_view input)
{
    std::string bytes(input);
    check(bytes);
    test::reseal_bundle(bytes);
    check(bytes);
}

const fuzz::Added k_added{{"bundle", 300'000, try_input}};

}  // namespace
