#include "policy/gdsf_policy.hpp"

#include "hearth/bytes.hpp"
#include "policy_conformance.hpp"
#include "test_tier.hpp"

#include <cmath>
#include <limits>
#include <random>

namespace hearth::test {

using policy::GdsfPolicy;

INSTANTIATE_TEST_SUITE_P(gdsf, PolicyConformance, testing::Values(PolicyCase{"gdsf", gdsf()}));

namespace {

double density_now(const Resident& entry)
{
    return GdsfPolicy::density(entry, entry.uses());
}

// What the policy compares: the stamp plus the density rounded down to a power of two.
double rank_now(const Resident& entry)
{
    return entry.aging + std::exp2(std::floor(std::log2(density_now(entry))));
}

// The victim against a scan of everything: with half its density it would be the exact least.
void expect_least_within_a_factor_of_two(const Resident& victim, const TestTier& tier)
{
    const double bound = victim.aging + density_now(victim) / 2;
    for (const Resident* const entry : tier.entries()) {
        ASSERT_LE(bound, entry->aging + density_now(*entry))
            << "victim " << id_of(victim) << " is worth more than twice as much as " << id_of(*entry);
    }
}

// Entries of a KiB that took ten seconds each, in a tier that they fill.
TestTier full_of_dear_entries()
{
    TestTier tier(gdsf(), 1000 * 1_KiB);
    for (std::uint64_t id = 0; id < 1000; ++id)
        tier.put(id, 1_KiB, 10);
    return tier;
}

}  // namespace

TEST(GdsfPolicy, all_else_equal_the_cheaper_the_larger_and_the_less_used_goes_first)
{
    struct Put {
        std::uint64_t bytes;
        double cost;
        int hits;
    };
    const std::vector<std::vector<Put>> with_the_second_the_least{
        {{100, 60, 0}, {100, 0.03, 0}, {100, 5, 0}},
        {{100, 1, 0}, {800, 1, 0}, {50, 1, 0}},
        {{100, 1, 1}, {100, 1, 0}, {100, 1, 1}},
    };
    for (const std::vector<Put>& entries : with_the_second_the_least) {
        TestTier tier(gdsf());
        for (std::uint64_t id = 0; id < entries.size(); ++id) {
            tier.put(id, entries[id].bytes, entries[id].cost);
            for (int hit = 0; hit < entries[id].hits; ++hit)
                tier.hit(id);
        }
        tier.evict();
        EXPECT_EQ(tier.evicted(), std::vector<std::uint64_t>{1});
    }
}

TEST(GdsfPolicy, a_cost_counts_as_a_day_at_most)
{
    constexpr double k_day = 24 * 60 * 60;
    const auto density = [](double cost) { return GdsfPolicy::density(Resident(key_of(1), 1, cost), 0); };
    EXPECT_GT(density(k_day), density(k_day / 2));
    for (const double more : {k_day * 2, 9.2e9, std::numeric_limits<double>::infinity()})
        EXPECT_EQ(density(more), density(k_day)) << more;
}

TEST(GdsfPolicy, of_equal_worth_the_oldest_goes_first)
{
    TestTier tier(gdsf());
    for (std::uint64_t id = 1; id <= 5; ++id)
        tier.put(id, 100);
    while (tier.evict()) {
    }
    EXPECT_EQ(tier.evicted(), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
}

TEST(GdsfPolicy, what_is_worth_less_than_those_that_would_go_is_not_admitted)
{
    TestTier tier = full_of_dear_entries();
    const Resident cheap(key_of(5000), 1_MiB, 1e-6);
    EXPECT_FALSE(tier.policy().outweighs(cheap, 1_MiB, 0));
    EXPECT_FALSE(tier.policy().outweighs(cheap, 0, 1)) << "nor does one of them go for the number's sake";
    // One that is worth nothing does not open the door for all others behind it.
    tier.erase(0);
    tier.put(5001, 100, 1e-6);
    EXPECT_FALSE(tier.policy().outweighs(cheap, 1_MiB, 0));
    EXPECT_TRUE(tier.policy().outweighs(Resident(key_of(5002), 100, 1e-5), 100, 0)) << "that one alone goes";
}

TEST(GdsfPolicy, what_was_used_counts_as_often_as_it_was_used)
{
    TestTier tier(gdsf(), 200);
    tier.put(1, 100, 1);
    tier.put(2, 100, 1);
    for (int hit = 0; hit < 20; ++hit)
        for (const std::uint64_t id : {1, 2})
            tier.hit(id);
    EXPECT_FALSE(tier.policy().outweighs(Resident(key_of(3), 100, 4), 100, 0));
    EXPECT_TRUE(tier.policy().outweighs(Resident(key_of(4), 100, 40), 100, 0));
}

TEST(GdsfPolicy, an_entry_like_those_that_are_here_is_admitted_at_once)
{
    TestTier tier = full_of_dear_entries();
    for (std::uint64_t id = 5000; id < 8000; ++id) {
        const std::uint64_t bytes = 600 + id % 700;  // of the same worth a byte, but of any size
        const double cost = 10.0 * static_cast<double>(bytes) / 1024;
        ASSERT_TRUE(tier.policy().outweighs(Resident(key_of(id), bytes, cost), bytes, 0)) << id;
        tier.put(id, bytes, cost);
    }
}

TEST(GdsfPolicy, refusals_cost_no_more_than_what_they_protect_and_then_the_new_come_in)
{
    TestTier tier = full_of_dear_entries();
    double lost = 0;
    const Resident newcomer(key_of(5000), 1_KiB, 0.1);
    while (!tier.policy().outweighs(newcomer, 1_KiB, 0) && lost < 1000)
        lost += newcomer.cost;
    EXPECT_GE(lost, 5) << "the density is rounded to a power of two";
    EXPECT_LE(lost, 20);
    // All have aged alike: others come in, too, and what is used again stays.
    tier.hit(1);
    tier.hit(1);
    for (std::uint64_t id = 5000; id < 5500; ++id) {
        ASSERT_TRUE(tier.policy().outweighs(Resident(key_of(id), 1_KiB, 0.1), 1_KiB, 0)) << id;
        tier.put(id, 1_KiB, 0.1);
    }
    EXPECT_TRUE(tier.holds(1));
}

TEST(GdsfPolicy, where_nobody_knows_what_an_entry_is_worth_it_is_admitted)
{
    TestTier tier = full_of_dear_entries();
    EXPECT_TRUE(tier.policy().outweighs(Resident(key_of(5000), 1_MiB, 0), 1_MiB, 0));
}

TEST(GdsfPolicy, what_is_no_longer_used_is_overtaken_in_the_end)
{
    TestTier tier(gdsf(), 1000);
    tier.put(0, 100, 1);
    for (int hit = 0; hit < 50; ++hit)
        tier.hit(0);
    std::uint64_t id = 1;
    while (tier.holds(0) && id < 10'000)
        tier.put(id++, 100, 1);
    EXPECT_FALSE(tier.holds(0));
    EXPECT_GT(id, 100U) << "but not before its fifty uses have counted for something";
}

TEST(GdsfPolicy, a_hit_takes_no_lock_and_is_seen_when_the_victim_is_chosen)
{
    const auto policy = gdsf()();
    EXPECT_EQ(policy->touches(), Policy::Touches::counted);
    Resident first(key_of(1), 100, 1);
    Resident second(key_of(2), 100, 1);
    policy->inserted(first);
    policy->inserted(second);
    EXPECT_EQ(policy->victim(), &first);
    first.bump();
    EXPECT_EQ(policy->victim(), &second);
}

TEST(GdsfPolicy, an_entry_whose_count_is_saturated_still_lives_on_while_it_is_used)
{
    TestTier tier(gdsf());
    tier.put(1, 100, 1, 0, Resident::k_max_uses);
    tier.put(2, 100, 1, 0, Resident::k_max_uses);
    tier.hit(1);
    ASSERT_EQ(tier.at(1).uses(), Resident::k_max_uses);
    ASSERT_TRUE(tier.evict());
    EXPECT_EQ(tier.evicted(), std::vector<std::uint64_t>{2});
}

TEST(GdsfPolicy, only_an_eviction_moves_the_clock)
{
    TestTier tier(gdsf());
    const double start = tier.policy().clock();
    tier.put(1, 100);
    tier.put(2, 100);
    tier.erase(1);
    EXPECT_EQ(tier.policy().clock(), start);
    tier.policy().victim();
    tier.put(3, 100);
    tier.erase(2);  // offered once, but removed for another reason later
    EXPECT_EQ(tier.policy().clock(), start);
    const double rank = rank_now(tier.at(3));
    tier.evict();
    EXPECT_EQ(tier.policy().clock(), rank);
}

TEST(GdsfPolicy, what_goes_of_those_that_were_told_as_victims_moves_the_clock_too)
{
    TestTier tier(gdsf());
    for (std::uint64_t id = 1; id <= 4; ++id)
        tier.put(id, 100, static_cast<double>(id * id));
    const double rank = rank_now(tier.at(2));
    tier.policy().for_each_victim([](const Resident& entry) { return id_of(entry) != 3; });
    tier.erase(2);
    EXPECT_EQ(tier.policy().clock(), rank);
    tier.put(5, 100);
    tier.erase(3);  // told once, but removed for another reason later
    EXPECT_EQ(tier.policy().clock(), rank);
}

TEST(GdsfPolicy, a_new_entry_is_stamped_with_the_clock_and_a_restored_one_keeps_its_stamp_even_ahead_of_the_clock)
{
    TestTier tier(gdsf());
    EXPECT_NE(tier.put(1, 100).aging, 0) << "0 would read as never stamped";
    tier.policy().set_clock(8);
    EXPECT_EQ(tier.policy().clock(), 8);
    EXPECT_EQ(tier.put(2, 100).aging, 8);
    EXPECT_EQ(tier.put(3, 100, 1, 2.5).aging, 2.5);
    EXPECT_EQ(tier.policy().clock(), 8);
    EXPECT_EQ(tier.put(4, 100, 1, 40).aging, 40);
    EXPECT_EQ(tier.policy().clock(), 40);
    EXPECT_EQ(tier.put(5, 100).aging, 40);
}

TEST(GdsfPolicy, an_impossible_stamp_or_clock_is_not_believed)
{
    TestTier tier(gdsf());
    tier.policy().set_clock(8);
    std::uint64_t id = 0;
    for (const double odd : {-1.0, 1e300, std::nan(""), std::numeric_limits<double>::infinity()}) {
        tier.policy().set_clock(odd);
        EXPECT_EQ(tier.policy().clock(), 8);
        EXPECT_EQ(tier.put(++id, 100, 1, odd).aging, 8);
    }
}

TEST(GdsfPolicy, a_hundred_thousand_restored_entries_leave_in_the_order_of_their_worth)
{
    const std::uint64_t seed = 21;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    TestTier tier(gdsf());
    tier.policy().set_clock(1000);
    for (std::uint64_t id = 0; id < 100'000; ++id) {
        const double aging = 1 + static_cast<double>(random() % 999'000) / 1000;
        tier.put(id, 1 + random() % 1000, static_cast<double>(random() % 100'000), aging,
                 static_cast<std::uint32_t>(random() % 100));
    }
    double last = 0;
    while (const Resident* const victim = tier.policy().victim()) {
        ASSERT_GE(rank_now(*victim), last);
        last = rank_now(*victim);
        tier.evict();
    }
    EXPECT_EQ(tier.evicted().size(), 100'000U);
}

TEST(GdsfPolicy, the_rank_survives_a_change_to_lru_and_back)
{
    TestTier tier(gdsf(), 1000);
    for (std::uint64_t id = 0; id < 500; ++id)
        tier.put(id, 100, 1.0 + static_cast<double>(id % 3));
    tier.set_policy(lru());
    tier.set_policy(gdsf());
    tier.erase(id_of(*tier.entries().front()));
    const Resident& newcomer = tier.put(1000, 100, 1);
    for (const Resident* const entry : tier.entries())
        EXPECT_GE(newcomer.aging, entry->aging) << "a newcomer is never older than what was there before";
}

TEST(GdsfPolicy, the_victim_is_the_least_within_a_factor_of_two_over_random_operations)
{
    const std::uint64_t seed = 22;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    TestTier tier(gdsf(), 60'000'000);
    std::uint64_t evictions = 0;
    for (int step = 0; step < 200'000; ++step) {
        const std::uint64_t id = random() % 400;
        const std::uint64_t action = random() % 64;
        if (!tier.holds(id)) {
            const double bytes = 1000 * std::pow(10.0, 3 * static_cast<double>(random() % 1000) / 1000);
            const double cost = 0.03 * std::pow(10.0, 3.3 * static_cast<double>(random() % 1000) / 1000);
            const bool is_restored = action < 8;
            const double aging = is_restored ? tier.policy().clock() * static_cast<double>(random() % 1000) / 1000 : 0;
            tier.put(id, static_cast<std::uint64_t>(bytes), cost, aging, static_cast<std::uint32_t>(random() % 4));
        } else if (action == 0) {
            tier.erase(id);
        } else if (action < 8) {
            const Resident* const victim = tier.policy().victim();
            ASSERT_NO_FATAL_FAILURE(expect_least_within_a_factor_of_two(*victim, tier)) << "at step " << step;
            ASSERT_LE(victim->aging, tier.policy().clock());
            tier.evict();
            ++evictions;
        } else {
            tier.hit(id);
        }
    }
    EXPECT_GT(evictions, 5000U);
}

TEST(GdsfPolicy, a_clock_set_back_does_not_disturb_the_order)
{
    TestTier tier(gdsf());
    tier.policy().set_clock(10);
    tier.put(1, 1, 1);
    tier.policy().set_clock(5);
    tier.put(2, 1, 1);
    tier.put(3, 1, 1);
    while (tier.evict()) {
    }
    EXPECT_EQ(tier.evicted(), (std::vector<std::uint64_t>{2, 3, 1}));
}

TEST(GdsfPolicy, steps_per_operation_are_flat_from_a_thousand_to_a_million_entries)
{
    for (const std::uint64_t count : {1'000U, 10'000U, 100'000U, 1'000'000U}) {
        auto owned = std::make_unique<GdsfPolicy>(PolicyOptions{});
        const GdsfPolicy& policy = *owned;
        TestTier tier(std::move(owned));
        std::mt19937_64 random(count);
        const auto put = [&](std::uint64_t id) {
            tier.put(id, 1000 + random() % 1'000'000, 0.03 + static_cast<double>(random() % 60'000) / 1000);
        };
        for (std::uint64_t id = 0; id < count; ++id)
            put(id);
        const std::uint64_t rounds = 20'000;
        std::uint64_t hits = 0;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            for (int hit = 0; hit < 3; ++hit) {
                const std::uint64_t id = random() % count;
                if (tier.holds(id)) {
                    tier.hit(id);
                    ++hits;
                }
            }
            ASSERT_TRUE(tier.evict());
            put(count + round);
        }
        const std::uint64_t looks = rounds + policy.work().requeues;
        EXPECT_LE(policy.work().requeues, hits) << count << " entries";
        EXPECT_LE(policy.work().heads_examined, looks * 40) << count << " entries";  // classes in use, not entries
    }
}

}  // namespace hearth::test
