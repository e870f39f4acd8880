#include "tier_conformance.hpp"

#include <algorithm>
#include <set>

// Who goes when room is needed, and who hears of it.

namespace hearth::test {

using namespace std::chrono_literals;

namespace {

// A policy of a user's own, in ten lines.
class LargestFirst final : public Policy {
public:
    void inserted(const Resident& entry) override { m_by_size.insert({entry.bytes, &entry}); }
    void removed(const Resident& entry) override { m_by_size.erase({entry.bytes, &entry}); }
    const Resident* victim() override { return m_by_size.empty() ? nullptr : m_by_size.rbegin()->second; }

private:
    std::set<std::pair<std::uint64_t, const Resident*>> m_by_size;
};

// One that is no help: it names nobody, or somebody who is not there, or the one that is being replaced; and it takes
// nothing that is larger than this.
class Unhelpful final : public Policy {
public:
    explicit Unhelpful(const Resident* named, std::uint64_t most = UINT64_MAX) : m_named(named), m_most(most) {}
    void inserted(const Resident&) override {}
    void removed(const Resident&) override {}
    const Resident* victim() override { return m_named; }
    bool admit(const Resident& entry) const override { return entry.bytes <= m_most; }

private:
    const Resident* m_named;
    std::uint64_t m_most;
};

PolicyFactory largest_first()
{
    return [] { return std::make_unique<LargestFirst>(); };
}

std::vector<Key> keys_of(const std::vector<Victim>& victims)
{
    std::vector<Key> keys;
    for (const Victim& victim : victims)
        keys.push_back(victim.key);
    return keys;
}

}  // namespace

// 18
TEST_P(TierConformance, lru_by_bytes_evicts_the_oldest_only_and_what_was_touched_survives)
{
    HEARTH_NEEDS_BUDGET();
    for (const std::uint64_t touched : {1, 2}) {
        const auto tier = open({.max_bytes = 100 + 3 * overhead()});
        EXPECT_TRUE(put(*tier, 1, 5).victims.empty());
        EXPECT_TRUE(put(*tier, 2, 5).victims.empty());
        EXPECT_TRUE(holds(*tier, touched, 5));
        EXPECT_EQ(keys_of(put(*tier, 3, 91).victims), std::vector{numbered_key(3 - touched)});
        EXPECT_TRUE(holds(*tier, touched, 5));
        EXPECT_TRUE(holds(*tier, 3, 91));
        EXPECT_EQ(tier->usage().bytes, 96 + 2 * overhead());
        expect_exact_accounting(*tier);
    }
}

// 32
TEST_P(TierConformance, a_limit_on_the_number_of_entries_holds_after_each_store)
{
    HEARTH_NEEDS_BUDGET();
    const auto tier = open({.max_bytes = 0, .max_entries = 3});
    for (std::uint64_t number = 0; number < 20; ++number) {
        const Stored report = put(*tier, number, number % 2 * 10);
        EXPECT_EQ(keys_of(report.victims), number < 3 ? std::vector<Key>{} : std::vector{numbered_key(number - 3)});
        EXPECT_EQ(tier->usage().entries, std::min<std::uint64_t>(number + 1, 3));
    }
}

// 19, 24
TEST_P(TierConformance, a_policy_of_the_users_own_given_or_set_at_run_time_evicts_the_largest)
{
    HEARTH_NEEDS_BUDGET();
    for (const bool is_given : {true, false}) {
        const auto tier = open({.max_bytes = 600 + 3 * overhead()}, is_given ? largest_first() : lru());
        put(*tier, 1, 100);
        put(*tier, 2, 300);
        put(*tier, 3, 200);
        EXPECT_TRUE(holds(*tier, 2, 300));
        if (!is_given)
            tier->set_policy(largest_first());
        EXPECT_EQ(keys_of(put(*tier, 4, 150).victims), std::vector{numbered_key(2)});
        EXPECT_EQ(keys_of(put(*tier, 5, 250).victims), std::vector{numbered_key(3)});
        tier->set_policy(lru());
        EXPECT_TRUE(holds(*tier, 1, 100));
        EXPECT_EQ(keys_of(put(*tier, 6, 200).victims), std::vector{numbered_key(4)});
        expect_exact_accounting(*tier);
    }
}

// 19
TEST_P(TierConformance, under_a_policy_that_is_no_help_the_limit_holds_all_the_same)
{
    HEARTH_NEEDS_BUDGET();
    const Resident stranger(numbered_key(77), 1, 1);
    const Resident replaced(numbered_key(1), 1, 1);
    const std::uint64_t each = 100 + overhead();
    for (const Resident* const named : {static_cast<const Resident*>(nullptr), &stranger, &replaced}) {
        const auto tier = open({.max_bytes = 4 * each}, [&] { return std::make_unique<Unhelpful>(named); });
        put_range(*tier, 1, 4, 100);
        // Replacing 1 by a larger one needs room; 1 itself is no victim.
        const Stored replacing = put(*tier, 1, 250, 1);
        EXPECT_GE(replacing.victims.size(), 1U);
        for (const Victim& victim : replacing.victims)
            EXPECT_NE(victim.key, numbered_key(1));
        EXPECT_TRUE(holds(*tier, 1, 250, 1));
        for (std::uint64_t number = 5; number < 20; ++number) {
            put(*tier, number, 100);
            EXPECT_LE(tier->usage().bytes, 4 * each);
            EXPECT_TRUE(holds(*tier, number, 100));
        }
        expect_exact_accounting(*tier);
    }
}

TEST_P(TierConformance, many_dear_entries_do_not_give_way_to_a_large_cheap_one)
{
    HEARTH_NEEDS_BUDGET();
    if (!GetParam().weighs)
        GTEST_SKIP() << "It takes what it is given.";
    const std::uint64_t count = 16 + 500 / effort();
    const auto tier = open({.max_bytes = count * (1000 + overhead())}, gdsf());
    const auto worth = [](std::uint64_t number, std::size_t size, std::chrono::nanoseconds cost) {
        const std::shared_ptr<Artifact> artifact = sample_artifact(numbered_key(number), size);
        artifact->cost = cost;
        return Entry(artifact);
    };
    // The first are stored whatever they are worth: there is room.
    ASSERT_TRUE(store_in(*tier, numbered_key(0), worth(0, 10, 1us)).ok());
    for (std::uint64_t number = 1; number < count; ++number)
        ASSERT_TRUE(store_in(*tier, numbered_key(number), worth(number, 1000, 10s)).ok());
    for (const std::size_t size : {std::size_t{1100}, 1000 * count / 2}) {
        const Result<Stored> refused = store_in(*tier, numbered_key(5000), worth(5000, size, 1us));
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, Code::no_space);
        EXPECT_NE(refused.error().message.find("did not admit"), std::string::npos) << refused.error().message;
        EXPECT_EQ(tier->usage().entries, count);
    }
    // What is worth as much comes in, and what is there already may be replaced by anything.
    EXPECT_TRUE(store_in(*tier, numbered_key(6000), worth(6000, 1100, 20s)).ok());
    EXPECT_TRUE(store_in(*tier, numbered_key(6000), worth(6000, 5000, 1us)).ok());
    expect_exact_accounting(*tier);
}

TEST_P(TierConformance, what_is_refused_again_and_again_comes_in)
{
    HEARTH_NEEDS_BUDGET();
    if (!GetParam().weighs)
        GTEST_SKIP() << "It takes what it is given.";
    const auto tier = open({.max_bytes = 0, .max_entries = 10}, gdsf());
    put_range(*tier, 1, 10, 1000);
    int refused = 0;
    const std::shared_ptr<Artifact> newcomer = sample_artifact(numbered_key(100), 1000);
    newcomer->cost = 10ms;
    while (!store_in(*tier, numbered_key(100), Entry(newcomer)).ok() && refused < 100)
        ++refused;
    EXPECT_GE(refused, 5) << "those that are here took ten times as long";
    EXPECT_LE(refused, 20);
    EXPECT_TRUE(tier->contains(numbered_key(100)));
}

TEST_P(TierConformance, what_the_policy_does_not_admit_is_a_typed_error_that_disturbs_nothing)
{
    HEARTH_NEEDS_BUDGET();
    const std::uint64_t most = 500 + overhead();
    const auto tier = open({}, [&] { return std::make_unique<Unhelpful>(nullptr, most); });
    put(*tier, 1, 500);
    const Result<Stored> report = store_in(*tier, numbered_key(1), sample_entry(numbered_key(1), 501, 1));
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, Code::no_space);
    EXPECT_TRUE(holds(*tier, 1, 500));
    expect_exact_accounting(*tier);
}

// 9 of the rules: evict means demote
TEST_P(TierConformance, victims_that_are_kept_carry_their_artifact)
{
    HEARTH_NEEDS_BUDGET();
    const auto tier = open({.max_bytes = 0, .max_entries = 2});
    put(*tier, 1, 100);
    put(*tier, 2, 5000);
    const std::uint64_t bytes = tier->info(numbered_key(1))->stored_bytes;
    const Stored report = put(*tier, 3, 100, 0, Victims::keep);
    ASSERT_EQ(report.victims.size(), 1U);
    const Victim& victim = report.victims.front();
    ASSERT_TRUE(victim.entry);
    EXPECT_EQ(*victim.entry->artifact(), *sample_artifact(numbered_key(1), 100));
    EXPECT_EQ(victim.bytes, bytes);
    EXPECT_NEAR(victim.cost, 0.1, 1e-6);

    const std::vector<Victim> lowered = tier->set_limits({.max_bytes = 0, .max_entries = 1}, Victims::keep);
    ASSERT_EQ(lowered.size(), 1U);
    ASSERT_TRUE(lowered.front().entry);
    EXPECT_EQ(*lowered.front().entry->artifact(), *sample_artifact(numbered_key(2), 5000));
    // What a tier let go of, the next one takes as it is.
    const auto below = open();
    ASSERT_TRUE(store_in(*below, numbered_key(2), *lowered.front().entry).ok());
    EXPECT_TRUE(holds(*below, 2, 5000));
}

// 23
TEST_P(TierConformance, a_leased_artifact_outlives_eviction_clear_and_the_tier)
{
    auto tier = open({.max_bytes = 0, .max_entries = 3});
    put_range(*tier, 1, 3, 1000);
    Found evicted = tier->find(numbered_key(1));
    const Found replaced = tier->find(numbered_key(2));
    const Found removed = tier->find(numbered_key(3));
    put(*tier, 2, 1000, 1);
    tier->remove(numbered_key(3));
    tier->set_limits({.max_bytes = 0, .max_entries = 1}, Victims::discard);
    put(*tier, 4, 1000);
    EXPECT_EQ(tier->contains(numbered_key(1)), !GetParam().budgeted);
    const Found cleared = tier->find(numbered_key(4));
    tier->clear();
    put(*tier, 5, 1000);
    const Found last = tier->find(numbered_key(5));
    const std::shared_ptr<const Artifact> shared = last.artifact.share();
    tier.reset();
    EXPECT_EQ(*evicted.artifact, *sample_artifact(numbered_key(1), 1000));
    EXPECT_EQ(*replaced.artifact, *sample_artifact(numbered_key(2), 1000));
    EXPECT_EQ(*removed.artifact, *sample_artifact(numbered_key(3), 1000));
    EXPECT_EQ(*cleared.artifact, *sample_artifact(numbered_key(4), 1000));
    EXPECT_EQ(*last.artifact, *sample_artifact(numbered_key(5), 1000));
    const ArtifactLease moved = std::move(evicted.artifact);
    EXPECT_FALSE(evicted);
    EXPECT_EQ(*moved, *sample_artifact(numbered_key(1), 1000));
    EXPECT_EQ(*shared, *last.artifact);
}

// 24
TEST_P(TierConformance, a_lower_limit_evicts_at_once)
{
    HEARTH_NEEDS_BUDGET();
    const std::uint64_t each = 100 + overhead();
    const auto tier = open();
    put_range(*tier, 0, 9, 100);
    const Limits by_bytes{.max_bytes = 6 * each + 1};
    const std::vector<Victim> first = tier->set_limits(by_bytes, Victims::discard);
    EXPECT_EQ(first.size(), 4U);
    EXPECT_EQ(tier->limits(), by_bytes);
    EXPECT_EQ(tier->usage().bytes, 6 * each);
    const std::vector<Victim> second = tier->set_limits({.max_bytes = 0, .max_entries = 2}, Victims::discard);
    EXPECT_EQ(second.size(), 4U);
    for (const Victim& victim : second)
        EXPECT_EQ(victim.cause, EvictionCause::limit_lowered);
    EXPECT_TRUE(holds(*tier, 8, 100));
    EXPECT_TRUE(holds(*tier, 9, 100));
    EXPECT_TRUE(tier->set_limits({}, Victims::discard).empty());
    put(*tier, 20, 100'000);
    EXPECT_EQ(tier->usage().entries, 3U);
    expect_exact_accounting(*tier);
}

TEST_P(TierConformance, evicting_down_to_a_size_happens_once_and_leaves_the_limits_alone)
{
    const std::uint64_t each = 100 + overhead();
    const auto tier = open();
    const Limits limits = tier->limits();
    put_range(*tier, 0, 9, 100);
    const EvictTo goal{.max_bytes = 6 * each + 1};
    // A tier need not say beforehand what would go; one that does is right, and says so without doing it.
    const std::vector<Key> would_go = keys_of(tier->would_evict(goal));
    const std::vector<Victim> by_bytes = tier->evict_to(goal, {});
    EXPECT_TRUE(would_go.empty() || would_go == keys_of(by_bytes));
    if (!GetParam().budgeted) {
        EXPECT_TRUE(by_bytes.empty());
        EXPECT_TRUE(tier->evict_to({.max_bytes = 0, .max_entries = 0, .unused_for = 0s}, {}).empty());
        EXPECT_TRUE(holds(*tier, 0, 100)) << "it has no budget of ours";
        return;
    }
    EXPECT_EQ(by_bytes.size(), 4U);
    EXPECT_EQ(tier->usage().bytes, 6 * each);
    for (const Victim& victim : by_bytes) {
        EXPECT_EQ(victim.cause, EvictionCause::limit_lowered);
        EXPECT_EQ(victim.bytes, each);
        EXPECT_FALSE(victim.entry) << "they were asked to go";
        EXPECT_FALSE(tier->contains(victim.key));
    }
    EXPECT_EQ(tier->evict_to({.max_entries = 2}, {}).size(), 4U);
    EXPECT_EQ(tier->usage().entries, 2U);
    EXPECT_TRUE(tier->evict_to({}, {}).empty()) << "nothing is asked for";
    EXPECT_TRUE(tier->evict_to({.max_bytes = 100 * each, .max_entries = 100}, {}).empty()) << "it fits";
    EXPECT_EQ(tier->limits(), limits);
    for (std::uint64_t number = 20; number < 30; ++number)
        EXPECT_TRUE(put(*tier, number, 100).victims.empty()) << "room is there again";
    EXPECT_EQ(tier->evict_to({.max_entries = 0}, {}).size(), 12U);
    put(*tier, 40, 100);
    EXPECT_EQ(keys_of(tier->evict_to({.max_bytes = 0}, {})), std::vector{numbered_key(40)});
    EXPECT_EQ(tier->usage().bytes, 0U);
    expect_exact_accounting(*tier);
}

// 21
TEST_P(TierConformance, the_default_policy_lets_the_cheap_and_large_go_first)
{
    HEARTH_NEEDS_BUDGET();
    const auto tier = open({.max_bytes = 0, .max_entries = 3}, gdsf());
    const auto put_with_cost = [&](std::uint64_t number, std::size_t size, std::chrono::milliseconds cost) {
        const std::shared_ptr<Artifact> artifact = sample_artifact(numbered_key(number), size);
        artifact->cost = cost;
        return keys_of(store_in(*tier, numbered_key(number), Entry(artifact)).value().victims);
    };
    put_with_cost(1, 10'000, 30s);
    put_with_cost(2, 10'000, 50ms);
    put_with_cost(3, 100'000, 30s);
    EXPECT_EQ(put_with_cost(4, 10'000, 30s), std::vector{numbered_key(2)});
    EXPECT_EQ(put_with_cost(5, 10'000, 30s), std::vector{numbered_key(3)});
}

}  // namespace hearth::test
