#include "tier_conformance.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <sys/stat.h>

namespace hearth::test {

using namespace std::chrono_literals;

namespace {

TierUsage listed(Tier& tier)
{
    TierUsage sum;
    tier.for_each([&](const EntryRow& row) {
        sum.bytes += row.stored_bytes;
        ++sum.entries;
        return true;
    });
    return sum;
}

}  // namespace

Result<Stored> store_and_send(Tier& tier, const Key& key, const Entry& entry, Victims victims)
{
    Result<Stored> report = store_in(tier, key, entry, victims);
    if (tier.traits().remote)
        tier.flush();
    return report;
}

std::unique_ptr<Tier> TierConformance::open(const Limits& limits, const PolicyFactory& policy)
{
    TierRequest request{limits, {&m_clock, {}, policy}, m_scratch / std::to_string(m_opened++)};
    EXPECT_EQ(::mkdir(request.scratch.c_str(), 0700), 0);
    return GetParam().open(request).value();
}

std::uint64_t TierConformance::overhead()
{
    return put(*open(), 0, 0).bytes;
}

void TierConformance::expect_usage(Tier& tier, const TierUsage& expected)
{
    if (GetParam().budgeted) {
        const TierUsage used = tier.usage();
        EXPECT_EQ(used.bytes, expected.bytes);
        EXPECT_EQ(used.entries, expected.entries);
    }
    if (GetParam().lists) {
        const TierUsage sum = listed(tier);
        EXPECT_EQ(sum.bytes, expected.bytes);
        EXPECT_EQ(sum.entries, expected.entries);
    }
}

void TierConformance::expect_exact_accounting(Tier& tier)
{
    if (!GetParam().lists)
        return;
    const TierUsage sum = listed(tier);
    expect_usage(tier, sum);
    const VerifyReport report = tier.verify(Repair::no, {});
    EXPECT_TRUE(report.accounting_exact);
    EXPECT_EQ(report.checked, sum.entries);
    EXPECT_EQ(report.intact, sum.entries);
    EXPECT_TRUE(report.problems.empty()) << report.problems.front();
}

TEST_P(TierConformance, a_fresh_tier_is_empty_and_knows_its_name)
{
    const auto tier = open({.max_bytes = 1_MiB});
    EXPECT_EQ(tier->name(), GetParam().name);
    EXPECT_TRUE(tier->traits().writable);
    EXPECT_EQ(tier->usage().bytes, 0U);
    EXPECT_EQ(tier->usage().entries, 0U);
    EXPECT_EQ(tier->limits(), GetParam().budgeted ? Limits{.max_bytes = 1_MiB} : Limits{});
    const Found found = tier->find(numbered_key(1));
    EXPECT_FALSE(found);
    EXPECT_EQ(found.why, Miss::absent);
    EXPECT_FALSE(tier->contains(numbered_key(1)));
    EXPECT_FALSE(tier->remove(numbered_key(1)));
    EXPECT_FALSE(tier->info(numbered_key(1)));
    expect_exact_accounting(*tier);
}

TEST_P(TierConformance, what_is_stored_comes_back_whole)
{
    const auto tier = open();
    const Request request = Request::of("test", "source", 7);
    auto artifact = std::make_shared<Artifact>();
    artifact->sections = {{"cubin", sample_bytes(request.key(), 5000)},
                          {"log", Bytes::copy_of("warning: unused\n")},
                          {"empty", Bytes{}},
                          {"", Bytes::copy_of(std::string_view("\0\n/\xff", 4))}};
    artifact->metadata = {
        .label = "saxpy", .compiler = "nvrtc 13.0", .target = "sm_90a", .options = {"-O3", "", "-I a b"}};
    artifact->request = request.encoding();
    artifact->status = tier->traits().remote ? 0 : 6;  // failures stay on their machine
    artifact->cost = 1234567ns;
    artifact->created = m_clock.now();
    artifact->expires = m_clock.now() + 24h;
    ASSERT_TRUE(store_and_send(*tier, request, Entry(artifact), Victims::discard).ok());
    const Found found = tier->find(request);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found.artifact, *artifact);
    EXPECT_TRUE(tier->contains(request));

    const std::optional<EntryRow> row = tier->info(request);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->key, request.key());
    EXPECT_EQ(row->metadata, artifact->metadata);
    EXPECT_EQ(row->bytes, artifact->size());
    EXPECT_EQ(row->stored_bytes, found.bytes);
    EXPECT_EQ(row->created, artifact->created);
    EXPECT_EQ(row->cost, artifact->cost);
    EXPECT_EQ(row->status, artifact->status);
    EXPECT_EQ(row->tier, tier->name());
}

TEST_P(TierConformance, entries_from_nothing_to_megabytes_come_back_whole)
{
    constexpr std::array<std::size_t, 7> k_sizes = {0, 1, 100, 8191, 8192, 100'001, 3'000'001};
    const auto tier = open();
    for (const std::size_t size : k_sizes)
        put(*tier, size, size);
    for (const std::size_t size : k_sizes) {
        EXPECT_TRUE(holds(*tier, size, size)) << size;
        EXPECT_EQ(tier->info(numbered_key(size))->bytes, size);
    }
    expect_exact_accounting(*tier);
}

TEST_P(TierConformance, peeking_answers_as_finding_does_and_is_no_use)
{
    const auto tier = open();
    EXPECT_FALSE(tier->peek(numbered_key(1)));
    put(*tier, 1, 500);
    const Found peeked = tier->peek(numbered_key(1));
    ASSERT_TRUE(peeked);
    EXPECT_EQ(*peeked.artifact, *sample_artifact(numbered_key(1), 500));
    EXPECT_EQ(tier->info(numbered_key(1))->uses, 0U);
    EXPECT_EQ(tier->info(numbered_key(1))->last_used, WallTime{});
    const Found found = tier->find(numbered_key(1));
    EXPECT_EQ(found.uses, 1U);
    EXPECT_EQ(found.bytes, peeked.bytes);
    EXPECT_EQ(found.cost, peeked.cost);
}

// 12
TEST_P(TierConformance, too_large_is_a_typed_error_that_disturbs_nothing)
{
    const std::uint64_t each = 100 + overhead();
    const auto tier = open({.max_bytes = 3 * each});
    put_range(*tier, 1, 3, 100);
    // Something new, and what would take the place of one that is there.
    for (const std::uint64_t number : {4, 1}) {
        const Key key = numbered_key(number);
        const Result<Stored> report = store_in(*tier, key, sample_entry(key, 3 * each + 1 - overhead(), 1));
        ASSERT_FALSE(report.ok());
        EXPECT_EQ(report.error().code, Code::too_large);
        const std::string& sentence = report.error().message;
        EXPECT_NE(sentence.find(std::to_string(3 * each)), std::string::npos) << "the limit: " << sentence;
        const char* const fix = GetParam().budgeted ? "Raise its capacity" : "Raise max_entry_bytes";
        EXPECT_NE(sentence.find(fix), std::string::npos) << "the fix: " << sentence;
    }
    expect_usage(*tier, {.bytes = 3 * each, .entries = 3});
    for (std::uint64_t number = 1; number <= 3; ++number)
        EXPECT_TRUE(holds(*tier, number, 100));
    expect_exact_accounting(*tier);
}

// 13
TEST_P(TierConformance, replacing_keeps_accounting_exact)
{
    const std::uint64_t extra = overhead();
    const auto tier = open({.max_bytes = 100'000});
    EXPECT_FALSE(put(*tier, 1, 100).replaced);
    expect_usage(*tier, {.bytes = 100 + extra, .entries = 1});
    const Stored report = put(*tier, 1, 200, 1);
    EXPECT_EQ(report.replaced, GetParam().budgeted);
    EXPECT_TRUE(report.victims.empty());
    EXPECT_EQ(report.bytes, 200 + extra);
    expect_usage(*tier, {.bytes = 200 + extra, .entries = 1});
    EXPECT_TRUE(holds(*tier, 1, 200, 1));
    put(*tier, 1, 50, 2);
    expect_usage(*tier, {.bytes = 50 + extra, .entries = 1});
    EXPECT_TRUE(holds(*tier, 1, 50, 2));
    expect_exact_accounting(*tier);
}

TEST_P(TierConformance, what_is_replaced_makes_room_for_its_successor)
{
    HEARTH_NEEDS_BUDGET();
    const std::uint64_t extra = overhead();
    const auto tier = open({.max_bytes = 1000 + 2 * extra, .max_entries = 2});
    put(*tier, 1, 500);
    put(*tier, 2, 500);
    EXPECT_TRUE(put(*tier, 1, 500, 1).victims.empty());
    EXPECT_TRUE(holds(*tier, 1, 500, 1));
    EXPECT_TRUE(holds(*tier, 2, 500));
    // Larger than before: the other one goes, never the one that is being replaced.
    const Stored report = put(*tier, 2, 600, 1);
    ASSERT_EQ(report.victims.size(), 1U);
    EXPECT_EQ(report.victims.front().key, numbered_key(1));
    EXPECT_TRUE(holds(*tier, 2, 600, 1));
    expect_exact_accounting(*tier);
}

TEST_P(TierConformance, removing_says_whether_it_was_there)
{
    const auto tier = open();
    put(*tier, 1, 100);
    put(*tier, 2, 100);
    EXPECT_TRUE(tier->remove(numbered_key(1)));
    EXPECT_FALSE(tier->remove(numbered_key(1)));
    EXPECT_FALSE(tier->contains(numbered_key(1)));
    const Found found = tier->find(numbered_key(1));
    EXPECT_FALSE(found);
    EXPECT_EQ(found.why, Miss::absent);
    EXPECT_TRUE(holds(*tier, 2, 100));
    expect_usage(*tier, {.bytes = 100 + overhead(), .entries = 1});
    expect_exact_accounting(*tier);
}

// Also where stores are still on their way out.
TEST_P(TierConformance, what_is_removed_right_after_it_was_stored_stays_gone)
{
    const auto tier = open();
    for (std::uint64_t number = 0; number < 30; ++number)
        ASSERT_TRUE(store_in(*tier, numbered_key(number), sample_entry(numbered_key(number), 2000)).ok());
    EXPECT_TRUE(tier->remove(numbered_key(29)));
    tier->flush();
    EXPECT_FALSE(tier->contains(numbered_key(29)));
    EXPECT_TRUE(holds(*tier, 28, 2000));
}

// 39
TEST_P(TierConformance, clearing_leaves_an_empty_tier_that_works_on)
{
    HEARTH_NEEDS_LISTING();
    const auto tier = open();
    for (std::uint64_t number = 0; number < 50; ++number)
        ASSERT_TRUE(store_in(*tier, numbered_key(number), sample_entry(numbered_key(number), 100)).ok());
    tier->clear();
    tier->flush();
    expect_usage(*tier, {});
    for (std::uint64_t number = 0; number < 50; ++number)
        EXPECT_FALSE(tier->find(numbered_key(number)));
    tier->clear();
    put(*tier, 3, 10);
    EXPECT_TRUE(holds(*tier, 3, 10));
    expect_exact_accounting(*tier);
}

TEST_P(TierConformance, a_visit_sees_each_entry_once_and_can_be_ended)
{
    HEARTH_NEEDS_LISTING();
    const auto tier = open();
    std::set<Key> stored;
    const std::uint64_t entries = std::min<std::uint64_t>(500, 50'000 / effort());
    for (std::uint64_t number = 0; number < entries; ++number) {
        put(*tier, number, 10);
        stored.insert(numbered_key(number));
    }
    std::multiset<Key> seen;
    tier->for_each([&](const EntryRow& row) {
        seen.insert(row.key);
        EXPECT_EQ(row.tier, tier->name());
        return true;
    });
    EXPECT_TRUE(std::equal(seen.begin(), seen.end(), stored.begin(), stored.end()));
    int visited = 0;
    tier->for_each([&](const EntryRow&) { return ++visited < 7; });
    EXPECT_EQ(visited, 7);
    // The visitor may use the tier.
    tier->for_each([&](const EntryRow& row) { return tier->remove(row.key); });
    expect_usage(*tier, {});
}

TEST_P(TierConformance, verifying_finds_everything_intact_and_can_be_ended)
{
    HEARTH_NEEDS_LISTING();
    const auto tier = open();
    put_range(*tier, 1, 30, 100);
    const VerifyReport report = tier->verify(Repair::yes, {});
    EXPECT_EQ(report.checked, 30U);
    EXPECT_EQ(report.intact, 30U);
    EXPECT_EQ(report.corrupt + report.other_version + report.stray + report.removed, 0U);
    EXPECT_TRUE(report.accounting_exact);
    EXPECT_TRUE(report.problems.empty());
    bool is_enough = false;
    tier->verify(Repair::yes, [&](std::uint64_t done, std::uint64_t) {
        EXPECT_FALSE(is_enough) << "it goes on";
        is_enough = done >= 3;
        return !is_enough;
    });
    expect_exact_accounting(*tier);
}

TEST_P(TierConformance, a_flight_has_one_holder_and_ends_with_it)
{
    const auto tier = open();
    FlightAttempt first = tier->try_flight(numbered_key(1));
    if (first.outcome == FlightAttempt::Outcome::unsupported)
        return;  // a tier of this process alone needs none
    ASSERT_EQ(first.outcome, FlightAttempt::Outcome::held);
    EXPECT_EQ(tier->try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::busy);
    EXPECT_EQ(tier->try_flight(numbered_key(2)).outcome, FlightAttempt::Outcome::held);
    first.flight.reset();
    put(*tier, 3, 10);  // goes out behind the end of the flight, where that is sent
    EXPECT_EQ(tier->try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::held);
}

// 70
TEST_P(TierConformance, a_note_is_edited_as_one_step_and_read_back)
{
    const auto tier = open();
    EXPECT_TRUE(tier->read_note("stats").empty());
    const auto append = [](ByteView before) { return Bytes::copy_of(std::string(as_text(before)) + "x"); };
    if (!tier->update_note("stats", append))
        return;  // not every tier keeps notes
    EXPECT_TRUE(tier->update_note("stats", append));
    EXPECT_EQ(tier->read_note("stats").text(), "xx");
    EXPECT_TRUE(tier->read_note("other").empty());
    put(*tier, 1, 100);
    tier->clear();
    EXPECT_EQ(tier->read_note("stats").text(), "xx");
}

}  // namespace hearth::test
