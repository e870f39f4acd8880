// A device that has no room, fails, forgets, or goes away.

#include "support/faulty_memory.hpp"
#include "support/sample_entries.hpp"
#include "tiers/vram/vram_tier.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace hearth::test {

namespace {

using tiers::VramTier;

class VramFaults : public testing::Test {
protected:
    std::unique_ptr<VramTier> open(std::uint64_t max_bytes, device::Fallback fallback = device::Fallback::none)
    {
        VramOptions options{.max_bytes = max_bytes, .fallback = fallback};
        TierContext context{&m_clock, [this](LogLevel, std::string_view message) { m_said += message; }, lru()};
        return std::make_unique<VramTier>(options, context,
                                          [this](device::Backend, int) -> Result<std::shared_ptr<gpu::DeviceMemory>> {
                                              if (m_while_opening)
                                                  m_while_opening();
                                              if (m_absent)
                                                  return Error{Code::unavailable, "There is no such device.", {}};
                                              return {std::make_shared<FaultyMemory>(m_faults)};
                                          });
    }
    static Result<StoreReport> put(VramTier& tier, std::uint64_t number, std::size_t size)
    {
        return tier.store(numbered_key(number), sample_entry(numbered_key(number), size), Victims::keep);
    }
    static bool holds(VramTier& tier, std::uint64_t number, std::size_t size)
    {
        const Found found = tier.find(numbered_key(number));
        if (found) {
            EXPECT_EQ(found.artifact->text(), sample_bytes(numbered_key(number), size).text());
        }
        return static_cast<bool>(found);
    }

    ManualClock m_clock;
    std::shared_ptr<FaultyMemory::Faults> m_faults = std::make_shared<FaultyMemory::Faults>();
    bool m_absent = false;
    std::function<void()> m_while_opening;
    std::string m_said;
};

TEST_F(VramFaults, a_device_with_less_room_than_the_budget_evicts_and_demotes)
{
    m_faults->room = 300'000;
    const auto tier = open(10_MiB);
    std::vector<Victim> victims;
    for (std::uint64_t i = 0; i < 20; ++i) {
        Result<StoreReport> stored = put(*tier, i, 50'000);
        ASSERT_TRUE(stored.ok()) << stored.error().message;
        for (Victim& victim : stored->victims)
            victims.push_back(std::move(victim));
    }
    EXPECT_LE(m_faults->in_use, 300'000U);
    EXPECT_GE(victims.size(), 14U);
    for (const Victim& victim : victims) {
        ASSERT_TRUE(victim.entry) << "for the tier below";
        EXPECT_TRUE(is_sample_of(*victim.entry->artifact(), victim.key));
    }
    EXPECT_TRUE(holds(*tier, 19, 50'000));
}

TEST_F(VramFaults, what_is_larger_than_the_device_gives_at_once_drives_nothing_out)
{
    m_faults->max_block = 100'000;
    const auto tier = open(10_MiB);
    for (std::uint64_t i = 0; i < 5; ++i)
        ASSERT_TRUE(put(*tier, i, 90'000).ok());
    const Result<StoreReport> refused = put(*tier, 9, 100'001);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::too_large);
    EXPECT_NE(refused.error().message.find("100000"), std::string::npos) << refused.error().message;
    for (std::uint64_t i = 0; i < 5; ++i)
        EXPECT_TRUE(holds(*tier, i, 90'000)) << i;
}

TEST_F(VramFaults, limits_and_policy_that_are_set_while_a_device_is_opened_hold)
{
    const auto tier = open(10_MiB);
    m_while_opening = [&] { tier->set_limits({.max_bytes = 100'000, .max_entries = 3, .max_age = {}}, Victims::keep); };
    ASSERT_TRUE(tier->open().ok());
    EXPECT_EQ(tier->limits().max_bytes, 100'000U);
    EXPECT_EQ(tier->limits().max_entries, 3U);
    for (std::uint64_t i = 0; i < 5; ++i)
        ASSERT_TRUE(put(*tier, i, 100).ok());
    EXPECT_EQ(tier->usage().entries, 3U);
}

TEST_F(VramFaults, a_device_without_any_room_says_so_and_the_tier_goes_on)
{
    m_faults->room = 0;
    const auto tier = open(1_MiB);
    const Result<StoreReport> stored = put(*tier, 1, 1000);
    ASSERT_FALSE(stored.ok());
    EXPECT_EQ(stored.error().code, Code::no_space);
    EXPECT_EQ(tier->usage().entries, 0U);
    EXPECT_EQ(tier->usage().bytes, 0U);
    m_faults->room = UINT64_MAX;
    EXPECT_TRUE(put(*tier, 1, 1000).ok());
    EXPECT_TRUE(holds(*tier, 1, 1000));
}

TEST_F(VramFaults, what_leases_hold_is_named_when_there_is_no_place)
{
    const auto tier = open(100'000);
    ASSERT_TRUE(put(*tier, 1, 90'000).ok());
    device::Lease lease = tier->lease(numbered_key(1), {});
    const Result<StoreReport> stored = put(*tier, 2, 95'000);
    ASSERT_FALSE(stored.ok());
    EXPECT_EQ(stored.error().code, Code::no_space);
    EXPECT_NE(stored.error().message.find("lease"), std::string::npos) << stored.error().message;
    // The victim of the store that failed is not lost: it goes out with the next report.
    lease = {};
    const Result<StoreReport> next = put(*tier, 3, 10);
    ASSERT_TRUE(next.ok()) << next.error().message;
    ASSERT_EQ(next->victims.size(), 1U);
    EXPECT_EQ(next->victims[0].key, numbered_key(1));
    ASSERT_TRUE(next->victims[0].entry);
    EXPECT_TRUE(put(*tier, 2, 95'000).ok());
}

TEST_F(VramFaults, what_was_removed_does_not_come_back_as_a_victim)
{
    const auto tier = open(100'000);
    ASSERT_TRUE(put(*tier, 1, 90'000).ok());
    device::Lease lease = tier->lease(numbered_key(1), {});
    ASSERT_FALSE(put(*tier, 2, 95'000).ok());
    lease = {};
    tier->remove(numbered_key(1));
    const Result<StoreReport> next = put(*tier, 3, 10);
    ASSERT_TRUE(next.ok()) << next.error().message;
    EXPECT_TRUE(next->victims.empty());
}

TEST_F(VramFaults, every_nth_allocation_that_fails_costs_entries_never_correctness)
{
    for (const std::uint64_t every : {2U, 3U, 5U}) {
        m_faults->fail_allocation_every = every;
        const auto tier = open(3_MiB);
        std::uint64_t stored = 0;
        for (std::uint64_t i = 0; i < 60; ++i) {
            stored += put(*tier, i, 400'000).ok() ? 1 : 0;
            for (std::uint64_t j = i < 8 ? 0 : i - 8; j <= i; ++j)
                holds(*tier, j, 400'000);
            ASSERT_LE(tier->usage().bytes, 3_MiB);
            ASSERT_TRUE(tier->verify(Repair::no, {}).accounting_exact);
        }
        EXPECT_GT(stored, 10U);
    }
}

TEST_F(VramFaults, a_write_that_fails_leaves_nothing_behind)
{
    m_faults->fail_write_every = 3;
    const auto tier = open(1_MiB);
    std::uint64_t failed = 0;
    for (std::uint64_t i = 0; i < 30; ++i) {
        const bool stored = put(*tier, i, 1000).ok();
        failed += stored ? 0 : 1;
        EXPECT_EQ(holds(*tier, i, 1000), stored);
    }
    EXPECT_EQ(failed, 10U);
    EXPECT_EQ(tier->usage().entries, 20U);
    EXPECT_EQ(tier->usage().bytes, 20'000U);
    EXPECT_EQ(tier->report().partitions[0].held_bytes, 0U);
}

TEST_F(VramFaults, bytes_that_changed_on_the_device_are_a_miss_and_gone)
{
    const auto tier = open(1_MiB);
    ASSERT_TRUE(put(*tier, 1, 1000).ok());
    ASSERT_TRUE(put(*tier, 2, 1000).ok());
    m_faults->flip_reads = 1;
    const Found found = tier->find(numbered_key(1));
    EXPECT_FALSE(found);
    EXPECT_EQ(found.why, Miss::corrupt);
    EXPECT_FALSE(tier->contains(numbered_key(1)));
    m_faults->flip_reads = 1;
    const VerifyReport report = tier->verify(Repair::yes, {});
    EXPECT_EQ(report.corrupt, 1U);
    EXPECT_EQ(report.removed, 1U);
    EXPECT_FALSE(tier->contains(numbered_key(2)));
}

TEST_F(VramFaults, a_lost_device_takes_its_entries_along_and_the_tier_opens_it_again)
{
    const auto tier = open(1_MiB);
    ASSERT_TRUE(put(*tier, 1, 1000).ok());
    const device::Lease lease = tier->lease(numbered_key(1), {});
    ASSERT_TRUE(lease);
    m_faults->lost = true;
    EXPECT_TRUE(lease.lost());
    m_faults->lost = false;  // the device is back, what it held is not
    EXPECT_TRUE(lease.lost());
    EXPECT_FALSE(tier->lease(numbered_key(1), {}));
    EXPECT_FALSE(holds(*tier, 1, 1000));
    EXPECT_EQ(tier->usage().entries, 0U);
    EXPECT_NE(m_said.find("lost"), std::string::npos);
    ASSERT_TRUE(put(*tier, 2, 2000).ok());
    EXPECT_TRUE(holds(*tier, 2, 2000));
    EXPECT_FALSE(tier->lease(numbered_key(2), {}).lost());
}

TEST_F(VramFaults, a_child_forked_while_another_thread_asks_the_device_goes_on)
{
    const auto tier = open(1_MiB);
    m_faults->hold_allocations = true;
    std::thread other([&] { EXPECT_TRUE(put(*tier, 1, 1000).ok()); });
    while (m_faults->held_allocations == 0)
        std::this_thread::yield();
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        m_faults->hold_allocations = false;
        const bool stored = put(*tier, 2, 900'000).ok();
        ::_exit(stored && holds(*tier, 2, 900'000) ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    m_faults->hold_allocations = false;
    other.join();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(VramFaults, a_device_that_stays_away_is_replaced_by_the_host_or_refuses)
{
    const auto fallback = open(1_MiB, device::Fallback::host);
    const auto strict = open(1_MiB);
    ASSERT_TRUE(put(*fallback, 1, 1000).ok());
    ASSERT_TRUE(put(*strict, 1, 1000).ok());
    m_faults->lost = true;
    m_absent = true;
    EXPECT_TRUE(put(*fallback, 2, 1000).ok());
    EXPECT_TRUE(holds(*fallback, 2, 1000));
    EXPECT_EQ(fallback->report().backend, device::Backend::host);
    EXPECT_FALSE(fallback->report().fallback.empty());
    const Result<StoreReport> refused = put(*strict, 2, 1000);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::unavailable);
    EXPECT_FALSE(strict->find(numbered_key(1)));
    EXPECT_EQ(strict->usage().entries, 0U);
    EXPECT_TRUE(strict->read_many(std::vector<Key>{numbered_key(1)}).ok());
}

}  // namespace

}  // namespace hearth::test
