#include "policy/lru_policy.hpp"

#include "policy_conformance.hpp"
#include "test_tier.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace hearth::test {

INSTANTIATE_TEST_SUITE_P(lru, PolicyConformance, testing::Values(PolicyCase{"lru", lru()}));

TEST(LruPolicy, entries_of_an_earlier_run_go_in_the_order_they_are_given)
{
    TestTier tier(lru());
    for (const std::uint64_t id : {4U, 2U, 9U, 1U})
        tier.put(id, 10, 1, static_cast<double>(10 - id), static_cast<std::uint32_t>(id));
    while (tier.evict()) {
    }
    EXPECT_EQ(tier.evicted(), (std::vector<std::uint64_t>{4, 2, 9, 1}));
}

TEST(LruPolicy, entries_it_was_never_given_are_ignored)
{
    policy::LruPolicy policy({});
    Resident known(key_of(1), 10, 1);
    Resident unknown(key_of(2), 10, 1);
    policy.inserted(known);
    policy.touched(unknown);
    policy.removed(unknown);
    EXPECT_EQ(policy.victim(), &known);
}

TEST(LruPolicy, matches_a_plain_list_over_two_hundred_thousand_random_operations)
{
    const std::uint64_t seed = 18;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    TestTier tier(lru());
    std::vector<std::uint64_t> model;  // longest unused first
    for (int step = 0; step < 200'000; ++step) {
        const std::uint64_t id = random() % 300;
        const auto place = std::find(model.begin(), model.end(), id);
        switch (random() % 4) {
        case 0:
            if (place == model.end()) {
                tier.put(id, 1);
                model.push_back(id);
            }
            break;
        case 1:
            if (place != model.end() && random() % 2 == 0) {
                tier.erase(id);
                model.erase(place);
            } else if (!model.empty()) {
                ASSERT_TRUE(tier.evict());
                ASSERT_EQ(tier.evicted().back(), model.front());
                model.erase(model.begin());
            }
            break;
        default:
            if (place != model.end()) {
                tier.hit(id);
                std::rotate(place, place + 1, model.end());
            }
        }
        const Resident* const victim = tier.policy().victim();
        ASSERT_EQ(victim == nullptr, model.empty());
        if (victim) {
            ASSERT_EQ(id_of(*victim), model.front()) << "at step " << step;
        }
    }
}

}  // namespace hearth::test
