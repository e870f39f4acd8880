#include "format/archive.hpp"

#include "format/entry.hpp"
#include "support/damage.hpp"
#include "support/forged_entry.hpp"
#include "support/sample_entries.hpp"
#include "support/scratch_directory.hpp"
#include "support/single_file.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <sys/stat.h>

namespace hearth::test {

namespace {

using base::system_files;
using format::ArchiveReader;
using format::ArchiveWriter;

constexpr std::size_t k_header_bytes = 16;
constexpr std::size_t k_record_bytes = 9;
constexpr const char* k_no_archive = "an archive is not a Hearth export. Make one with `hearth export FILE`.";

std::vector<std::string> some_entries()
{
    std::vector<std::string> entries;
    for (std::uint64_t number = 0; number < 3; ++number) {
        const Key key = numbered_key(number);
        entries.emplace_back(format::encode_entry(key, *sample_artifact(key, 20 * number)).value().text());
    }
    return entries;
}

// An archive by the grammar, of records that need not be entries.
std::string archive_of(const std::vector<std::string>& entries, std::uint16_t version = 1)
{
    base::WireWriter out;
    out.raw("\x89HRTHAR\n");
    out.number(version);
    out.raw(std::string(6, '\0'));
    for (const std::string& entry : entries) {
        out.number('E');
        out.prefixed<std::uint64_t>(entry);
    }
    out.number('Z');
    out.number(static_cast<std::uint64_t>(entries.size()));
    return std::move(out.out());
}

struct Reading {
    std::vector<std::string> entries;
    std::optional<Error> error;
};

Reading read_archive(base::Files& files, const std::string& path)
{
    Reading reading;
    Result<ArchiveReader> archive = ArchiveReader::open(files, path);
    if (!archive.ok()) {
        reading.error = archive.error();
        return reading;
    }
    for (;;) {
        const Result<std::optional<Bytes>> next = archive->next();
        if (!next.ok())
            reading.error = next.error();
        if (!next.ok() || !*next)
            return reading;
        reading.entries.emplace_back((*next)->text());
    }
}

Reading read_archive(const std::string& bytes)
{
    SingleFile file(bytes);
    return read_archive(file, "an archive");
}

// Whether what was read is the beginning of what was written.
bool is_beginning_of(const std::vector<std::string>& read, const std::vector<std::string>& written)
{
    return read.size() <= written.size() && std::equal(read.begin(), read.end(), written.begin());
}

}  // namespace

TEST(Archive, comes_back_with_every_entry_in_order)
{
    const ScratchDirectory scratch;
    const std::string path = scratch / "backup";
    for (const std::vector<std::string>& entries : {some_entries(), {}}) {
        ArchiveWriter writer(system_files(), path);
        for (const std::string& entry : entries)
            ASSERT_TRUE(writer.add(as_bytes(entry)).ok());
        ASSERT_TRUE(writer.finish().ok());

        const Reading reading = read_archive(system_files(), path);
        EXPECT_FALSE(reading.error) << reading.error->message;
        EXPECT_EQ(reading.entries, entries);
        for (std::uint64_t number = 0; number < entries.size(); ++number)
            EXPECT_TRUE(format::decode_entry(Bytes::copy_of(reading.entries[number]), numbered_key(number)).artifact);
        EXPECT_EQ(read_file(path), archive_of(entries)) << "the bytes are what the grammar says";
    }
}

TEST(Archive, says_how_far_the_reading_has_come)
{
    const std::string bytes = archive_of(some_entries());
    SingleFile file(bytes);
    ArchiveReader archive = ArchiveReader::open(file, "an archive").value();
    EXPECT_EQ(archive.size(), bytes.size());
    std::uint64_t before = 0;
    while (archive.next().value()) {
        EXPECT_GT(archive.position(), before);
        before = archive.position();
    }
    EXPECT_EQ(before, bytes.size() - k_record_bytes);
}

TEST(Archive, on_a_disk_that_fills_up_at_any_byte_is_an_error_and_leaves_nothing)
{
    const std::vector<std::string> entries = some_entries();
    const std::size_t whole = archive_of(entries).size();
    for (std::size_t room = 0; room <= whole; ++room) {
        FullDisk disk(room);
        bool failed = false;
        {
            ArchiveWriter writer(disk, "backup");
            for (const std::string& entry : entries)
                failed |= !writer.add(as_bytes(entry)).ok();
            ASSERT_EQ(failed, room < whole - k_record_bytes) << "not before the end: " << room;
            failed |= !writer.finish().ok();
        }
        ASSERT_EQ(failed, room < whole) << room;
        ASSERT_EQ(disk.renamed(), room == whole ? 1 : 0) << room;
        ASSERT_EQ(disk.unlinked(), room == whole ? 0 : 1) << room;
    }
}

TEST(ArchiveDamage, a_cut_at_any_byte_is_told_after_the_entries_before_it_with_where_it_is)
{
    const std::vector<std::string> entries = some_entries();
    const std::string whole = archive_of(entries);
    for_every_cut(whole, [&](const std::string& cut, std::size_t size) {
        const Reading reading = read_archive(cut);
        ASSERT_TRUE(reading.error) << "cut to " << size;
        EXPECT_EQ(reading.error->code, Code::corrupt);
        ASSERT_TRUE(is_beginning_of(reading.entries, entries)) << "cut to " << size;
        std::size_t at = k_header_bytes;
        std::size_t expected = 0;
        for (; expected < entries.size() && at + k_record_bytes + entries[expected].size() <= size; ++expected)
            at += k_record_bytes + entries[expected].size();
        EXPECT_EQ(reading.entries.size(), expected) << "cut to " << size;
        const std::string where =
            std::to_string(at) + " of " + std::to_string(size) + ", after " + std::to_string(expected) + " entries. ";
        EXPECT_EQ(reading.error->message, size < k_header_bytes
                                              ? k_no_archive
                                              : "an archive ends or is damaged at byte " + where +
                                                    "What came before it was read; get the file again for the rest.");
    });
}

TEST(ArchiveDamage, a_damaged_length_ends_the_reading)
{
    const std::vector<std::string> entries = some_entries();
    const std::string whole = archive_of(entries);
    std::size_t record = k_header_bytes;
    for (std::size_t number = 0; number < entries.size(); ++number) {
        for (const std::uint64_t lie :
             {whole.size(), 1UL << 30U, (1UL << 30U) + 1, 1UL << 32U, 1UL << 63U, UINT64_MAX - 8, UINT64_MAX}) {
            std::string damaged = whole;
            set_number(damaged, record + 1, lie);
            const Reading reading = read_archive(damaged);
            ASSERT_TRUE(reading.error) << lie;
            EXPECT_EQ(reading.entries.size(), number);
            EXPECT_TRUE(is_beginning_of(reading.entries, entries));
        }
        record += k_record_bytes + entries[number].size();
    }
}

TEST(ArchiveDamage, every_bit_flipped_costs_entries_and_never_alters_one)
{
    const std::vector<std::string> entries = some_entries();
    const std::string whole = archive_of(entries);
    for_every_flipped_bit(whole, [&](const std::string& damaged, std::size_t bit) {
        const Reading reading = read_archive(damaged);
        ASSERT_LE(reading.entries.size(), entries.size());
        std::size_t intact = 0;
        for (std::size_t number = 0; number < reading.entries.size(); ++number) {
            const auto decoded = format::decode_entry(Bytes::copy_of(reading.entries[number]), numbered_key(number));
            ASSERT_TRUE(!decoded.artifact || reading.entries[number] == entries[number]) << "bit " << bit;
            intact += decoded.artifact ? 1 : 0;
        }
        ASSERT_TRUE(reading.error || intact == (bit / 8 < k_header_bytes ? 3U : 2U)) << "more than one, by bit " << bit;
    });
}

TEST(ArchiveDamage, an_end_that_counts_otherwise_is_not_the_end)
{
    std::string bytes = archive_of(some_entries());
    for (const std::uint64_t count : {0UL, 2UL, 4UL, UINT64_MAX}) {
        set_number(bytes, bytes.size() - 8, count);
        const Reading reading = read_archive(bytes);
        EXPECT_TRUE(reading.error) << count;
        EXPECT_EQ(reading.entries.size(), 3U);
    }
}

TEST(ArchiveVersion, the_next_one_is_refused_and_says_so)
{
    for (const unsigned version : {0U, 2U, 256U, 65535U}) {
        const Reading reading = read_archive(archive_of(some_entries(), static_cast<std::uint16_t>(version)));
        ASSERT_TRUE(reading.error);
        EXPECT_EQ(reading.error->code, Code::other_version);
        EXPECT_TRUE(reading.entries.empty());
        EXPECT_EQ(reading.error->message, "an archive is an export of version " + std::to_string(version) +
                                              "; this Hearth reads version 1. Use the Hearth that wrote it.");
    }
}

TEST(ArchiveOpen, what_is_no_archive_is_named)
{
    for (const std::string& bytes : {std::string(), std::string("PK\x03\x04 a zip file, say, of some length"),
                                     std::string(16, '\0'), std::string(5000, 'x')}) {
        const Reading reading = read_archive(bytes);
        ASSERT_TRUE(reading.error);
        EXPECT_EQ(reading.error->code, Code::corrupt);
        EXPECT_EQ(reading.error->message, k_no_archive);
    }
}

TEST(ArchiveOpen, a_missing_file_a_directory_and_a_fifo_are_errors_and_no_hang)
{
    const ScratchDirectory scratch;
    ASSERT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
    for (const std::string& path : {scratch / "missing", scratch.path(), scratch / "fifo"}) {
        const Reading reading = read_archive(system_files(), path);
        ASSERT_TRUE(reading.error) << path;
        EXPECT_NE(reading.error->message.find(path), std::string::npos) << reading.error->message;
    }
}

}  // namespace hearth::test
