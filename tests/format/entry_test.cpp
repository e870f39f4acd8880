#include "format/entry.hpp"

#include "format/compression.hpp"
#include "support/damage.hpp"
#include "support/forged_entry.hpp"
#include "support/sample_entries.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace hearth::test {

namespace {

using base::ChecksumKind;
using format::decode_entry;
using format::decode_head;
using format::DecodedEntry;
using format::DecodedHead;
using format::encode_entry;
using format::EncodeOptions;
using Outcome = DecodedHead::Outcome;

// The kinds of checksum this build can write.
std::vector<ChecksumKind> kinds()
{
    if (base::checksum(ChecksumKind::xxh3, {}))
        return {ChecksumKind::sha256, ChecksumKind::xxh3};
    return {ChecksumKind::sha256};
}

std::string compressible(std::size_t size)
{
    std::string text;
    for (int line = 0; text.size() < size; ++line)
        text += "    ld.param.u64 %rd" + std::to_string(line % 50) + ", [saxpy_param_0];\n";
    text.resize(size);
    return text;
}

// Everything an entry can hold, a section that is compressed among it, and small enough to be damaged in every place.
Artifact everything(const Key& key)
{
    Artifact artifact;
    artifact.sections = {{"cubin", sample_bytes(key, 150)},
                         {"ptx", Bytes::copy_of(compressible(9000))},
                         {"log", Bytes::copy_of("")},
                         {"", Bytes::copy_of("unnamed")},
                         {"names/ñ\n", Bytes::copy_of(std::string_view("a\0b", 3))},
                         {"ptx", Bytes::copy_of("a second one of that name")}};
    artifact.metadata = {"saxpy<float>", "nvrtc 12.4", "sm_90a", {"-std=c++20", "", "-DX=\"a b\""}};
    artifact.request = Request::of("nvrtc", "source", 1).encoding();
    artifact.status = -7;
    artifact.cost = std::chrono::milliseconds(1234);
    artifact.created = WallTime(std::chrono::nanoseconds(1'700'000'000'123'456'789));
    artifact.expires = WallTime(std::chrono::nanoseconds(1'800'000'000'000'000'001));
    return artifact;
}

Bytes encoded(const Key& key, const Artifact& artifact, const EncodeOptions& options = {})
{
    Result<Bytes> entry = encode_entry(key, artifact, options);
    EXPECT_TRUE(entry.ok()) << entry.error().message;
    return entry.ok() ? *entry : Bytes{};
}

DecodedEntry decode(const std::string& bytes, const Key& key)
{
    return decode_entry(Bytes::copy_of(bytes), key);
}

void expect_comes_back(const Artifact& artifact, const Key& key, const EncodeOptions& options = {})
{
    const DecodedEntry decoded = decode_entry(encoded(key, artifact, options), key);
    ASSERT_TRUE(decoded.artifact);
    EXPECT_EQ(*decoded.artifact, artifact);
}

ForgedEntry forged(const Key& key)
{
    ForgedEntry entry;
    entry.key = key;
    entry.request = Request::of("d").encoding().text();
    entry.metadata = ForgedEntry::metadata_item(1, "label");
    entry.rows = {{"one", 0, "first section"}, {"two", 0, "second section"}};
    return entry;
}

// What a test that lies about lengths expects: no artifact from either decoder's side, and no crash on the way there.
void expect_refused(const std::string& bytes, const Key& key, const std::string& what)
{
    const DecodedEntry decoded = decode(bytes, key);
    EXPECT_FALSE(decoded.artifact) << what;
    EXPECT_EQ(decoded.why, Miss::corrupt) << what;
}

const Key k_key_of_tests = Key::of("test", "entry");

}  // namespace

TEST(Entry, comes_back_with_everything_it_held_and_its_head_says_what_a_listing_needs)
{
    const Artifact artifact = everything(k_key_of_tests);
    for (const ChecksumKind kind : kinds())
        for (const int compression : {0, 1, 9, 19}) {
            expect_comes_back(artifact, k_key_of_tests, {compression, kind});
            const Bytes entry = encoded(k_key_of_tests, artifact, {compression, kind});
            const DecodedHead decoded = decode_head(entry);
            ASSERT_EQ(decoded.outcome, Outcome::ok);
            EXPECT_EQ(decoded.head.key, k_key_of_tests);
            EXPECT_EQ(decoded.head.total, entry.size());
            EXPECT_EQ(decoded.head.raw_bytes, artifact.size());
            EXPECT_EQ(decoded.head.created, artifact.created);
            EXPECT_EQ(decoded.head.expires, artifact.expires);
            EXPECT_EQ(decoded.head.cost, artifact.cost);
            EXPECT_EQ(decoded.head.status, artifact.status);
            EXPECT_EQ(decoded.head.metadata, artifact.metadata);
        }
}

TEST(Entry, may_be_empty_in_every_part)
{
    for (const Artifact& artifact : {Artifact{}, Artifact(""), Artifact(Bytes{})})
        expect_comes_back(artifact, Key{});
}

TEST(Entry, holds_as_many_sections_as_the_format_allows)
{
    Artifact artifact;
    for (std::uint32_t i = 0; i < format::k_max_sections; ++i)
        artifact.sections.push_back({std::to_string(i), Bytes::copy_of(std::string(i % 7, 'x'))});
    expect_comes_back(artifact, k_key_of_tests);
}

TEST(Entry, keeps_the_ends_of_every_number)
{
    for (const std::int64_t time : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0},
                                    std::numeric_limits<std::int64_t>::max()})
        for (const std::int32_t status : {INT32_MIN, -1, 0, 1, INT32_MAX}) {
            Artifact artifact("x");
            artifact.created = WallTime(std::chrono::nanoseconds(time));
            artifact.expires = WallTime(std::chrono::nanoseconds(time));
            artifact.cost = std::chrono::nanoseconds(std::max<std::int64_t>(time, 0));
            artifact.status = status;
            expect_comes_back(artifact, k_key_of_tests);
        }
}

TEST(Entry, a_cost_that_cannot_be_is_none)
{
    Artifact artifact("x");
    artifact.cost = std::chrono::nanoseconds(-5);
    EXPECT_EQ(decode_entry(encoded(k_key_of_tests, artifact), k_key_of_tests).artifact->cost.count(), 0);
    ForgedEntry entry = forged(k_key_of_tests);
    entry.cost = UINT64_MAX;
    EXPECT_EQ(decode(entry.bytes(), k_key_of_tests).artifact->cost.count(), INT64_MAX);
}

TEST(Entry, large_sections_share_the_buffer_that_was_read_and_small_ones_do_not_keep_it)
{
    Artifact artifact;
    artifact.sections = {{"large", sample_bytes(k_key_of_tests, 100000)}, {"small", Bytes::copy_of("small")}};
    const Bytes entry = encoded(k_key_of_tests, artifact, {.compression = 0});
    const DecodedEntry decoded = decode_entry(entry, k_key_of_tests);
    const auto inside = [&](ByteView part) {
        return part.data() >= entry.data() && part.data() < entry.data() + entry.size();
    };
    EXPECT_TRUE(inside(decoded.artifact->bytes("large")));
    EXPECT_FALSE(inside(decoded.artifact->bytes("small")));
}

// Capability 27.
TEST(EntryDamage, every_bit_flipped_is_a_miss_and_never_other_bytes)
{
    const Artifact artifact = everything(k_key_of_tests);
    for (const ChecksumKind kind : kinds()) {
        const std::string whole(encoded(k_key_of_tests, artifact, {1, kind}).text());
        const std::size_t head_size = decode_head(as_bytes(whole)).needed;
        for_every_flipped_bit(whole, [&](const std::string& damaged, std::size_t bit) {
            const DecodedEntry decoded = decode(damaged, k_key_of_tests);
            ASSERT_FALSE(decoded.artifact) << "bit " << bit;
            const bool in_version = bit / 8 == k_version_at || bit / 8 == k_version_at + 1;
            const bool another_kind = bit / 8 == k_checksum_at;
            if (in_version)
                ASSERT_EQ(decoded.why, Miss::other_version) << "bit " << bit;
            else if (another_kind)
                ASSERT_TRUE(decoded.why == Miss::corrupt || decoded.why == Miss::other_version);
            else
                ASSERT_EQ(decoded.why, Miss::corrupt) << "bit " << bit;
            ASSERT_EQ(decode_head(as_bytes(damaged)).outcome == Outcome::ok, bit >= head_size * 8)
                << "a damaged head is never read as another head: bit " << bit;
        });
    }
}

TEST(EntryDamage, every_cut_and_every_extension_is_a_miss)
{
    for (const ChecksumKind kind : kinds()) {
        const std::string whole(encoded(k_key_of_tests, everything(k_key_of_tests), {1, kind}).text());
        for_every_cut(whole, [&](const std::string& cut, std::size_t size) {
            expect_refused(cut, k_key_of_tests, "cut to " + std::to_string(size));
        });
        for (const std::size_t more : {1U, 16U, 4096U})
            expect_refused(whole + std::string(more, '\0'), k_key_of_tests, std::to_string(more) + " bytes more");
        expect_refused(whole + whole, k_key_of_tests, "twice");
    }
}

TEST(EntryDamage, the_end_of_one_entry_on_the_front_of_another_is_a_miss)
{
    const std::string one(encoded(k_key_of_tests, Artifact(std::string(500, 'a')), {.compression = 0}).text());
    const std::string two(encoded(k_key_of_tests, Artifact(std::string(500, 'b')), {.compression = 0}).text());
    ASSERT_EQ(one.size(), two.size());
    for (std::size_t at = 1; at < one.size(); ++at) {
        const std::string torn = one.substr(0, at) + two.substr(at);
        if (torn != one && torn != two)
            expect_refused(torn, k_key_of_tests, "torn at " + std::to_string(at));
    }
}

TEST(EntryDamage, an_entry_of_another_key_is_corrupt_in_this_place)
{
    const Key other = Key::of("test", "other");
    const Bytes entry = encoded(other, everything(other));
    EXPECT_TRUE(decode_entry(entry, other).artifact);
    EXPECT_FALSE(decode_entry(entry, k_key_of_tests).artifact);
    EXPECT_EQ(decode_entry(entry, k_key_of_tests).why, Miss::corrupt);
    EXPECT_EQ(format::claimed_key(entry), other);
}

// Capability 7.
TEST(EntryVersion, the_next_version_is_another_and_not_corrupt_whatever_comes_behind_its_number)
{
    const std::string later = "\x89HEARTH\n" + std::string("\x02\x00", 2);
    EXPECT_EQ(decode(later, k_key_of_tests).why, Miss::other_version);
    EXPECT_EQ(decode(later + "whatever that version has here", k_key_of_tests).why, Miss::other_version);
    EXPECT_EQ(decode_head(as_bytes(later)).outcome, Outcome::other_version);
    for (const unsigned version : {0U, 2U, 3U, 255U, 256U, 65535U}) {
        ForgedEntry entry = forged(k_key_of_tests);
        entry.version = static_cast<std::uint16_t>(version);
        const std::string bytes = entry.bytes();
        EXPECT_FALSE(decode(bytes, k_key_of_tests).artifact);
        EXPECT_EQ(decode(bytes, k_key_of_tests).why, Miss::other_version) << version;
        EXPECT_EQ(decode_head(as_bytes(bytes)).outcome, Outcome::other_version) << version;
        EXPECT_FALSE(format::claimed_key(as_bytes(bytes)));
    }
}

TEST(EntryChecksum, a_kind_that_cannot_be_computed_is_an_error_to_write)
{
    const Result<Bytes> entry = encode_entry(k_key_of_tests, Artifact("x"), {1, static_cast<ChecksumKind>(99)});
    ASSERT_FALSE(entry.ok());
    EXPECT_EQ(entry.error().code, Code::invalid_argument);
}

TEST(EntryChecksum, both_sums_are_checked)
{
    const std::string whole = forged(k_key_of_tests).bytes();
    ASSERT_TRUE(decode(whole, k_key_of_tests).artifact);
    const std::size_t head_sum_at = k_table_at + number_at<std::uint32_t>(whole, k_table_size_at);
    std::string wrong_head_sum = with_flipped_bit(whole, head_sum_at * 8);
    const std::size_t body = wrong_head_sum.size() - k_sum_bytes;
    const auto sum = base::checksum(ChecksumKind::sha256, as_bytes(wrong_head_sum).first(body)).value();
    std::memcpy(wrong_head_sum.data() + body, sum.data(), sum.size());
    expect_refused(wrong_head_sum, k_key_of_tests, "only the sum of the head is wrong");
}

// From here on every lie is told under sums that are right.
TEST(EntryLies, about_the_lengths_of_the_head_are_refused)
{
    const std::string whole = forged(k_key_of_tests).bytes();
    const auto lies_for = [](std::uint64_t truth) {
        std::vector<std::uint64_t> lies{0, truth - 1, truth + 1, truth + 8, truth * 2, UINT64_MAX - 16, UINT64_MAX};
        for (unsigned power = 0; power < 64; ++power)
            for (const std::uint64_t near : {0U, 1U, 2U})
                lies.push_back((std::uint64_t{1} << power) + near - 1);
        return lies;
    };
    for (const std::size_t at : {k_sections_at, k_table_size_at, k_request_size_at, k_metadata_size_at})
        for (const std::uint64_t lie : lies_for(number_at<std::uint32_t>(whole, at))) {
            const auto told = static_cast<std::uint32_t>(lie);
            if (told == number_at<std::uint32_t>(whole, at))
                continue;
            std::string bytes = whole;
            set_number(bytes, at, told);
            reseal(bytes);
            expect_refused(bytes, k_key_of_tests, "u32 at " + std::to_string(at) + " is " + std::to_string(told));
            EXPECT_NE(decode_head(as_bytes(bytes)).outcome, Outcome::ok);
        }
    for (const std::uint64_t lie : lies_for(whole.size())) {
        std::string bytes = whole;
        set_number(bytes, k_total_at, lie);
        reseal(bytes);
        if (lie != whole.size())
            expect_refused(bytes, k_key_of_tests, "total is " + std::to_string(lie));
    }
}

TEST(EntryLies, about_the_sizes_of_sections_are_refused)
{
    for (const std::uint64_t lie : {std::uint64_t{0}, std::uint64_t{12}, std::uint64_t{14}, std::uint64_t{1} << 30U,
                                    (std::uint64_t{1} << 31U) + 1, std::uint64_t{1} << 32U, std::uint64_t{1} << 62U,
                                    std::uint64_t{1} << 63U, UINT64_MAX - 12, UINT64_MAX}) {
        ForgedEntry entry = forged(k_key_of_tests);
        entry.rows[0].stored = lie;
        expect_refused(entry.bytes(), k_key_of_tests, "stored " + std::to_string(lie));
        entry.rows[0].raw = lie;
        expect_refused(entry.bytes(), k_key_of_tests, "stored and raw " + std::to_string(lie));
        entry.rows[0].stored.reset();
        expect_refused(entry.bytes(), k_key_of_tests, "raw " + std::to_string(lie));
        entry.rows[0].codec = 1;
        expect_refused(entry.bytes(), k_key_of_tests, "raw, said to be compressed " + std::to_string(lie));
    }
}

TEST(EntryLies, that_cancel_out_when_they_overflow_are_refused)
{
    for (const std::uint64_t huge :
         {std::uint64_t{1} << 63U, UINT64_MAX, UINT64_MAX / 2 + 1, std::uint64_t{1} << 30U}) {
        ForgedEntry entry = forged(k_key_of_tests);
        const std::uint64_t both = entry.rows[0].payload.size() + entry.rows[1].payload.size();
        for (ForgedEntry::Row& row : entry.rows)
            row.raw = row.stored = huge;
        entry.rows[1].raw = entry.rows[1].stored = both - huge;
        expect_refused(entry.bytes(), k_key_of_tests, "sizes that add up modulo 2^64");
        for (ForgedEntry::Row& row : entry.rows)
            row.codec = 1;
        expect_refused(entry.bytes(), k_key_of_tests, "the same, said to be compressed");
    }
}

TEST(EntryLies, about_a_name_or_metadata_are_refused)
{
    for (const unsigned lie : {0U, 2U, 4U, 19U, 20U, 255U, 65535U}) {
        ForgedEntry entry = forged(k_key_of_tests);
        entry.rows[1].name_size = static_cast<std::uint16_t>(lie);
        expect_refused(entry.bytes(), k_key_of_tests, "name of " + std::to_string(lie));
    }
    for (const std::uint32_t lie : {0U, 4U, 6U, 1U << 31U, UINT32_MAX}) {
        ForgedEntry entry = forged(k_key_of_tests);
        set_number(entry.metadata, 1, lie);
        expect_refused(entry.bytes(), k_key_of_tests, "label of " + std::to_string(lie));
    }
}

TEST(EntryLies, a_byte_that_must_be_zero_and_a_codec_or_checksum_nobody_knows_are_refused)
{
    ForgedEntry entry = forged(k_key_of_tests);
    entry.zero = 1;
    expect_refused(entry.bytes(), k_key_of_tests, "zero byte is 1");
    for (const int codec : {2, 3, 255}) {
        entry = forged(k_key_of_tests);
        entry.rows[0].codec = static_cast<std::uint8_t>(codec);
        expect_refused(entry.bytes(), k_key_of_tests, "codec " + std::to_string(codec));
    }
    for (const int kind : {0, 3, 99, 255}) {
        entry = forged(k_key_of_tests);
        entry.checksum = static_cast<ChecksumKind>(kind);
        expect_refused(entry.bytes(), k_key_of_tests, "kind " + std::to_string(kind));
    }
    entry = forged(k_key_of_tests);
    entry.magic[7] = '\r';
    expect_refused(entry.bytes(), k_key_of_tests, "magic of a file that went through a text conversion");
}

TEST(EntryLies, a_small_section_that_unpacks_to_much_is_refused)
{
    const std::string bomb(format::compress(as_bytes(std::string(64 << 20, '\0')), 19).value().text());
    ASSERT_LT(bomb.size(), 10000U);
    for (const std::uint64_t raw :
         {std::uint64_t{0}, std::uint64_t{10}, std::uint64_t{bomb.size()}, (std::uint64_t{64} << 20U) - 1,
          (std::uint64_t{64} << 20U) + 1, std::uint64_t{1} << 31U}) {
        ForgedEntry entry = forged(k_key_of_tests);
        entry.rows[0] = {"bomb", 1, bomb};
        entry.rows[0].raw = raw;
        expect_refused(entry.bytes(), k_key_of_tests, "64 MiB said to be " + std::to_string(raw));
    }
    ForgedEntry many = forged(k_key_of_tests);
    many.rows.clear();
    for (int i = 0; i < 40; ++i) {
        many.rows.push_back({"bomb", 1, bomb});
        many.rows.back().raw = 64_MiB;
    }
    expect_refused(many.bytes(), k_key_of_tests, "40 sections of 64 MiB are more than an artifact may hold");
}

// What is no frame, and one frame alone, is shown in compression_test.cpp.
TEST(EntryLies, a_compressed_section_that_is_not_one_frame_is_refused)
{
    const std::string text = compressible(1000);
    const std::string frame(format::compress(as_bytes(text), 1).value().text());
    const auto entry_with = [&](const std::string& payload) {
        ForgedEntry entry = forged(k_key_of_tests);
        entry.rows[0] = {"zstd", 1, payload};
        entry.rows[0].raw = text.size();
        return entry.bytes();
    };
    EXPECT_EQ(decode(entry_with(frame), k_key_of_tests).artifact->text("zstd"), text);
    for (const std::string& wrong : {frame + "x", frame.substr(0, frame.size() - 1), text, std::string()})
        expect_refused(entry_with(wrong), k_key_of_tests, std::to_string(wrong.size()) + " bytes");
}

TEST(EntryMetadata, tells_who_wrote_the_entry_if_he_said_so_and_passes_over_tags_that_nobody_knows_yet)
{
    ForgedEntry entry = forged(k_key_of_tests);
    EXPECT_EQ(decode(entry.bytes(), k_key_of_tests).artifact->metadata.writer, "");
    entry.metadata = ForgedEntry::metadata_item(200, "from the future") + ForgedEntry::metadata_item(1, "label") +
                     ForgedEntry::metadata_item(0, "") + ForgedEntry::metadata_item(5, "0.2.0");
    const DecodedEntry decoded = decode(entry.bytes(), k_key_of_tests);
    ASSERT_TRUE(decoded.artifact);
    EXPECT_EQ(decoded.artifact->metadata, (Metadata{"label", "", "", {}}));
    EXPECT_EQ(decoded.artifact->metadata.writer, "0.2.0");
}

TEST(EntryCompression, is_used_for_each_section_where_it_gains)
{
    Artifact artifact;
    artifact.sections = {{"text", Bytes::copy_of(compressible(9000))},
                         {"noise", sample_bytes(k_key_of_tests, 9000)},
                         {"short", Bytes::copy_of(compressible(8191))},
                         {"text too", Bytes::copy_of(compressible(8192))}};
    for (const int compression : {0, 1}) {
        const Bytes entry = encoded(k_key_of_tests, artifact, {.compression = compression});
        for (const Section& section : artifact.sections)
            EXPECT_EQ(entry.text().find(section.data.text()) == std::string_view::npos,
                      compression != 0 && section.name.starts_with("text"))
                << section.name;
        EXPECT_EQ(*decode_entry(entry, k_key_of_tests).artifact, artifact);
    }
}

TEST(EntryHead, asks_for_more_bytes_until_it_has_what_it_needs_and_no_further)
{
    const Bytes entry = encoded(k_key_of_tests, everything(k_key_of_tests));
    const std::size_t needed = decode_head(entry).needed;
    ASSERT_LT(needed, entry.size());
    for (std::size_t size = 0; size <= entry.size(); ++size) {
        const DecodedHead decoded = decode_head(entry.view().first(size));
        ASSERT_EQ(decoded.outcome, size < needed ? Outcome::need_more : Outcome::ok) << size;
        ASSERT_EQ(decoded.needed, size < format::k_entry_fixed_size ? format::k_entry_fixed_size : needed) << size;
        ASSERT_EQ(format::claimed_key(entry.view().first(size)).has_value(), size >= format::k_entry_fixed_size);
    }
}

TEST(EntryTooLarge, says_the_value_the_limit_and_what_to_do)
{
    // Many sections of one buffer, none of which is ever touched.
    const Bytes block = Bytes::make(64 << 20, [](std::span<std::byte>) {});
    const auto blocks = [&](int count) {
        Artifact artifact;
        for (int i = 0; i < count; ++i)
            artifact.sections.push_back({"", block});
        return artifact;
    };
    const auto expect_sentence = [](const Artifact& artifact, const std::vector<std::string>& parts) {
        const Result<Bytes> entry = encode_entry(k_key_of_tests, artifact, {.compression = 0});
        ASSERT_FALSE(entry.ok());
        EXPECT_EQ(entry.error().code, Code::too_large);
        EXPECT_TRUE(entry.error().message.ends_with('.')) << entry.error().message;
        for (const std::string& part : parts)
            EXPECT_NE(entry.error().message.find(part), std::string::npos) << entry.error().message;
    };
    expect_sentence(blocks(33), {"2214592512", "2147483648", "Split"});
    expect_sentence(blocks(16), {std::to_string((1 << 30) + 96 + 16 * 19 + 24), "1073741824", "Split"});

    Artifact many_sections;
    many_sections.sections.resize(4097);
    expect_sentence(many_sections, {"4097", "4096", "Join"});

    Artifact much_metadata("x");
    much_metadata.metadata.options.assign(17, std::string(1 << 20, 'o'));
    expect_sentence(much_metadata, {std::to_string(17 * ((1 << 20) + 5) + 19), "16777216", "Split"});

    Artifact long_name;
    long_name.sections.push_back({std::string(65536, 'n'), {}});
    const Result<Bytes> too_long = encode_entry(k_key_of_tests, long_name);
    ASSERT_FALSE(too_long.ok());
    EXPECT_EQ(too_long.error().code, Code::invalid_argument);
    EXPECT_EQ(too_long.error().message, "Section name of 65536 bytes is longer than 65535. Use a shorter one.");
    long_name.sections[0].name.pop_back();
    EXPECT_TRUE(encode_entry(k_key_of_tests, long_name).ok());
}

}  // namespace hearth::test
