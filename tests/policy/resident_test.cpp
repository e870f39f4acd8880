#include "test_tier.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

TEST(Resident, frequency_recency_size_and_cost_are_readable)
{
    TestTier tier(lru());
    tier.put(1, 100, 0.5);
    tier.put(2, 200, 2.5);
    for (const std::uint64_t id : {1U, 2U, 1U})
        tier.hit(id);
    EXPECT_EQ(tier.at(1).uses(), 2U);
    EXPECT_EQ(tier.at(2).uses(), 1U);
    EXPECT_GT(tier.at(1).last_used(), tier.at(2).last_used());
    EXPECT_EQ(tier.at(2).bytes, 200U);
    EXPECT_EQ(tier.at(2).cost, 2.5);
}

TEST(Resident, sixty_five_thousand_five_hundred_and_thirty_seven_keys_keep_their_frequencies)
{
    for (const PolicyFactory& policy : {gdsf(), lru()}) {
        TestTier tier(policy);
        for (std::uint64_t id = 0; id < 65'537; ++id) {
            tier.put(id, 100);
            for (std::uint64_t hit = 0; hit < id % 5; ++hit)
                tier.hit(id);
        }
        ASSERT_NE(tier.policy().victim(), nullptr);
        for (std::uint64_t id = 0; id < 65'537; ++id)
            ASSERT_EQ(tier.at(id).uses(), id % 5) << "key " << id;
    }
}

TEST(Resident, the_count_of_uses_saturates)
{
    Resident entry(key_of(1), 10, 1);
    entry.set_uses(Resident::k_max_uses - 1);
    entry.bump();
    EXPECT_EQ(entry.uses(), Resident::k_max_uses);
    entry.bump();
    EXPECT_EQ(entry.uses(), Resident::k_max_uses);
}

}  // namespace hearth::test
