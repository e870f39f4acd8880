#include "base/files.hpp"
#include "cache_test.hpp"
#include "format/archive.hpp"
#include "format/entry.hpp"
#include "hearth/admin.hpp"
#include "support/forged_entry.hpp"

#include <filesystem>

// Entries carried to another machine and back: export and import (34).

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Transfer : public CacheTest {
protected:
    // A cache that knows nothing of the first one's directory.
    Cache elsewhere(std::uint64_t max_bytes = 0) { return open({memory(0), disk(m_scratch / "elsewhere", max_bytes)}); }
    std::string archive() const { return m_scratch / "kernels.hearth"; }

    // Writes an archive of keys 1 to `count`.
    void export_numbers(std::uint64_t count)
    {
        Cache cache = open_usual();
        put_all(cache, 1, count, 1000);
        EXPECT_EQ(admin::export_to(cache, archive()).value().entries, count);
    }
    TransferReport import_into(Cache& cache) const { return admin::import_from(cache, archive()).value(); }

    // Where each entry's bytes begin and how many there are: format/archive.hpp.
    static std::vector<std::pair<std::size_t, std::size_t>> records(const std::string& bytes)
    {
        std::vector<std::pair<std::size_t, std::size_t>> found;
        for (std::size_t at = 16; at < bytes.size() && bytes[at] == 'E';) {
            const auto size = static_cast<std::size_t>(number_at<std::uint64_t>(bytes, at + 1));
            found.emplace_back(at + 9, size);
            at += 9 + size;
        }
        return found;
    }
};

TEST_F(Transfer, export_wipe_import_elsewhere_gives_zero_makes)
{
    Artifact rich("cubin");
    rich.metadata = {"saxpy", "nvrtc 12.4", "sm_90", {"-O3"}};
    rich.request = Request::of("test", "rich").encoding();
    rich.sections.push_back({"log", Bytes::copy_of("no warnings")});
    rich.cost = std::chrono::milliseconds(70);
    rich.created = ManualClock::k_start;
    {
        Cache cache = open_usual();
        for (std::uint64_t number = 1; number <= 20; ++number)
            put(cache, number, 50 * number);
        put(cache, 21, 10, "memory");
        ASSERT_TRUE(cache.insert(numbered_key(22), rich).ok());
        const TransferReport report = admin::export_to(cache, archive()).value();
        EXPECT_EQ(report.entries, 22U) << "what only memory holds goes along";
        EXPECT_EQ(report.rejected, 0U);
        EXPECT_EQ(cache.stats().lookups(), 0U) << "carrying entries is no use of them";
        EXPECT_EQ(admin::info(cache, numbered_key(1))->uses, 0U);
        admin::clear(cache);
    }
    fs::remove_all(directory());

    Cache other = elsewhere();
    const TransferReport report = import_into(other);
    EXPECT_EQ(report.entries, 22U);
    EXPECT_EQ(report.rejected, 0U);
    EXPECT_EQ(report.already_there, 0U);
    EXPECT_TRUE(report.problems.empty());
    for (std::uint64_t number = 1; number <= 20; ++number) {
        const Result<Lookup> got = other.get_or_compile(numbered_key(number), [] { return "made again"; });
        EXPECT_EQ(text_of(got), sample_bytes(numbered_key(number), 50 * number).text());
    }
    EXPECT_EQ(*other.find(numbered_key(22)), rich) << "whole, down to its request";
    EXPECT_EQ(other.stats().compiles, 0U);
    EXPECT_TRUE(admin::verify(other, Repair::no).accounting_exact);
}

TEST_F(Transfer, only_chosen_entries_are_exported)
{
    Cache cache = open_usual();
    for (std::uint64_t number = 1; number <= 10; ++number)
        put(cache, number, number);
    const auto large = [](const EntryRow& row) { return row.bytes > 7; };
    EXPECT_EQ(admin::export_to(cache, archive(), large)->entries, 3U);
    Cache other = elsewhere();
    EXPECT_EQ(import_into(other).entries, 3U);
    EXPECT_EQ(admin::where(other, numbered_key(7)), Names{});
    EXPECT_EQ(admin::where(other, numbered_key(8)), Names{"disk"});
}

TEST_F(Transfer, what_is_there_already_stays_as_it_is)
{
    export_numbers(5);
    Cache other = elsewhere();
    put(other, 2, 30, {}, 1);
    const TransferReport first = import_into(other);
    EXPECT_EQ(first.entries, 4U);
    EXPECT_EQ(first.already_there, 1U);
    EXPECT_TRUE(holds(other, 2, 30, 1));
    const TransferReport again = import_into(other);
    EXPECT_EQ(again.entries, 0U);
    EXPECT_EQ(again.already_there, 5U);
    EXPECT_EQ(again.bytes, 0U);
}

TEST_F(Transfer, entries_that_are_damaged_of_another_version_or_under_anothers_key_are_rejected_and_said)
{
    export_numbers(6);
    std::string bytes = read_file(archive());
    const auto found = records(bytes);
    ASSERT_EQ(found.size(), 6U);
    bytes[found[1].first + found[1].second - 1] ^= 1;
    std::string newer = bytes.substr(found[3].first, found[3].second);
    set_number<std::uint16_t>(newer, k_version_at, 2);
    reseal(newer);
    bytes.replace(found[3].first, found[3].second, newer);
    const std::string other_key = bytes.substr(found[4].first + k_key_at, 32);
    bytes.replace(found[5].first + k_key_at, 32, other_key);
    write_file(archive(), bytes);

    Cache other = elsewhere();
    const TransferReport report = import_into(other);
    EXPECT_EQ(report.entries, 3U);
    EXPECT_EQ(report.rejected, 3U);
    EXPECT_EQ(report.problems.size(), 3U);
    EXPECT_EQ(status_of(other, "disk").usage.entries, 3U);
    std::uint64_t held = 0;
    for (std::uint64_t number = 1; number <= 6; ++number)
        held += holds(other, number, 1000) ? 1 : 0;
    EXPECT_EQ(held, 3U);
}

TEST_F(Transfer, a_cut_archive_gives_what_came_before_the_cut)
{
    export_numbers(4);
    const std::string bytes = read_file(archive());
    const auto found = records(bytes);
    write_file(archive(), bytes.substr(0, found[2].first + 10));
    Cache other = elsewhere();
    const TransferReport report = import_into(other);
    EXPECT_EQ(report.entries, 2U);
    EXPECT_EQ(report.rejected, 1U);
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_NE(report.problems[0].find(archive()), std::string::npos);
}

TEST_F(Transfer, a_failure_is_neither_exported_nor_imported)
{
    Artifact failure("log");
    failure.status = 1;
    Cache cache = open_usual();
    ASSERT_TRUE(cache.insert(numbered_key(1), failure).ok());
    put(cache, 2, 100);
    EXPECT_EQ(admin::export_to(cache, archive())->entries, 1U);

    format::ArchiveWriter forged(base::system_files(), archive());
    ASSERT_TRUE(forged.add(format::encode_entry(numbered_key(1), failure).value()).ok());
    ASSERT_TRUE(forged.finish().ok());
    Cache other = elsewhere();
    EXPECT_EQ(import_into(other).entries, 0U);
    EXPECT_FALSE(other.peek(numbered_key(1)));
}

TEST_F(Transfer, what_is_no_archive_is_an_error)
{
    Cache cache = open_usual();
    write_file(m_scratch / "text", "hello");
    write_file(m_scratch / "empty", "");
    for (const std::string& path : {m_scratch / "missing", m_scratch / "text", m_scratch / "empty", m_scratch.path()})
        EXPECT_FALSE(admin::import_from(cache, path).ok()) << path;
    EXPECT_EQ(cache.stats().stores, 0U);
}

TEST_F(Transfer, an_entry_too_large_for_the_new_cache_is_rejected_the_others_are_taken_and_the_budget_is_kept)
{
    Cache cache = open_usual();
    put_all(cache, 1, 20, 1000);
    put(cache, 21, 50'000);
    ASSERT_TRUE(admin::export_to(cache, archive()).ok());
    Cache other = elsewhere(10'000);
    const TransferReport report = import_into(other);
    EXPECT_EQ(report.entries, 20U);
    EXPECT_EQ(report.rejected, 1U);
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_NE(report.problems[0].find("10000"), std::string::npos);
    EXPECT_LE(status_of(other, "disk").usage.bytes, 10'000U);
    EXPECT_GT(status_of(other, "disk").usage.entries, 0U);
    EXPECT_EQ(evictions().size(), other.stats().evictions());
}

TEST_F(Transfer, a_failed_or_stopped_export_leaves_the_old_file)
{
    Cache cache = open_usual();
    put(cache, 1, 10);
    write_file(archive(), "the old one");
    const auto before = snapshot(m_scratch.path());
    EXPECT_FALSE(admin::export_to(cache, archive(), {}, [](std::uint64_t, std::uint64_t) { return false; }).ok());
    EXPECT_FALSE(admin::export_to(cache, m_scratch / "no/such/folder/x").ok());
    EXPECT_EQ(snapshot(m_scratch.path()), before) << "nor is a half-written file left";
}

TEST_F(Transfer, what_others_compiled_is_neither_signed_nor_imported_where_entries_are_signed)
{
    export_numbers(3);
    const SigningKey signer = SigningKey::generate().value();
    const auto open_with = [&](Trust trust) {
        DiskOptions on_disk{.directory = m_scratch / "signing"};
        on_disk.trust = std::move(trust);
        return open({disk(on_disk)});
    };
    {
        Cache signing = open_with({.sign_with = {signer}});
        EXPECT_EQ(admin::import_from(signing, archive())->rejected, 3U);
        put(signing, 4, 100);
    }
    Cache demanding = open_with({.signatures = Signatures::demanded, .trusted = {signer.public_key()}});
    for (std::uint64_t number = 1; number <= 3; ++number)
        EXPECT_EQ(demanding.find(numbered_key(number)).why(), Miss::absent) << number;
    EXPECT_TRUE(holds(demanding, 4, 100)) << "what came into being here is";
}

TEST_F(Transfer, without_a_persistent_tier_there_is_nothing_to_import_into)
{
    export_numbers(2);
    Cache memory_only = open({memory(0)});
    EXPECT_EQ(code_of(admin::import_from(memory_only, archive())), Code::unavailable);
}

}  // namespace

}  // namespace hearth::test
