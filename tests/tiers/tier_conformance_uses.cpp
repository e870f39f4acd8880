#include "tier_conformance.hpp"

// How often and when entries were used, as the tier counts it.

namespace hearth::test {

using namespace std::chrono_literals;

// 20. Hits that take no lock tell the time of use as well.
TEST_P(TierConformance, frequency_recency_and_size_are_readable_under_any_policy)
{
    HEARTH_NEEDS_BUDGET();
    for (const PolicyFactory& policy : {lru(), gdsf()}) {
        const auto tier = open({}, policy);
        const WallTime start = m_clock.now();
        put(*tier, 1, 100);
        put(*tier, 2, 3000);
        EXPECT_EQ(tier->info(numbered_key(1))->uses, 0U);
        EXPECT_EQ(tier->info(numbered_key(1))->last_used, WallTime{});
        for (const std::uint64_t number : {1, 2, 1}) {
            m_clock.advance(10s);
            const std::uint32_t uses = tier->find(numbered_key(number)).uses;
            EXPECT_EQ(uses, tier->info(numbered_key(number))->uses);
        }
        const EntryRow first = *tier->info(numbered_key(1));
        const EntryRow second = *tier->info(numbered_key(2));
        EXPECT_EQ(first.uses, 2U);
        EXPECT_EQ(second.uses, 1U);
        EXPECT_EQ(first.bytes, 100U);
        EXPECT_EQ(second.bytes, 3000U);
        EXPECT_EQ(std::chrono::floor<std::chrono::seconds>(first.last_used), start + 30s);
        EXPECT_EQ(std::chrono::floor<std::chrono::seconds>(second.last_used), start + 20s);
    }
}

// 20
TEST_P(TierConformance, sixty_five_thousand_keys_keep_their_frequencies_told_alone_as_rows_tell_them)
{
    HEARTH_NEEDS_BUDGET();
    const std::uint64_t keys = 65'537 / effort();
    const auto tier = open({}, gdsf());
    put_range(*tier, 0, keys - 1, 1);
    for (std::uint64_t number = 0; number < keys; ++number)
        for (std::uint64_t use = 0; use <= number % 3; ++use)
            ASSERT_TRUE(tier->find(numbered_key(number)));
    tier->flush();
    for (std::uint64_t number = 0; number < keys; ++number)
        ASSERT_EQ(tier->info(numbered_key(number))->uses, 1 + number % 3) << "key " << number;
    std::uint64_t told = 0;
    tier->for_each_use([&](const EntryUse& use) {
        const std::optional<EntryRow> row = tier->info(use.key);
        EXPECT_TRUE(row && row->uses == use.uses && row->last_used == use.last_used);
        return ++told != 0;
    });
    EXPECT_EQ(told, keys);
    tier->set_limits({.max_bytes = 0, .max_entries = keys / 2}, Victims::discard);
    EXPECT_EQ(tier->usage().entries, keys / 2);
    EXPECT_TRUE(tier->verify(Repair::no, {}).accounting_exact);
}

TEST_P(TierConformance, touching_credits_uses_a_faster_tier_answered)
{
    HEARTH_NEEDS_BUDGET();
    const std::uint64_t each = 100 + overhead();
    const auto tier = open({.max_bytes = 2 * each});
    put(*tier, 1, 100);
    put(*tier, 2, 100);
    m_clock.advance(10s);
    tier->touch(numbered_key(1), 5);
    EXPECT_EQ(tier->info(numbered_key(1))->uses, 5U);
    EXPECT_EQ(std::chrono::floor<std::chrono::seconds>(tier->info(numbered_key(1))->last_used), m_clock.now());
    const Stored report = put(*tier, 3, 100);
    ASSERT_EQ(report.victims.size(), 1U);
    EXPECT_EQ(report.victims.front().key, numbered_key(2));
    tier->touch(numbered_key(99), 1);
    EXPECT_FALSE(tier->info(numbered_key(99)));
    expect_exact_accounting(*tier);
}

TEST_P(TierConformance, an_entry_that_comes_back_starts_from_no_uses_and_a_replaced_one_keeps_its_own)
{
    HEARTH_NEEDS_BUDGET();
    const auto tier = open();
    put(*tier, 1, 100);
    EXPECT_TRUE(holds(*tier, 1, 100));
    put(*tier, 1, 100, 1);
    EXPECT_EQ(tier->info(numbered_key(1))->uses, 1U);
    tier->remove(numbered_key(1));
    put(*tier, 1, 100);
    EXPECT_EQ(tier->info(numbered_key(1))->uses, 0U);
}

}  // namespace hearth::test
