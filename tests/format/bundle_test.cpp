#include "format/bundle_file.hpp"

#include "format/signature.hpp"
#include "support/sample_bundle.hpp"
#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <sys/stat.h>

namespace hearth::test {

namespace {

using base::system_files;
using format::BundleFile;
using Entries = std::map<Key, std::string>;

Result<std::unique_ptr<BundleFile>> open_bytes(SingleFile& file)
{
    return BundleFile::open(file, "a bundle");
}

// How many of these a reader gets exactly as they were written; of the others he gets nothing.
std::size_t found_in(const BundleFile& file, const Entries& entries)
{
    std::size_t found = 0;
    for (const auto& [key, bytes] : entries) {
        Miss why{};
        int error = 0;
        const std::optional<BundleFile::Place> place = file.find(key, why);
        const Bytes read = place ? file.read(place->row, error) : Bytes{};
        EXPECT_TRUE(read.text() == bytes || !format::decode_entry(read, key).artifact) << key.hex();
        found += read.text() == bytes ? 1 : 0;
    }
    return found;
}

void expect_sentence(const Error& error)
{
    EXPECT_NE(error.message.find("a bundle"), std::string::npos) << error.message;
    EXPECT_TRUE(error.message.ends_with('.')) << error.message;
}

// What decoding says of bytes that are altered and whose sums are right again.
std::optional<Error> refusal_of(std::string bytes)
{
    reseal_bundle(bytes);
    SingleFile file(bytes);
    const auto opened = open_bytes(file);
    return opened ? std::nullopt : std::optional(opened.error());
}

}  // namespace

// Its header and its facts, byte for byte, are in golden/.
TEST(Bundle, is_written_as_the_grammar_says_and_gives_every_entry_back_and_no_other)
{
    Key first;
    Key last;
    last.digest.fill(0xFF);
    std::vector<Key> others{first, last};
    for (std::uint64_t number = 301; number < 900; ++number)
        others.push_back(numbered_key(number));
    for (const std::uint64_t count : {0U, 1U, 2U, 127U, 128U, 129U, 300U}) {
        SCOPED_TRACE(count);
        const Entries entries = sample_entries(1, count, 10);
        SingleFile file(bundle_bytes(entries));
        const std::string& whole = file.content();
        const BundlePlaces at(whole);
        std::string resealed = whole;
        reseal_bundle(resealed);
        EXPECT_TRUE(whole == resealed) << "digests";
        std::size_t end = at.data;
        std::size_t row = at.rows;
        for (const auto& [key, bytes] : entries) {
            EXPECT_EQ(number_at<std::uint64_t>(whole, row + 64), end - at.data);
            EXPECT_EQ(number_at<std::uint64_t>(whole, row + 72), bytes.size());
            EXPECT_TRUE(std::string_view(whole).substr(end, bytes.size()) == bytes);
            end += bytes.size();
            row += k_row_bytes;
        }
        EXPECT_EQ(whole.size(), end);
        for (std::size_t page = 0; page < at.pages; ++page)
            EXPECT_EQ(number_at<std::uint64_t>(whole, at.table + page * k_table_row_bytes + 64),
                      number_at<std::uint64_t>(whole, at.rows + page * k_rows_a_page * k_row_bytes + 64));

        const auto bundle = open_bytes(file).value();
        EXPECT_EQ(bundle->head().header().entries, count);
        EXPECT_EQ(bundle->head().header().file_size(), whole.size());
        EXPECT_EQ(found_in(*bundle, entries), count);
        for (const Key& key : others) {
            Miss why = Miss::corrupt;
            EXPECT_FALSE(bundle->find(key, why));
            EXPECT_EQ(why, Miss::absent);
        }
    }
}

TEST(Bundle, lists_no_more_names_than_fit_and_none_that_is_too_long)
{
    Entries entries;
    for (std::uint64_t number = 0; number < 400; ++number) {
        Artifact artifact("x");
        artifact.metadata.target = number == 0 ? std::string(300, 't') : "target " + std::to_string(number);
        entries[numbered_key(number)] = format::encode_entry(numbered_key(number), artifact).value().text();
    }
    SingleFile file(bundle_bytes(entries));
    const auto bundle = open_bytes(file).value();
    EXPECT_EQ(bundle->head().facts().targets.size(), 256U);
    EXPECT_TRUE(bundle->head().facts().compilers.empty());
    EXPECT_GT(bundle->head().header().facts_size, 1024U) << "more than the writer left room for: entries were moved";
    EXPECT_EQ(found_in(*bundle, entries), 400U);
}

TEST(Bundle, of_the_same_entries_is_the_same_bytes_however_many_were_announced)
{
    // The second are five megabytes, which are moved in pieces of one.
    for (const Entries& entries : {sample_entries(1, 140, 100), sample_entries(1, 50, 100'000)}) {
        const std::string expected = bundle_bytes(entries);
        for (const std::size_t announced : {0UL, entries.size() - 1, entries.size() + 1, 10'000UL}) {
            SingleFile file;
            format::BundleWriter writer(file, "a bundle", announced);
            for (const auto& [key, bytes] : entries)
                ASSERT_TRUE(writer.add(as_bytes(bytes)).ok());
            const auto written = writer.finish({}, nullptr);
            ASSERT_TRUE(written.ok());
            EXPECT_EQ(written->bytes, expected.size());
            EXPECT_TRUE(file.content() == expected) << announced << " announced";
        }
    }
}

TEST(Bundle, keeps_the_signatures_of_its_entries)
{
    const SigningKey signer = SigningKey::generate().value();
    Entries entries = sample_entries(1, 2, 100);
    for (auto& [key, bytes] : entries)
        bytes = format::sign_entry(key, Bytes::copy_of(bytes), signer).value().text();
    SingleFile file(bundle_bytes(entries));
    const auto bundle = open_bytes(file).value();
    ASSERT_EQ(found_in(*bundle, entries), 2U);
    Miss why{};
    int error = 0;
    const Bytes read = bundle->read(bundle->find(numbered_key(1), why)->row, error);
    EXPECT_TRUE(format::is_signed_by(std::vector{signer.public_key()}, numbered_key(1), read));
}

TEST(BundleWriter, takes_entries_in_the_order_of_their_keys_only)
{
    const Entries entries = sample_entries(1, 3, 10);
    SingleFile file;
    format::BundleWriter writer(file, "a bundle", 3);
    const auto second = std::next(entries.begin());
    ASSERT_TRUE(writer.add(as_bytes(second->second)).ok());
    for (const std::string& wrong : {entries.begin()->second, second->second}) {
        const Status added = writer.add(as_bytes(wrong));
        ASSERT_FALSE(added.ok());
        EXPECT_EQ(added.error().code, Code::invalid_argument);
    }
    EXPECT_TRUE(writer.add(as_bytes(entries.rbegin()->second)).ok()) << "what was refused changes nothing";
    EXPECT_EQ(writer.finish({}, nullptr)->entries, 2U);
}

TEST(BundleWriter, takes_nothing_that_is_no_entry)
{
    const std::string entry = sample_entries(1, 1, 50).begin()->second;
    ForgedEntry newer;
    newer.version = 2;
    SingleFile file;
    format::BundleWriter writer(file, "a bundle", 1);
    for (const std::string& wrong : {std::string(), std::string("text"), entry.substr(0, entry.size() - 1), entry + "x",
                                     with_flipped_bit(entry, 8 * k_key_at), newer.bytes()})
        EXPECT_FALSE(writer.add(as_bytes(wrong)).ok());
    EXPECT_EQ(writer.finish({}, nullptr)->entries, 0U);
}

TEST(BundleDamage, any_bit_flipped_is_told_when_it_is_opened_or_costs_entries_and_never_alters_one)
{
    const SigningKey signer = SigningKey::generate().value();
    const Entries entries = sample_entries(1, 3, 20);
    for (const bool is_signed : {false, true}) {
        const std::string whole = bundle_bytes(entries, is_signed ? &signer : nullptr);
        const BundlePlaces at(whole);
        for_every_flipped_bit(whole, [&](const std::string& damaged, std::size_t bit) {
            SingleFile file(damaged);
            const auto opened = open_bytes(file);
            const std::size_t byte = bit / 8;
            const bool in_signature = byte >= at.seal + 32 && byte < at.rows;
            ASSERT_EQ(opened.ok(), byte >= at.rows || in_signature) << "bit " << bit;
            if (!opened)
                return expect_sentence(opened.error());
            const std::size_t left = byte >= at.data ? 2 : in_signature ? 3 : 0;
            ASSERT_EQ(found_in(**opened, entries), left) << "bit " << bit;
            ASSERT_EQ((*opened)->head().signer().has_value(), is_signed || in_signature);
            ASSERT_EQ((*opened)->head().is_signature_right(), is_signed && !in_signature);
        });
    }
}

TEST(BundleDamage, a_cut_at_any_length_costs_what_is_behind_it)
{
    const Entries entries = sample_entries(1, 3, 20);
    const std::string whole = bundle_bytes(entries);
    const BundlePlaces at(whole);
    for_every_cut(whole, [&](const std::string& cut, std::size_t length) {
        SingleFile file(cut);
        const auto opened = open_bytes(file);
        ASSERT_EQ(opened.ok(), length >= at.rows) << "cut to " << length;
        if (!opened) {
            expect_sentence(opened.error());
            ASSERT_EQ(opened.error().code, length < 8 ? Code::invalid_argument : Code::corrupt) << "cut to " << length;
            return;
        }
        std::size_t expected = 0;
        std::size_t end = at.data;
        for (const auto& [key, bytes] : entries)
            expected += (end += bytes.size()) <= length ? 1 : 0;
        ASSERT_EQ(found_in(**opened, entries), expected) << "cut to " << length;
    });
}

TEST(BundleDamage, a_cut_while_it_is_open_costs_what_is_behind_it)
{
    const Entries entries = sample_entries(1, 200, 20);
    SingleFile file(bundle_bytes(entries));
    const BundlePlaces at(file.content());
    const auto bundle = open_bytes(file).value();
    Miss why{};
    ASSERT_TRUE(bundle->find(entries.begin()->first, why)) << "the first page is in memory from here on";
    const std::string whole = file.content();
    file.content().resize(at.rows + 10);
    EXPECT_TRUE(bundle->find(entries.begin()->first, why));
    EXPECT_FALSE(bundle->find(entries.rbegin()->first, why)) << "the second page was never read";
    EXPECT_EQ(why, Miss::corrupt);
    EXPECT_EQ(found_in(*bundle, entries), 0U);
    file.content() = whole.substr(0, at.data + entries.begin()->second.size());
    EXPECT_EQ(found_in(*bundle, entries), 1U);
}

TEST(BundleDamage, of_one_page_costs_the_entries_of_that_page)
{
    const Entries entries = sample_entries(1, 300, 10);
    const std::string whole = bundle_bytes(entries);
    const BundlePlaces at(whole);
    ASSERT_EQ(at.pages, 3U);
    SingleFile file(with_flipped_bit(whole, 8 * (at.rows + k_rows_a_page * k_row_bytes + 5)));
    const auto bundle = open_bytes(file).value();
    EXPECT_EQ(found_in(*bundle, entries), 300U - k_rows_a_page);
    file.content() = whole;
    EXPECT_EQ(found_in(*bundle, entries), 300U) << "a page that could not be had is looked at again";
}

TEST(BundleLies, impossible_numbers_in_the_header_are_refused_before_anything_is_allocated)
{
    const Entries entries = sample_entries(1, 3, 20);
    const std::string whole = bundle_bytes(entries);
    for (const std::size_t at : {k_bundle_entries_at, k_bundle_entry_bytes_at, k_bundle_facts_size_at})
        for (const std::uint64_t lie :
             {std::uint64_t{0}, std::uint64_t{1} << 20U, (std::uint64_t{1} << 26U) + 1, (std::uint64_t{1} << 48U) + 1,
              std::uint64_t{1} << 63U, UINT64_MAX - 39, UINT64_MAX}) {
            std::string bytes = whole;
            set_number(bytes, at, lie);
            if (at == k_bundle_entry_bytes_at && lie != 0 && lie <= std::uint64_t{1} << 48U) {
                // A longer bundle that was cut would say so too; but its last page would go further.
                reseal_bundle(bytes);
                SingleFile file(bytes);
                EXPECT_EQ(found_in(*open_bytes(file).value(), entries), 0U) << lie;
                continue;
            }
            EXPECT_TRUE(refusal_of(bytes)) << lie << " at " << at;
        }
    std::string bytes = whole;
    set_number<std::uint32_t>(bytes, k_bundle_zero_at, 1);
    EXPECT_TRUE(refusal_of(bytes));
    EXPECT_FALSE(refusal_of(whole)) << "what is sealed again and true is taken";
}

TEST(BundleLies, facts_that_are_impossible_are_refused)
{
    const std::string whole = bundle_bytes(sample_entries(1, 3, 20));
    const std::size_t count_at = k_bundle_facts_at + 32;
    for (const std::uint32_t lie : {3U, 257U, 0xFFFFFFFFU}) {
        std::string bytes = whole;
        set_number(bytes, count_at, lie);
        EXPECT_TRUE(refusal_of(bytes)) << lie;
    }
    for (const std::uint16_t lie : {std::uint16_t{6}, std::uint16_t{1000}, std::uint16_t{0xFFFF}}) {
        std::string bytes = whole;
        set_number(bytes, count_at + 4, lie);
        EXPECT_TRUE(refusal_of(bytes)) << lie;
    }
    std::string twice = whole;
    twice.replace(count_at + 4 + 2, 5, "sm_90");
    EXPECT_TRUE(refusal_of(twice)) << "the same name twice";
    std::string padded = whole;
    padded[k_bundle_facts_at + 1023] = 1;
    EXPECT_TRUE(refusal_of(padded));
}

TEST(BundleLies, a_table_that_is_impossible_is_refused)
{
    const std::string whole = bundle_bytes(sample_entries(1, 300, 10));
    const BundlePlaces at(whole);
    std::string swapped = whole;
    swapped.replace(at.table, 32, whole.substr(at.table + k_table_row_bytes, 32));
    EXPECT_TRUE(refusal_of(swapped)) << "keys that do not ascend";
    const std::uint64_t second = number_at<std::uint64_t>(whole, at.table + k_table_row_bytes + 64);
    for (const std::size_t page : {0U, 1U, 2U})
        for (const std::uint64_t lie : {std::uint64_t{0}, second, UINT64_MAX}) {
            std::string bytes = whole;
            const std::size_t offset = at.table + page * k_table_row_bytes + 64;
            if (number_at<std::uint64_t>(whole, offset) == lie)
                continue;
            set_number(bytes, offset, lie);
            EXPECT_TRUE(refusal_of(bytes)) << lie << " of page " << page;
        }
}

TEST(BundleLies, rows_that_overlap_reach_out_or_do_not_ascend_cost_their_page)
{
    const Entries entries = sample_entries(1, 3, 20);
    const std::string whole = bundle_bytes(entries);
    const BundlePlaces at(whole);
    const auto found_with = [&](std::string bytes) {
        reseal_bundle(bytes);
        SingleFile file(bytes);
        const auto opened = open_bytes(file);
        EXPECT_TRUE(opened.ok());
        return opened ? found_in(**opened, entries) : 99;
    };
    EXPECT_EQ(found_with(whole), 3U);
    for (std::size_t row = 0; row < 3; ++row)
        for (const std::size_t field : {64U, 72U})
            for (const std::uint64_t lie : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 30U,
                                            (std::uint64_t{1} << 30U) + 105, UINT64_MAX}) {
                std::string bytes = whole;
                const std::size_t place = at.rows + row * k_row_bytes + field;
                if (number_at<std::uint64_t>(whole, place) == lie)
                    continue;
                set_number(bytes, place, lie);
                EXPECT_EQ(found_with(bytes), 0U) << lie << " in row " << row << " at " << field;
            }
    // Without a gap or an overlap, and impossible all the same.
    const std::size_t second = at.rows + k_row_bytes;
    const std::size_t third = at.rows + 2 * k_row_bytes;
    const auto last_size = number_at<std::uint64_t>(whole, third + 72);
    std::string empty_entry = whole;
    set_number(empty_entry, second + 72, number_at<std::uint64_t>(whole, second + 72) + last_size);
    set_number(empty_entry, third + 64, number_at<std::uint64_t>(whole, third + 64) + last_size);
    set_number<std::uint64_t>(empty_entry, third + 72, 0);
    EXPECT_EQ(found_with(empty_entry), 0U);
    std::string huge_entry = whole;
    const std::uint64_t more = std::uint64_t{1} << 31U;
    set_number(huge_entry, third + 72, last_size + more);
    set_number(huge_entry, k_bundle_entry_bytes_at, number_at<std::uint64_t>(whole, k_bundle_entry_bytes_at) + more);
    EXPECT_EQ(found_with(huge_entry), 0U);
    std::string swapped = whole;
    swapped.replace(second, 32, whole.substr(third, 32));
    EXPECT_EQ(found_with(swapped), 0U) << "the same key twice";
    std::string other_first = whole;
    other_first[at.rows] = static_cast<char>(other_first[at.rows] - 1);
    EXPECT_EQ(found_with(other_first), 0U) << "another first key than the table's";

    const Entries many = sample_entries(1, 300, 10);
    std::string beyond = bundle_bytes(many);
    beyond.replace(BundlePlaces(beyond).rows + (k_rows_a_page - 1) * k_row_bytes, 32, std::string(32, '\xFF'));
    reseal_bundle(beyond);
    SingleFile file(beyond);
    EXPECT_EQ(found_in(*open_bytes(file).value(), many), 300U - k_rows_a_page) << "a last key beyond the next page's";
}

TEST(BundleOpen, a_newer_version_or_other_entries_are_told_with_what_to_do)
{
    std::string newer = bundle_bytes({});
    set_number<std::uint16_t>(newer, k_bundle_version_at, 2);
    ASSERT_TRUE(refusal_of(newer));
    EXPECT_EQ(refusal_of(newer)->code, Code::other_version);
    EXPECT_EQ(refusal_of(newer)->message,
              "a bundle is a bundle of version 2; this Hearth reads version 1. Use the Hearth "
              "that wrote it, or make the bundle again with this one.");
    std::string entries = bundle_bytes({});
    set_number<std::uint16_t>(entries, k_bundle_entry_version_at, 7);
    ASSERT_TRUE(refusal_of(entries));
    EXPECT_EQ(refusal_of(entries)->code, Code::other_version);
    EXPECT_NE(refusal_of(entries)->message.find("entries of format 7"), std::string::npos);
}

TEST(BundleOpen, what_is_no_bundle_is_named)
{
    for (const std::string& bytes :
         {std::string(), std::string("\x89HRTHB"), std::string("#!/bin/sh\necho hello\n"), std::string(5000, '\0')}) {
        ASSERT_TRUE(refusal_of(bytes));
        EXPECT_EQ(refusal_of(bytes)->message,
                  "a bundle is no Hearth bundle. Make one with `hearth bundle create FILE`.");
    }
    ASSERT_TRUE(refusal_of("\x89HRTHAR\n and more"));
    EXPECT_NE(refusal_of("\x89HRTHAR\n and more")->message.find("hearth import"), std::string::npos);
}

TEST(BundleOpen, a_missing_file_a_directory_and_a_fifo_are_errors_and_no_hang)
{
    const ScratchDirectory scratch;
    ASSERT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
    for (const std::string& path : {scratch / "missing", scratch.path(), scratch / "fifo"}) {
        const auto opened = BundleFile::open(system_files(), path);
        ASSERT_FALSE(opened.ok()) << path;
        EXPECT_NE(opened.error().message.find(path), std::string::npos) << opened.error().message;
        EXPECT_TRUE(opened.error().message.ends_with('.')) << opened.error().message;
    }
    EXPECT_EQ(BundleFile::open(system_files(), scratch / "missing").error().code, Code::not_found);
}

TEST(BundleSignature, is_one_over_everything)
{
    const SigningKey signer = SigningKey::generate().value();
    const Entries entries = sample_entries(1, 3, 20);
    const std::string whole = bundle_bytes(entries, &signer);
    EXPECT_EQ(whole.substr(BundlePlaces(whole).rows), bundle_bytes(entries).substr(BundlePlaces(whole).rows));
    {
        SingleFile file(whole);
        const auto bundle = open_bytes(file).value();
        EXPECT_EQ(bundle->head().signer(), signer.public_key());
        EXPECT_TRUE(bundle->head().is_signature_right());
    }
    // Whoever alters anything before the seal can make the sums right again, but not the signature.
    for (std::size_t byte = 0; byte < BundlePlaces(whole).rows; ++byte) {
        std::string altered = with_flipped_bit(whole, 8 * byte);
        reseal_bundle(altered);
        if (altered == whole)
            continue;  // in the root, or in a digest of a page: what was put there was right
        SingleFile file(altered);
        const auto opened = open_bytes(file);
        ASSERT_TRUE(!opened || !(*opened)->head().is_signature_right()) << "byte " << byte;
    }
    std::string other_entry = with_flipped_bit(whole, 8 * (BundlePlaces(whole).rows + 40));
    reseal_bundle(other_entry);
    SingleFile file(other_entry);
    EXPECT_FALSE(open_bytes(file).value()->head().is_signature_right());
}

}  // namespace hearth::test
