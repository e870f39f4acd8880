#include "policy_conformance.hpp"

#include "test_tier.hpp"

#include <cmath>
#include <limits>
#include <list>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace hearth::test {

namespace {

// A thousand entries of many sizes and costs, a third of them used.
void fill(TestTier& tier)
{
    for (std::uint64_t id = 0; id < 1000; ++id)
        tier.put(id, 1 + id * 7919 % 1000, static_cast<double>(id * 104729 % 997));
    for (std::uint64_t id = 0; id < 1000; id += 3)
        tier.hit(id);
}

}  // namespace

TEST_P(PolicyConformance, an_empty_policy_names_no_victim)
{
    TestTier tier(make());
    EXPECT_EQ(tier.policy().victim(), nullptr);
    tier.put(1, 10);
    tier.erase(1);
    EXPECT_EQ(tier.policy().victim(), nullptr);
}

TEST_P(PolicyConformance, the_victim_is_the_same_until_something_changes)
{
    TestTier tier(make());
    fill(tier);
    const Resident* const first = tier.policy().victim();
    ASSERT_NE(first, nullptr);
    for (int again = 0; again < 5; ++again)
        EXPECT_EQ(tier.policy().victim(), first);
}

TEST_P(PolicyConformance, evicting_all_names_each_entry_once)
{
    TestTier tier(make());
    fill(tier);
    while (tier.evict()) {
    }
    EXPECT_EQ(std::set<std::uint64_t>(tier.evicted().begin(), tier.evicted().end()).size(), 1000U);
    EXPECT_EQ(tier.evicted().size(), 1000U);
    EXPECT_EQ(tier.used(), 0U);
}

TEST_P(PolicyConformance, a_policy_that_tells_its_victims_tells_each_once_and_the_next_first)
{
    TestTier tier(make());
    fill(tier);
    for (std::uint64_t id = 2; id < 1000; id += 50)
        tier.put(1000 + id, 1 + id, static_cast<double>(id), 0x1p-40);
    std::vector<std::uint64_t> told;
    const auto tell = [&](const Resident& entry) {
        told.push_back(id_of(entry));
        return true;
    };
    if (!tier.policy().for_each_victim(tell))
        return;  // it need not
    EXPECT_EQ(std::set<std::uint64_t>(told.begin(), told.end()).size(), tier.size());
    EXPECT_EQ(told.size(), tier.size());
    const double clock = tier.policy().clock();
    EXPECT_EQ(id_of(*tier.policy().victim()), told.front());
    tier.erase(told.back());
    EXPECT_EQ(tier.policy().clock(), clock) << "nothing was evicted";
    told.clear();
    tier.policy().for_each_victim([&](const Resident& entry) { return tell(entry), told.size() < 5; });
    EXPECT_EQ(told.size(), 5U) << "no more than are asked for";
    while (tier.evict()) {
    }
    EXPECT_EQ(tier.used(), 0U);
}

TEST_P(PolicyConformance, what_was_removed_can_come_back)
{
    const std::unique_ptr<Policy> policy = make()();
    Resident entry(key_of(1), 10, 1);
    for (int round = 0; round < 3; ++round) {
        policy->inserted(entry);
        EXPECT_EQ(policy->victim(), &entry);
        policy->removed(entry);
        EXPECT_EQ(policy->victim(), nullptr);
    }
}

TEST_P(PolicyConformance, entries_without_bytes_or_with_odd_costs_are_evicted_like_any_other)
{
    const double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    TestTier tier(make());
    std::uint64_t id = 0;
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 62}) {
        for (const double cost : {0.0, -1.0, 1e-300, 1.0, 1e300, infinity, -infinity, nan}) {
            ++id;
            tier.put(id, bytes, cost, 0, id % 2 == 0 ? Resident::k_max_uses : 0);
            tier.hit(id);
        }
    }
    while (tier.evict()) {
    }
    EXPECT_EQ(tier.size(), 0U);
}

TEST_P(PolicyConformance, entries_of_an_earlier_run_are_taken_with_any_stamp)
{
    TestTier tier(make());
    tier.policy().set_clock(5);
    std::uint64_t id = 0;
    for (const double aging : {3.0, 1.0, 5.0, 0.0, 7.0, -1.0, 1e300, std::nan("")})
        tier.put(++id, 10, 1, aging, 2);
    EXPECT_TRUE(std::isfinite(tier.policy().clock()));
    while (tier.evict()) {
    }
    EXPECT_EQ(tier.evicted().size(), id);
}

// What it reads of them at its end a sanitizer sees.
TEST_P(PolicyConformance, a_policy_may_outlive_its_entries)
{
    const std::unique_ptr<Policy> policy = make()();
    std::list<Resident> entries;
    for (std::uint64_t id = 0; id < 10; ++id)
        policy->inserted(entries.emplace_back(key_of(id), 10, 1.0));
    entries.clear();
}

TEST_P(PolicyConformance, promotion_happens_at_the_third_use_by_default)
{
    const std::unique_ptr<Policy> policy = make()();
    Resident entry(key_of(1), 10, 1);
    policy->inserted(entry);
    EXPECT_TRUE(policy->admit(entry));
    for (const bool expected : {false, false, true, true}) {
        entry.bump();
        EXPECT_EQ(policy->promote(entry), expected) << "after " << entry.uses() << " uses";
    }
}

TEST(Policies, their_promotion_threshold_is_an_option)
{
    Resident entry(key_of(1), 10, 1);
    entry.set_uses(4);
    const auto promoted = [&] {
        return gdsf({.promote_after = 5})()->promote(entry) + lru({.promote_after = 5})()->promote(entry);
    };
    EXPECT_EQ(promoted(), 0);
    entry.bump();
    EXPECT_EQ(promoted(), 2);
}

TEST_P(PolicyConformance, a_policy_set_at_run_time_takes_over_what_is_there)
{
    for (const PolicyFactory& before : {gdsf(), lru()}) {
        TestTier tier(before, 1000);
        for (std::uint64_t id = 0; id < 200; ++id) {
            tier.put(id, 20, 1.0 + static_cast<double>(id % 7));
            if (id % 3 == 0)
                tier.hit(id);
        }
        const std::size_t held = tier.size();
        const std::size_t evicted_before = tier.evicted().size();
        tier.set_policy(make());
        while (tier.evict()) {
        }
        EXPECT_EQ(tier.evicted().size() - evicted_before, held);
    }
}

TEST_P(PolicyConformance, a_hundred_thousand_random_operations_name_only_what_is_there)
{
    const std::uint64_t seed = 14;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const std::uint64_t budget = 100'000;
    TestTier tier(make(), budget);
    for (int step = 0; step < 100'000; ++step) {
        const std::uint64_t id = random() % 2000;
        if (!tier.holds(id))
            tier.put(id, 1 + random() % 1000, static_cast<double>(random() % 1000) / 100);
        else if (random() % 8 == 0)
            tier.erase(id);
        else
            tier.hit(id);
        ASSERT_LE(tier.used(), budget);
        const Resident* const victim = tier.policy().victim();
        ASSERT_EQ(victim == nullptr, tier.size() == 0);
        if (victim) {
            ASSERT_TRUE(tier.holds(id_of(*victim)));
            ASSERT_EQ(&tier.at(id_of(*victim)), victim);
        }
    }
}

// Were any operation linear in the number of entries, this would take some 10^11 steps and not end in time.
TEST_P(PolicyConformance, operations_take_constant_time_with_a_quarter_million_entries)
{
    const std::uint64_t count = 1 << 18;
    TestTier tier(make());
    for (std::uint64_t id = 0; id < count; ++id)
        tier.put(id, 1 + id * 7919 % 100'003, static_cast<double>(1 + id % 1009));
    for (std::uint64_t step = 0; step < 2 * count; ++step)
        tier.hit(step * 104'729 % count);
    for (std::uint64_t id = count; id < 2 * count; ++id) {
        ASSERT_TRUE(tier.evict());
        tier.put(id, 1 + id * 7919 % 100'003, static_cast<double>(1 + id % 1009));
    }
    EXPECT_EQ(tier.size(), count);
}

TEST_P(PolicyConformance, hits_and_questions_go_on_in_other_threads_while_victims_are_named)
{
    const std::unique_ptr<Policy> policy = make()();
    std::vector<std::unique_ptr<Resident>> entries;
    for (std::uint64_t id = 0; id < 64; ++id) {
        entries.push_back(std::make_unique<Resident>(key_of(id), 1 + id, 1.0));
        policy->inserted(*entries.back());
    }
    {
        std::vector<std::jthread> threads;
        for (unsigned seed = 0; seed < 3; ++seed) {
            threads.emplace_back([&, seed] {
                std::mt19937 random(seed);
                std::uint64_t promoted = 0;
                for (std::uint64_t step = 0; step < 20'000; ++step) {
                    Resident& entry = *entries[random() % entries.size()];
                    entry.bump();
                    entry.set_last_used(step / 256);
                    promoted += policy->promote(entry) && policy->admit(entry) ? 1 : 0;
                }
                EXPECT_GT(promoted, 0U);
            });
        }
        for (int step = 0; step < 2000; ++step) {
            const Resident* const victim = policy->victim();
            ASSERT_NE(victim, nullptr);
            if (step % 4 == 0) {
                policy->removed(*victim);
                policy->inserted(*victim);
            }
        }
    }
    EXPECT_NE(policy->victim(), nullptr);
}

}  // namespace hearth::test
