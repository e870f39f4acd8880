#include "tiers/memory/memory_tier.hpp"

#include "support/tier_fixture.hpp"

#include <atomic>
#include <malloc.h>
#include <stop_token>
#include <thread>

// What is special about memory; what every tier promises is in tier_conformance.cpp.

namespace hearth::tiers {

namespace {

using test::numbered_key;
using test::sample_entry;
using test::store_in;
using test::Stored;

class MemoryTierTest : public test::TierFixture {
protected:
    MemoryTier& open(const MemoryOptions& options = {}, const PolicyFactory& policy = gdsf())
    {
        m_tier = std::make_unique<MemoryTier>(options, TierContext{&m_clock, {}, policy});
        return *m_tier;
    }

    std::unique_ptr<MemoryTier> m_tier;
};

class CountingClock final : public Clock {
public:
    WallTime now() const override
    {
        ++m_asked;
        return test::ManualClock::k_start;
    }
    mutable std::atomic<std::uint64_t> m_asked{0};
};

}  // namespace

TEST_F(MemoryTierTest, the_factory_takes_name_and_capacity)
{
    const TierSpec spec = memory(MemoryOptions{.name = "fast", .max_bytes = 1000, .max_entries = 7});
    EXPECT_EQ(spec.name, "fast");
    const std::unique_ptr<Tier> tier = spec.open({&m_clock, {}, gdsf()}).value();
    EXPECT_EQ(tier->name(), "fast");
    EXPECT_EQ(tier->limits(), (Limits{.max_bytes = 1000, .max_entries = 7}));
    EXPECT_FALSE(tier->traits().persistent);
    EXPECT_EQ(memory(64_MiB).open({&m_clock, {}, gdsf()}).value()->limits().max_bytes, 64_MiB);
}

// What is small is counted as people think: bytes of sections, no more.
TEST_F(MemoryTierTest, an_entry_takes_the_bytes_of_its_sections)
{
    MemoryTier& tier = open({.max_bytes = 100});
    for (const std::uint64_t number : {1, 2})
        EXPECT_EQ(put(tier, number, 5).bytes, 5U);
    EXPECT_EQ(put(tier, 3, 91).victims.size(), 1U);
    EXPECT_EQ(tier.usage().bytes, 96U);
    const Result<Stored> report = store_in(tier, numbered_key(4), sample_entry(numbered_key(4), 101));
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().message, "Entry of 101 bytes is larger than tier \"memory\" can hold (100). Raise its "
                                      "capacity or lower the entry's size.");
}

// Counted by the allocator itself. (Under a sanitizer it has nothing to say, and the case shows nothing.)
TEST_F(MemoryTierTest, the_budget_holds_for_what_small_entries_really_take)
{
    constexpr std::uint64_t k_budget = 16_MiB;
    const std::size_t before = ::mallinfo2().uordblks;
    MemoryTier& tier = open({.max_bytes = k_budget});
    for (std::uint64_t number = 0; number < 60'000; ++number) {
        const auto artifact = std::make_shared<Artifact>(Bytes::copy_of("x"));
        artifact->cost = std::chrono::milliseconds(100);
        ASSERT_TRUE(store_in(tier, numbered_key(number), Entry(artifact)).ok());
    }
    base::reclaim();
    EXPECT_LT(tier.usage().entries, 60'000U);
    EXPECT_GT(tier.usage().entries, 15'000U);
    EXPECT_LE(tier.usage().bytes, k_budget);
    EXPECT_LE(::mallinfo2().uordblks - before, k_budget + k_budget / 4 + 1_MiB);
    EXPECT_TRUE(tier.verify(Repair::no, {}).accounting_exact);
    tier.clear();
    EXPECT_EQ(tier.usage().bytes, 0U);
}

TEST_F(MemoryTierTest, a_small_part_of_a_large_buffer_does_not_keep_the_buffer_and_a_whole_is_found_as_it_was_stored)
{
    MemoryTier& tier = open();
    const Bytes large = test::sample_bytes(numbered_key(1), 1_MiB);
    const auto part = std::make_shared<Artifact>(large.slice(100, 1000));
    part->request = large.slice(5000, 1000);
    ASSERT_TRUE(store_in(tier, numbered_key(1), Entry(part)).ok());
    const Found found = tier.find(numbered_key(1));
    EXPECT_EQ(*found.artifact, *part);
    EXPECT_NE(found.artifact->sections[0].data.buffer(), large.buffer());
    EXPECT_EQ(found.artifact->sections[0].data.buffer_size(), 1000U);
    EXPECT_NE(found.artifact->request.buffer(), large.buffer());

    // Parts that are the whole together are not copied.
    const auto parts = std::make_shared<Artifact>(large.slice(0, 300'000));
    parts->sections.push_back({"rest", large.slice(300'000, large.size() - 300'000)});
    ASSERT_TRUE(store_in(tier, numbered_key(2), Entry(parts)).ok());
    const Found whole = tier.find(numbered_key(2));
    EXPECT_EQ(whole.artifact.get(), parts.get());
    EXPECT_EQ(whole.artifact.share(), parts);
}

TEST_F(MemoryTierTest, uses_saturate_instead_of_starting_again)
{
    MemoryTier& tier = open();
    put(tier, 1, 10);
    tier.touch(numbered_key(1), Resident::k_max_uses - 1);
    EXPECT_EQ(tier.find(numbered_key(1)).uses, Resident::k_max_uses);
    EXPECT_EQ(tier.find(numbered_key(1)).uses, Resident::k_max_uses);
    tier.touch(numbered_key(1), UINT32_MAX);
    EXPECT_EQ(tier.info(numbered_key(1))->uses, Resident::k_max_uses);
}

// The artifact is let go of when its last holder does so, and not before; he may be another thread, and have it longer
// than there is a tier.
TEST_F(MemoryTierTest, an_artifact_is_freed_with_its_last_lease)
{
    for (const bool outlives_tier : {false, true}) {
        MemoryTier& tier = open();
        std::shared_ptr<const Artifact> artifact = test::sample_artifact(numbered_key(1), 100);
        const std::weak_ptr<const Artifact> watched = artifact;
        ASSERT_TRUE(store_in(tier, numbered_key(1), Entry(std::move(artifact))).ok());
        Found found = tier.find(numbered_key(1));
        if (outlives_tier)
            m_tier.reset();
        else
            tier.clear();
        EXPECT_FALSE(watched.expired());
        std::jthread([lease = std::move(found.artifact)] {
            EXPECT_EQ(lease->text(), test::sample_bytes(numbered_key(1), 100).text());
        });
        base::reclaim();
        EXPECT_TRUE(watched.expired()) << "outlives the tier: " << outlives_tier;
    }
}

TEST_F(MemoryTierTest, thousands_of_leases_can_be_held_at_once)
{
    MemoryTier& tier = open();
    std::vector<Found> leases;
    for (std::uint64_t number = 0; number < 2000; ++number) {
        put(tier, number, 64);
        leases.push_back(tier.find(numbered_key(number)));
    }
    tier.clear();
    for (std::uint64_t number = 0; number < leases.size(); ++number)
        ASSERT_TRUE(test::is_sample_of(*leases[number].artifact, numbered_key(number)));
}

// Each part has the lock and a time of its own. All in one, a million entries kept everybody out for a second.
TEST_F(MemoryTierTest, maintenance_looks_at_a_few_thousand_entries_at_a_time)
{
    constexpr std::uint64_t k_entries = 50'000;
    const CountingClock clock;
    MemoryTier tier({.max_bytes = 0}, TierContext{&clock, {}, gdsf()});
    for (std::uint64_t number = 0; number < k_entries; ++number)
        ASSERT_TRUE(store_in(tier, numbered_key(number), Entry(std::make_shared<Artifact>("x"))).ok());
    const std::uint64_t before = clock.m_asked;
    EXPECT_TRUE(tier.maintain({}).empty());
    EXPECT_GE(clock.m_asked - before, k_entries / 5000);
    EXPECT_LE(clock.m_asked - before, k_entries / 100);

    std::stop_source stop;
    stop.request_stop();
    const std::uint64_t asked = clock.m_asked;
    tier.maintain(stop.get_token());
    EXPECT_LE(clock.m_asked - asked, 2U) << "told to stop, it leaves the rest";
}

}  // namespace hearth::tiers
