#include "tier_conformance.hpp"

#include <algorithm>
#include <iterator>
#include <stop_token>

// What the passing of time does to entries, by a clock the test sets.

namespace hearth::test {

using namespace std::chrono_literals;

// 32
TEST_P(TierConformance, an_entry_past_its_time_is_an_expired_miss_and_gone)
{
    const auto tier = open();
    const Key key = numbered_key(1);
    const std::shared_ptr<Artifact> artifact = sample_artifact(key, 100);
    artifact->expires = m_clock.now() + 60s;
    ASSERT_TRUE(store_and_send(*tier, key, Entry(artifact), Victims::discard).ok());
    put(*tier, 2, 100);
    m_clock.advance(59s);
    EXPECT_TRUE(tier->find(key));
    m_clock.advance(1s);
    const Found found = tier->find(key);
    EXPECT_FALSE(found);
    EXPECT_EQ(found.why, Miss::expired);
    // One machine's clock does not decide what others find: on a server it stays until it is replaced.
    const Found again = tier->find(key);
    EXPECT_FALSE(again);
    EXPECT_EQ(again.why, tier->traits().remote ? Miss::expired : Miss::absent);
    expect_usage(*tier, {.bytes = 100 + overhead(), .entries = 1});
    EXPECT_TRUE(holds(*tier, 2, 100));
    const VerifyReport report = tier->verify(Repair::yes, {});
    EXPECT_EQ(report.intact, report.checked);
    EXPECT_EQ(report.removed, 0U);
    put(*tier, 1, 100, 1);
    EXPECT_TRUE(holds(*tier, 1, 100, 1));
    expect_exact_accounting(*tier);
}

// 24, 32
TEST_P(TierConformance, a_lower_limit_on_age_takes_effect_at_once_and_later_makes_old_entries_misses)
{
    HEARTH_NEEDS_BUDGET();
    const auto tier = open();
    put(*tier, 1, 100);
    m_clock.advance(100s);
    const Key key = numbered_key(2);
    const std::shared_ptr<Artifact> young = sample_artifact(key, 100);
    young->created = m_clock.now();
    ASSERT_TRUE(store_in(*tier, key, Entry(young)).ok());
    const Limits lower{.max_bytes = 0, .max_entries = 0, .max_age = 60s};
    const std::vector<Victim> gone = tier->set_limits(lower, Victims::discard);
    ASSERT_EQ(gone.size(), 1U);
    EXPECT_EQ(gone.front().key, numbered_key(1));
    EXPECT_EQ(tier->limits(), lower);
    EXPECT_EQ(tier->usage().entries, 1U);
    // Longer than a clock can count: no limit, and no overflow.
    tier->set_limits({.max_bytes = 0, .max_entries = 0, .max_age = std::chrono::seconds::max()}, Victims::discard);
    EXPECT_TRUE(tier->find(key));
    tier->set_limits(lower, Victims::discard);
    m_clock.advance(59s);
    EXPECT_TRUE(tier->find(key));
    m_clock.advance(1s);
    EXPECT_EQ(tier->find(key).why, Miss::expired);
    EXPECT_EQ(tier->usage().entries, 0U);
}

// 32
TEST_P(TierConformance, maintenance_evicts_what_has_expired_and_reports_it_though_it_was_stopped_before)
{
    HEARTH_NEEDS_BUDGET();
    const auto tier = open();
    for (std::uint64_t number = 0; number < 20; ++number) {
        const Key key = numbered_key(number);
        const std::shared_ptr<Artifact> artifact = sample_artifact(key, 100);
        if (number % 2 == 0)
            artifact->expires = m_clock.now() + 60s;
        ASSERT_TRUE(store_in(*tier, key, Entry(artifact)).ok());
    }
    EXPECT_TRUE(tier->maintain({}).empty());
    m_clock.advance(2min);
    std::stop_source stop;
    stop.request_stop();
    std::vector<Victim> gone = tier->maintain(stop.get_token());
    std::ranges::move(tier->maintain({}), std::back_inserter(gone));
    EXPECT_EQ(gone.size(), 10U);
    for (const Victim& victim : gone)
        EXPECT_EQ(victim.cause, EvictionCause::age);
    EXPECT_EQ(tier->usage().entries, 10U);
    EXPECT_TRUE(holds(*tier, 1, 100));
    expect_exact_accounting(*tier);
}

// 20, 33: whatever the policy; under one that ranks by more than time a use may change nothing else.
TEST_P(TierConformance, what_has_been_idle_for_long_can_be_removed)
{
    HEARTH_NEEDS_BUDGET();
    for (const PolicyFactory& policy : {lru(), gdsf()}) {
        const auto tier = open({}, policy);
        put(*tier, 1, 100);
        put(*tier, 2, 100);
        m_clock.advance(1h);
        EXPECT_TRUE(holds(*tier, 1, 100));
        const std::vector<Victim> gone = tier->evict_to({.unused_for = 30min}, {});
        ASSERT_EQ(gone.size(), 1U);
        EXPECT_EQ(gone.front().key, numbered_key(2));
        EXPECT_EQ(gone.front().cause, EvictionCause::age);
        EXPECT_TRUE(holds(*tier, 1, 100));
        EXPECT_FALSE(tier->find(numbered_key(2)));
        EXPECT_TRUE(tier->evict_to({.unused_for = 30min}, {}).empty());
        expect_exact_accounting(*tier);
    }
}

TEST_P(TierConformance, a_clock_that_jumps_back_loses_nothing_and_keeps_the_order_of_use)
{
    const std::uint64_t each = 100 + overhead();
    const auto tier = open({.max_bytes = 3 * each, .max_entries = 0, .max_age = 48h});
    put(*tier, 1, 100);
    put(*tier, 2, 100);
    m_clock.advance(-24h);
    put(*tier, 3, 100);
    EXPECT_TRUE(holds(*tier, 1, 100));
    m_clock.set(WallTime{});
    EXPECT_TRUE(holds(*tier, 2, 100));
    tier->maintain({});
    if (!GetParam().budgeted) {
        EXPECT_TRUE(holds(*tier, 3, 100));
        return;
    }
    // In order of use: 3, 1, 2.
    for (const std::uint64_t expected : {3, 1, 2}) {
        const Stored report = put(*tier, 10 + expected, 100);
        ASSERT_EQ(report.victims.size(), 1U);
        EXPECT_EQ(report.victims.front().key, numbered_key(expected));
    }
    EXPECT_EQ(tier->usage().entries, 3U);
    expect_exact_accounting(*tier);
}

}  // namespace hearth::test
