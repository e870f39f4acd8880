#include "policy_conformance.hpp"
#include "test_tier.hpp"

#include <set>

namespace hearth::test {

namespace {

class EvictLargest : public Policy {
public:
    void inserted(const Resident& entry) override { m_by_size.emplace(entry.bytes, &entry); }
    void removed(const Resident& entry) override { m_by_size.erase({entry.bytes, &entry}); }
    const Resident* victim() override { return m_by_size.empty() ? nullptr : m_by_size.rbegin()->second; }

private:
    std::set<std::pair<std::uint64_t, const Resident*>> m_by_size;
};

std::unique_ptr<Policy> make_evict_largest()
{
    return std::make_unique<EvictLargest>();
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(user, PolicyConformance, testing::Values(PolicyCase{"evict_largest", make_evict_largest}));

TEST(UserPolicy, a_policy_that_evicts_the_largest_does)
{
    TestTier tier(make_evict_largest, 100);
    tier.put(1, 20);
    tier.put(2, 50);
    tier.put(3, 30);
    tier.hit(2);
    tier.put(4, 40);
    EXPECT_EQ(tier.evicted(), std::vector<std::uint64_t>{2});
    tier.put(5, 60);
    EXPECT_EQ(tier.evicted(), (std::vector<std::uint64_t>{2, 4, 3}));
    EXPECT_EQ(tier.used(), 80U);
}

TEST(UserPolicy, a_policy_may_refuse_and_promote_as_it_likes)
{
    class Choosy : public EvictLargest {
    public:
        bool admit(const Resident& entry) const override { return entry.cost > 0.1; }
        bool promote(const Resident& entry) const override { return entry.bytes < 10; }
    };
    const Choosy policy;
    EXPECT_FALSE(policy.admit(Resident(key_of(1), 5, 0.05)));
    EXPECT_TRUE(policy.admit(Resident(key_of(2), 50, 5)));
    EXPECT_TRUE(policy.promote(Resident(key_of(1), 5, 0.05)));
    EXPECT_FALSE(policy.promote(Resident(key_of(2), 50, 5)));
}

}  // namespace hearth::test
