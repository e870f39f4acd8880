#include "bundle_fixture.hpp"
#include "support/forks.hpp"
#include "support/in_threads.hpp"

#include <atomic>
#include <filesystem>
#include <set>
#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class BundleTierTest : public BundleTest {};
class BundleTrust : public BundleTest {};
class DamagedBundle : public BundleTest {};

}  // namespace

TEST_F(BundleTierTest, answers_with_what_was_put_in_and_takes_nothing)
{
    const Entries entries = sample_entries(1, 200, 300);
    const auto tier = open(make(entries));
    EXPECT_EQ(tier->name(), "bundle");
    EXPECT_TRUE(tier->traits().persistent);
    EXPECT_TRUE(tier->traits().fixed);
    EXPECT_FALSE(tier->traits().writable);
    EXPECT_FALSE(tier->traits().remote);
    EXPECT_EQ(tier->note(), path());
    for (std::uint64_t number = 1; number <= 200; ++number) {
        const Found found = tier->find(numbered_key(number));
        ASSERT_TRUE(found && is_sample_of(*found.artifact, numbered_key(number))) << number;
        EXPECT_EQ(found.artifact->metadata.label, "kernel " + std::to_string(number));
        EXPECT_EQ(found.artifact->created, ManualClock::k_start);
        EXPECT_EQ(found.cost, 100ms);
        EXPECT_EQ(found.bytes, entries.at(numbered_key(number)).size());
        ASSERT_TRUE(tier->contains(numbered_key(number)));
    }
    EXPECT_EQ(tier->find(numbered_key(201)).why, Miss::absent);
    EXPECT_FALSE(tier->contains(numbered_key(201)));

    const Result<Stored> stored =
        store_in(*tier, numbered_key(201), sample_entry(numbered_key(201), 10), Victims::keep);
    ASSERT_FALSE(stored.ok());
    EXPECT_EQ(stored.error().code, Code::unavailable);
    EXPECT_FALSE(tier->remove(numbered_key(1)));
    tier->clear();
    EXPECT_TRUE(tier->set_limits({.max_bytes = 1, .max_entries = 1}, Victims::keep).empty());
    EXPECT_TRUE(tier->evict_to({.max_bytes = 0, .max_entries = 0, .unused_for = 0s}, {}).empty());
    EXPECT_EQ(tier->limits(), Limits{});
    EXPECT_EQ(read_file(path()), bundle_bytes(entries)) << "the file is as it was";
    EXPECT_TRUE(holds(*tier, 1));
}

TEST_F(BundleTierTest, counts_uses_of_this_process_and_peeking_is_none)
{
    const auto tier = open(make(sample_entries(1, 200, 50)));
    EXPECT_EQ(tier->find(numbered_key(2)).uses, 1U);
    m_clock.advance(10s);
    EXPECT_EQ(tier->find(numbered_key(2)).uses, 2U);
    const Found peeked = tier->peek(numbered_key(2));
    EXPECT_EQ(peeked.uses, 0U);
    ASSERT_TRUE(peeked.encoded);
    EXPECT_EQ(peeked.encoded->text(), sample_entries(2, 2, 50).begin()->second) << "as it lies in the bundle";
    EXPECT_EQ(tier->find(numbered_key(3)).uses, 1U);
    const std::optional<EntryRow> row = tier->info(numbered_key(2));
    ASSERT_TRUE(row);
    EXPECT_EQ(row->uses, 2U);
    EXPECT_EQ(row->last_used, ManualClock::k_start + 10s);
    EXPECT_EQ(tier->info(numbered_key(4))->uses, 0U);
    EXPECT_EQ(tier->info(numbered_key(4))->last_used, WallTime{});
}

TEST_F(BundleTierTest, lists_every_entry_once)
{
    const Entries entries = sample_entries(1, 300, 40);
    const auto tier = open(make(entries));
    std::set<Key> seen;
    std::uint64_t bytes = 0;
    tier->for_each([&](const EntryRow& row) {
        EXPECT_TRUE(seen.insert(row.key).second);
        EXPECT_EQ(row.tier, "bundle");
        EXPECT_EQ(row.bytes, 40U);
        EXPECT_TRUE(row.metadata.label.starts_with("kernel "));
        EXPECT_EQ(row.cost, 100ms);
        bytes += row.stored_bytes;
        return true;
    });
    EXPECT_EQ(seen.size(), 300U);
    EXPECT_EQ(tier->usage().entries, 300U);
    EXPECT_EQ(tier->usage().bytes, bytes);
    std::uint64_t visited = 0;
    tier->for_each([&](const EntryRow&) { return ++visited < 7; });
    EXPECT_EQ(visited, 7U) << "until the visitor has seen enough";
    EXPECT_FALSE(tier->info(numbered_key(301)));
}

TEST_F(BundleTierTest, an_entry_past_its_time_is_a_miss_that_says_so)
{
    const Key key = numbered_key(1);
    const auto artifact = sample_artifact(key, 10);
    artifact->expires = ManualClock::k_start + 60s;
    const auto tier = open(make({{key, std::string(format::encode_entry(key, *artifact).value().text())}}));
    EXPECT_TRUE(holds(*tier, 1));
    m_clock.advance(60s);
    EXPECT_EQ(tier->find(key).why, Miss::expired);
    EXPECT_EQ(tier->peek(key).why, Miss::expired);
}

TEST_F(BundleTierTest, an_entry_of_another_version_is_a_miss_that_says_so)
{
    const Entries entries = sample_entries(1, 2, 30);
    std::string bytes = bundle_bytes(entries);
    const BundlePlaces at(bytes);
    // As a newer Hearth would write it: with right sums, and an index that vouches for it.
    std::string newer = entries.begin()->second;
    set_number<std::uint16_t>(newer, k_version_at, 2);
    reseal(newer);
    bytes.replace(at.data, newer.size(), newer);
    const base::Sha256 digest = base::sha256(as_bytes(newer));
    std::memcpy(bytes.data() + at.rows + 32, digest.data(), digest.size());
    reseal_bundle(bytes);
    write_file(path(), bytes);
    const auto tier = open(path());
    EXPECT_EQ(tier->find(entries.begin()->first).why, Miss::other_version);
    EXPECT_TRUE(tier->find(entries.rbegin()->first));
    const VerifyReport report = tier->verify(Repair::no, {});
    EXPECT_EQ(report.other_version, 1U);
    EXPECT_EQ(report.intact, 1U);
    EXPECT_EQ(report.corrupt, 0U);
}

TEST_F(BundleTierTest, may_be_a_link_to_one_and_one_renamed_over_that_is_not_seen_before_it_is_opened_anew)
{
    make(sample_entries(1, 3, 30));
    fs::create_symlink(path(), path("current.bundle"));
    const auto tier = open(path("current.bundle"));
    EXPECT_EQ(tier->note(), path()) << "it says which";
    make(sample_entries(4, 5, 30), "next.bundle");
    fs::rename(path("next.bundle"), path());
    EXPECT_TRUE(holds(*tier, 1));
    EXPECT_EQ(tier->find(numbered_key(4)).why, Miss::absent);
    fs::remove(path());
    EXPECT_TRUE(holds(*tier, 2));
    EXPECT_FALSE(try_open(path()).ok());
}

TEST_F(BundleTierTest, answers_many_threads_at_once)
{
    // Every thread begins at another place, so that several want the same page first.
    const std::uint64_t entries = 600;
    const auto tier = open(make(sample_entries(1, entries, 200)));
    std::atomic<std::uint64_t> hits{0};
    in_threads(4, [&](std::uint64_t thread) {
        for (std::uint64_t i = 0; i < entries; ++i) {
            const std::uint64_t number = 1 + (i + thread * 7) % entries;
            const Found found = tier->find(numbered_key(number));
            hits += found && is_sample_of(*found.artifact, numbered_key(number)) ? 1 : 0;
        }
    });
    EXPECT_EQ(hits, 4 * entries);
    for (std::uint64_t number = 1; number <= entries; ++number)
        ASSERT_EQ(tier->info(numbered_key(number))->uses, 4U) << "no use is lost";
}

TEST_F(BundleTierTest, goes_on_in_a_forked_child)
{
    const auto tier = open(make(sample_entries(1, 200, 30)));
    ASSERT_TRUE(holds(*tier, 1));
    const pid_t child = ::fork();
    if (child == 0) {
        bool right = true;
        for (std::uint64_t number = 1; number <= 200; ++number)
            right = right && holds(*tier, number);
        ::_exit(right ? 0 : 1);
    }
    EXPECT_TRUE(child_was_right(child));
    EXPECT_TRUE(holds(*tier, 200));
}

TEST_F(BundleTrust, only_one_that_a_trusted_key_has_signed_is_opened)
{
    const SigningKey signer = SigningKey::generate().value();
    const SigningKey stranger = SigningKey::generate().value();
    const Entries entries = sample_entries(1, 3, 30);
    make(entries, "plain.bundle");
    make(entries, "signed.bundle", &signer);
    make(entries, "strange.bundle", &stranger);

    const auto tier = open(path("signed.bundle"), demanding(signer));
    EXPECT_TRUE(tier->traits().demands_signatures);
    EXPECT_TRUE(holds(*tier, 1));
    EXPECT_TRUE(holds(*open(path("signed.bundle")), 1)) << "who asks for none reads it as any other";

    const Open plain = try_open(path("plain.bundle"), demanding(signer));
    ASSERT_FALSE(plain.ok());
    EXPECT_EQ(plain.error().code, Code::denied);
    EXPECT_NE(plain.error().message.find("not signed"), std::string::npos) << plain.error().message;
    const Open strange = try_open(path("strange.bundle"), demanding(signer));
    ASSERT_FALSE(strange.ok());
    EXPECT_NE(strange.error().message.find(stranger.public_key().text()), std::string::npos) << strange.error().message;
    const Open nobody = try_open(path("signed.bundle"), {Signatures::demanded, {}, {}});
    ASSERT_FALSE(nobody.ok());
    EXPECT_NE(nobody.error().message.find("HEARTH_TRUSTED_KEYS"), std::string::npos) << nobody.error().message;
}

// Capability 72: what is loaded is what was signed, whoever had the file in between.
TEST_F(BundleTrust, an_entry_put_in_the_place_of_another_is_not_used_though_its_own_sums_are_right)
{
    const SigningKey signer = SigningKey::generate().value();
    const Entries entries = sample_entries(1, 1, 30);
    std::string bytes = bundle_bytes(entries, &signer);
    const std::string other = sample_entries(1, 1, 30, 1).begin()->second;
    ASSERT_EQ(other.size(), entries.begin()->second.size());
    bytes.replace(BundlePlaces(bytes).data, other.size(), other);
    write_file(path(), bytes);
    EXPECT_EQ(open(path(), demanding(signer))->find(numbered_key(1)).why, Miss::corrupt);
    EXPECT_TRUE(open(path())->find(numbered_key(1))) << "a checksum alone does not tell";
}

// That every bit and every cut is noticed is shown in format/bundle_test.cpp: here, what the tier makes of it.
TEST_F(DamagedBundle, is_not_opened_where_its_seal_is_broken_and_costs_what_is_damaged_otherwise)
{
    const SigningKey signer = SigningKey::generate().value();
    const std::string whole = bundle_bytes(sample_entries(1, 3, 20), &signer);
    const BundlePlaces at(whole);
    const auto opened = [&](std::size_t byte, const Trust& trust) {
        write_file(path(), with_flipped_bit(whole, 8 * byte));
        return try_open(path(), trust);
    };
    for (const Trust& trust : {Trust{}, demanding(signer)}) {
        const bool demanded = trust.signatures == Signatures::demanded;
        for (const std::size_t byte : {std::size_t{0}, k_bundle_entries_at, k_bundle_facts_at, at.table, at.seal})
            EXPECT_FALSE(opened(byte, trust).ok()) << "byte " << byte;
        for (const std::size_t byte : {at.seal + 32, at.seal + 64, at.rows - 1})
            EXPECT_EQ(opened(byte, trust).ok(), !demanded) << "byte " << byte << ", in the signature";
        const auto without_one = opened(at.data + 40, trust).value();
        std::uint64_t found = 0;
        for (std::uint64_t number = 1; number <= 3; ++number)
            found += holds(*without_one, number) ? 1 : 0;
        EXPECT_EQ(found, 2U);
        const VerifyReport report = without_one->verify(Repair::yes, {});
        EXPECT_EQ(report.checked, 3U);
        EXPECT_EQ(report.intact, 2U);
        EXPECT_FALSE(report.problems.empty());
    }
}

TEST_F(DamagedBundle, cut_behind_its_rows_gives_and_counts_what_is_before_the_cut)
{
    const SigningKey signer = SigningKey::generate().value();
    const Entries entries = sample_entries(1, 3, 20);
    const std::string whole = bundle_bytes(entries, &signer);
    const BundlePlaces at(whole);
    const std::size_t each = entries.begin()->second.size();
    for (const Trust& trust : {Trust{}, demanding(signer)}) {
        write_file(path(), whole.substr(0, at.rows - 1));
        EXPECT_FALSE(try_open(path(), trust).ok());
        for (const std::size_t length : {at.rows, at.data + each - 1, at.data + each, whole.size() - 1}) {
            SCOPED_TRACE(length);
            write_file(path(), whole.substr(0, length));
            const auto tier = open(path(), trust);
            std::size_t end = at.data;
            std::uint64_t left = 0;
            for (const auto& [key, bytes] : entries) {
                end += bytes.size();
                left += end <= length ? 1 : 0;
                EXPECT_EQ(tier->find(key).why == Miss::corrupt, end > length);
                EXPECT_EQ(tier->contains(key), end <= length);
                EXPECT_EQ(tier->info(key).has_value(), end <= length);
            }
            EXPECT_EQ(tier->usage().entries, left);
            EXPECT_EQ(tier->usage().bytes, left * each);
            EXPECT_FALSE(tier->verify(Repair::no, {}).problems.empty());
        }
    }
}

TEST_F(DamagedBundle, of_many_entries_with_a_damaged_page_goes_on_with_the_others)
{
    const Entries entries = sample_entries(1, 300, 20);
    const std::string whole = bundle_bytes(entries);
    write_file(path(), with_flipped_bit(whole, 8 * (BundlePlaces(whole).rows + 3)));
    const auto tier = open(path());
    EXPECT_EQ(tier->find(entries.begin()->first).why, Miss::corrupt);
    EXPECT_TRUE(tier->find(entries.rbegin()->first));
    std::uint64_t listed = 0;
    tier->for_each([&](const EntryRow&) { return ++listed != 0; });
    EXPECT_EQ(listed, 172U);
    const VerifyReport report = tier->verify(Repair::yes, {});
    EXPECT_EQ(report.checked, 300U);
    EXPECT_EQ(report.intact, 172U);
    EXPECT_EQ(report.corrupt, 128U);
    EXPECT_EQ(report.removed, 0U) << "nothing of a bundle is ever removed";
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_NE(report.problems[0].find(path()), std::string::npos);
}

TEST_F(DamagedBundle, longer_than_it_says_is_used_and_verify_says_so_unless_it_is_stopped)
{
    write_file(path(), bundle_bytes(sample_entries(1, 20, 20)) + "more");
    const auto tier = open(path());
    EXPECT_TRUE(holds(*tier, 1));
    const VerifyReport report = tier->verify(Repair::no, {});
    EXPECT_EQ(report.intact, 20U);
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_NE(report.problems[0].find("bytes long"), std::string::npos) << report.problems[0];
    std::uint64_t told = 0;
    const VerifyReport stopped = tier->verify(Repair::no, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_EQ(total, 20U);
        told = done;
        return done < 5;
    });
    EXPECT_EQ(told, 5U);
    EXPECT_EQ(stopped.checked, 5U);
}

}  // namespace hearth::test
