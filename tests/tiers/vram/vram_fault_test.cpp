// A device that has no room, fails, forgets, or goes away.

#include "support/eventually.hpp"
#include "support/faulty_memory.hpp"
#include "support/forks.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"
#include "support/tier_fixture.hpp"
#include "tiers/vram/vram_tier.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <thread>
#include <unistd.h>

namespace hearth::test {

namespace {

using tiers::VramTier;

class VramFaults : public TierFixture {
protected:
    std::unique_ptr<VramTier> open(std::uint64_t max_bytes, device::Fallback fallback = device::Fallback::none)
    {
        return open(VramOptions{.max_bytes = max_bytes, .fallback = fallback});
    }
    std::unique_ptr<VramTier> open(const VramOptions& options)
    {
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
    static Result<Stored> put(VramTier& tier, std::uint64_t number, std::size_t size)
    {
        return store_in(tier, numbered_key(number), sample_entry(numbered_key(number), size), Victims::keep);
    }
    static bool put_on(VramTier& tier, int device, std::uint64_t number, std::size_t size)
    {
        return store_at(tier, numbered_key(number), sample_entry(numbered_key(number), size), {.device = device});
    }
    // Keys 0, 1, ... of one size.
    static void fill(VramTier& tier, std::uint64_t count, std::size_t size)
    {
        for (std::uint64_t i = 0; i < count; ++i)
            ASSERT_TRUE(put(tier, i, size).ok()) << i;
    }
    static bool holds_all(VramTier& tier, std::uint64_t count, std::size_t size)
    {
        std::uint64_t held = 0;
        for (std::uint64_t i = 0; i < count; ++i)
            held += holds(tier, i, size) ? 1 : 0;
        return held == count;
    }

    std::shared_ptr<FaultyMemory::Faults> m_faults = std::make_shared<FaultyMemory::Faults>();
    bool m_absent = false;
    std::function<void()> m_while_opening;
    std::string m_said;
};

TEST_F(VramFaults, what_is_larger_than_the_device_gives_at_once_or_the_tier_has_drives_nothing_out)
{
    const auto tier = open(100'000);
    fill(*tier, 9, 10'000);
    auto sections = std::make_shared<Artifact>();
    for (int i = 0; i < 10'000; ++i)
        sections->sections.push_back({std::to_string(i), Bytes::copy_of("x")});
    const std::tuple<Entry, std::uint64_t, const char*> entries[] = {
        {sample_entry(numbered_key(20), 95'001), 95'000, "gives at once (95000)"},
        {Entry(sections), UINT64_MAX, "10000 bytes takes 159985"}};
    for (const auto& [entry, max_block, reason] : entries) {
        m_faults->max_block = max_block;
        const Result<Stored> refused = store_in(*tier, numbered_key(20), entry, Victims::keep);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, Code::too_large);
        EXPECT_NE(refused.error().message.find(reason), std::string::npos) << refused.error().message;
        EXPECT_TRUE(holds_all(*tier, 9, 10'000));
    }
}

TEST_F(VramFaults, limits_and_policy_that_are_set_while_a_device_is_opened_hold)
{
    const auto tier = open(10_MiB);
    m_while_opening = [&] { tier->set_limits({.max_bytes = 100'000, .max_entries = 3, .max_age = {}}, Victims::keep); };
    ASSERT_TRUE(tier->open().ok());
    EXPECT_EQ(tier->limits().max_bytes, 100'000U);
    EXPECT_EQ(tier->limits().max_entries, 3U);
    fill(*tier, 5, 100);
    EXPECT_EQ(tier->usage().entries, 3U);
}

// As whoever changes one of them does: before the device is known, its own recommendation is not.
TEST_F(VramFaults, limits_that_are_told_and_given_back_change_nothing)
{
    m_faults->total_bytes = 1_GiB;
    const auto untouched = open(VramOptions{.fallback = device::Fallback::none});
    ASSERT_TRUE(untouched->open().ok());
    ASSERT_NE(untouched->limits().max_bytes, 0U);
    const auto tier = open(VramOptions{.partitions = {{"ir", 0}}, .fallback = device::Fallback::none});
    for (int opened = 0; opened < 2; ++opened) {
        Limits limits = tier->limits();
        limits.max_age += std::chrono::hours(1);
        tier->set_limits(limits, Victims::keep);
        ASSERT_TRUE(tier->open().ok());
    }
    const std::vector<device::PartitionUsage> partitions = tier->report().partitions;
    const auto unnamed = std::ranges::find(partitions, "", &device::PartitionUsage::partition);
    ASSERT_NE(unnamed, partitions.end());
    EXPECT_EQ(unnamed->capacity_bytes, untouched->limits().max_bytes);
    EXPECT_EQ(tier->limits().max_age, std::chrono::hours(2));
}

TEST_F(VramFaults, of_two_threads_that_find_a_device_lost_one_opens_it_again)
{
    const auto tier = open(1_MiB);
    ASSERT_TRUE(put(*tier, 1, 100).ok());
    std::atomic<int> opened = 0;
    std::jthread other;
    m_while_opening = [&] {
        if (++opened > 1)
            return;
        m_faults->lost = false;
        other = std::jthread([&] { static_cast<void>(tier->find(numbered_key(1))); });
        for (int i = 0; i < 10'000; ++i)
            std::this_thread::yield();
    };
    m_faults->lost = true;
    EXPECT_TRUE(put(*tier, 2, 100).ok());
    other.join();
    EXPECT_EQ(opened, 1);
    EXPECT_NE(m_said.find("lost"), std::string::npos);
    EXPECT_TRUE(holds(*tier, 2, 100)) << "what was stored on the new device is there";
    EXPECT_FALSE(holds(*tier, 1, 100)) << "and what was on the old one is not";
    EXPECT_EQ(tier->usage().entries, 1U);
}

TEST_F(VramFaults, a_device_without_any_room_says_so_and_the_tier_goes_on)
{
    m_faults->room = 0;
    const auto tier = open(1_MiB);
    const Result<Stored> stored = put(*tier, 1, 1000);
    ASSERT_FALSE(stored.ok());
    EXPECT_EQ(stored.error().code, Code::no_space);
    EXPECT_EQ(tier->usage().entries, 0U);
    EXPECT_EQ(tier->usage().bytes, 0U);
    m_faults->room = UINT64_MAX;
    EXPECT_TRUE(put(*tier, 1, 1000).ok());
    EXPECT_TRUE(holds(*tier, 1, 1000));
}

TEST_F(VramFaults, a_store_that_leases_leave_no_place_for_says_so_and_changes_nothing)
{
    const auto tier = open(100'000);
    fill(*tier, 9, 10'000);
    std::vector<device::Lease> leases;
    for (std::uint64_t i = 0; i < 9; i += 2)
        leases.push_back(tier->lease(numbered_key(i), {}));
    const Result<Stored> stored = put(*tier, 20, 95'000);
    ASSERT_FALSE(stored.ok());
    EXPECT_EQ(stored.error().code, Code::no_space);
    EXPECT_NE(stored.error().message.find("lease"), std::string::npos) << stored.error().message;
    EXPECT_TRUE(holds_all(*tier, 9, 10'000));
    EXPECT_EQ(tier->usage().bytes, 90'000U);
    leases.clear();
    const Result<Stored> next = put(*tier, 20, 100'000);
    ASSERT_TRUE(next.ok()) << "as large as the tier: " << next.error().message;
    EXPECT_EQ(next->victims.size(), 9U);
    EXPECT_TRUE(put(*tier, 20, 100'000).ok()) << "replaced by one as large";
    EXPECT_TRUE(holds(*tier, 20, 100'000));
}

TEST_F(VramFaults, a_large_entry_takes_the_place_of_neighbours_and_of_no_others)
{
    const auto tier = open(1_MiB);
    fill(*tier, 1024, 1024);
    std::vector<std::uint64_t> order(1024);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed()));
    for (const std::uint64_t i : order)
        EXPECT_TRUE(holds(*tier, i, 1024));
    const Result<Stored> stored = put(*tier, 5000, 256_KiB);
    ASSERT_TRUE(stored.ok()) << stored.error().message;
    EXPECT_EQ(stored->victims.size(), 256U) << "as many as lie where it goes";
    EXPECT_TRUE(holds(*tier, 5000, 256_KiB));
    EXPECT_EQ(tier->usage().bytes, 1_MiB);
}

TEST_F(VramFaults, entries_of_many_sizes_fill_the_tier_and_stay_whole)
{
    std::mt19937_64 random(seed());
    for (const PolicyFactory& policy : {lru(), gdsf()}) {
        const auto tier = open(1_MiB);
        tier->set_policy(policy);
        for (std::uint64_t i = 0; i < 2000; ++i) {
            const std::uint64_t number = random() % 400;
            const Result<Stored> stored = put(*tier, number, 1 + number * number);
            ASSERT_TRUE(stored.ok()) << stored.error().message;
            EXPECT_TRUE(holds(*tier, number, 1 + number * number));
            holds(*tier, i % 400, 1 + (i % 400) * (i % 400));
            ASSERT_LE(tier->usage().bytes, 1_MiB);
        }
        EXPECT_TRUE(tier->verify(Repair::no, {}).accounting_exact);
        EXPECT_GT(tier->usage().bytes, 600'000U) << "no more goes than has to";
    }
}

TEST_F(VramFaults, a_store_that_the_device_failed_reports_what_it_evicted)
{
    const auto tier = open(100'000);
    ASSERT_TRUE(put(*tier, 1, 90'000).ok());
    m_faults->fail_write_every = 1;
    std::vector<Victim> gone;
    const Key key = numbered_key(2);
    EXPECT_FALSE(tier->store(key, sample_entry(key, 95'000), Victims::keep, gone).ok());
    m_faults->fail_write_every = 0;
    ASSERT_EQ(gone.size(), 1U);
    EXPECT_EQ(gone[0].key, numbered_key(1));
    ASSERT_TRUE(gone[0].entry);
    EXPECT_TRUE(is_sample_of(*gone[0].entry->artifact(), numbered_key(1), 1));
    const auto next = put(*tier, 3, 10);
    ASSERT_TRUE(next.ok()) << next.error().message;
    EXPECT_TRUE(next->victims.empty());
}

TEST_F(VramFaults, a_lease_that_ends_with_a_stream_keeps_its_bytes_until_the_work_is_done)
{
    int stream = 0;
    const auto tier = open(100'000);
    ASSERT_TRUE(put(*tier, 1, 90'000).ok());
    device::Lease lease = tier->lease(numbered_key(1), {});
    const std::string_view bytes(static_cast<const char*>(lease.pointer()), lease.size());
    EXPECT_FALSE(lease.release_after(nullptr).ok());
    EXPECT_TRUE(lease) << "after an error it is held as before";
    m_faults->busy = true;
    ASSERT_TRUE(lease.release_after(&stream).ok());
    EXPECT_FALSE(lease);
    EXPECT_TRUE(tier->remove(numbered_key(1)));
    EXPECT_EQ(tier->report().partitions[0].held_bytes, 90'000U);
    EXPECT_FALSE(put(*tier, 2, 95'000).ok()) << "the kernel still reads there";
    ASSERT_TRUE(put(*tier, 3, 50'000).ok());
    EXPECT_EQ(bytes, sample_bytes(numbered_key(1), 90'000).text());
    m_faults->busy = false;
    EXPECT_EQ(tier->report().partitions[0].held_bytes, 0U);
    EXPECT_TRUE(put(*tier, 2, 95'000).ok());
}

TEST_F(VramFaults, a_lease_that_ended_with_a_stream_outlives_the_tier_and_is_given_back_in_the_end)
{
    int stream = 0;
    m_faults->busy = true;
    {
        const auto tier = open(100'000);
        ASSERT_TRUE(put(*tier, 1, 90'000).ok());
        ASSERT_TRUE(tier->lease(numbered_key(1), {}).release_after(&stream).ok());
    }
    EXPECT_GE(m_faults->in_use, 90'000U);
    m_faults->busy = false;
    const auto other = open(1000);
    ASSERT_TRUE(other->open().ok());
    other->trim();
    EXPECT_EQ(m_faults->in_use, 0U);
}

TEST_F(VramFaults, a_copy_never_takes_the_place_of_a_value_that_came_while_it_was_made)
{
    const auto tier = open(VramOptions{.devices = {0, 1}, .max_bytes = 1_MiB, .fallback = device::Fallback::none});
    for (const int device : {0, 1}) {
        ASSERT_TRUE(put_on(*tier, 0, 1, 1000));
        m_faults->in_copy = [&] { EXPECT_TRUE(put_on(*tier, device, 1, 2000)); };
        EXPECT_FALSE(copy_to_device(*tier, numbered_key(1), 1));
        const device::Lease there = tier->lease(numbered_key(1), {});
        ASSERT_TRUE(there) << "the store was reported, and its value is gone: device " << device;
        EXPECT_EQ(there.size(), 2000U);
        EXPECT_EQ(there.device(), device);
        EXPECT_FALSE(tier->lease(numbered_key(1), {.device = 1 - device})) << "an outdated copy";
        EXPECT_EQ(tier->usage().entries, 1U);
    }
}

TEST_F(VramFaults, copies_and_stores_that_race_leave_the_last_value)
{
    const auto tier = open(VramOptions{.devices = {0, 1}, .max_bytes = 1_MiB, .fallback = device::Fallback::none});
    std::atomic<bool> stop{false};
    std::thread copying([&] {
        while (!stop)
            for (const int device : {1, 0})
                static_cast<void>(copy_to_device(*tier, numbered_key(1), device));
    });
    for (std::uint64_t i = 0; i < scaled(2000); ++i) {
        const std::uint64_t size = 100 + i;
        ASSERT_TRUE(put_on(*tier, static_cast<int>(i % 2), 1, size));
        const device::Lease there = tier->lease(numbered_key(1), {});
        ASSERT_TRUE(there) << i;
        ASSERT_EQ(there.size(), size) << i;
    }
    stop = true;
    copying.join();
}

TEST_F(VramFaults, memory_that_nothing_lies_in_goes_back_to_the_device)
{
    const auto tier = open(10_MiB);
    const auto remove_all = [&] {
        for (std::uint64_t i = 0; i < 50; ++i)
            tier->remove(numbered_key(i));
    };
    const std::function<void()> ways[] = {[&] { return remove_all(), tier->trim(); },
                                          [&] { return remove_all(), tier->maintain({}); }, [&] { tier->clear(); }};
    for (const std::function<void()>& empty : ways) {
        fill(*tier, 50, 100'000);
        EXPECT_GE(m_faults->in_use, 5'000'000U);
        empty();
        EXPECT_EQ(m_faults->in_use, 0U);
    }
}

TEST_F(VramFaults, the_host_that_stands_in_for_a_lost_gpu_takes_what_a_host_can_spare)
{
    m_faults->total_bytes = 1024_GiB;
    const auto tier = open(device::k_recommended, device::Fallback::host);
    EXPECT_EQ(tier->limits().max_bytes, 0U) << "not known yet";
    ASSERT_TRUE(put(*tier, 1, 1000).ok());
    EXPECT_EQ(tier->limits().max_bytes, device::recommended_bytes(1024_GiB));
    EXPECT_EQ(tier->report().partitions[0].capacity_bytes, tier->limits().max_bytes);
    EXPECT_LE(m_faults->in_use, 64_MiB) << "as it is needed";
    m_faults->lost = true;
    m_absent = true;
    ASSERT_TRUE(put(*tier, 1, 1000).ok());
    const std::uint64_t host = gpu::open_host_memory(0).value()->device().total_bytes;
    EXPECT_EQ(tier->limits().max_bytes, device::recommended_bytes(host));

    const auto meant_for_a_gpu = open(1024_GiB, device::Fallback::host);
    ASSERT_TRUE(put(*meant_for_a_gpu, 1, 1000).ok());
    EXPECT_EQ(meant_for_a_gpu->limits().max_bytes, host / 2);
}

TEST_F(VramFaults, limits_of_several_devices_and_partitions_are_those_of_all_together)
{
    const auto tier = open(VramOptions{.devices = {0, 1},
                                       .max_bytes = 100'000,
                                       .max_entries = 3,
                                       .partitions = {{"ir", 10'000}},
                                       .fallback = device::Fallback::none});
    for (const bool opened : {false, true}) {
        ASSERT_TRUE(!opened || tier->open().ok());
        EXPECT_EQ(tier->limits().max_bytes, 220'000U) << opened;
        EXPECT_EQ(tier->limits().max_entries, 0U) << "a named partition has no limit of their number";
    }
    tier->set_limits({.max_bytes = 120'000, .max_entries = 0, .max_age = {}}, Victims::keep);
    EXPECT_EQ(tier->limits().max_bytes, 120'000U);
    for (std::uint64_t i = 0; i < 40; ++i)
        ASSERT_TRUE(put_on(*tier, static_cast<int>(i % 2), i, 10'000));
    EXPECT_LE(tier->usage().bytes, 120'000U);

    const auto plain =
        open(VramOptions{.devices = {0, 1}, .max_bytes = 0, .max_entries = 5, .fallback = device::Fallback::none});
    EXPECT_EQ(plain->limits().max_entries, 10U) << "five on each device";
    plain->set_limits({.max_bytes = 0, .max_entries = 4, .max_age = {}}, Victims::keep);
    for (std::uint64_t i = 0; i < 20; ++i)
        ASSERT_TRUE(put_on(*plain, static_cast<int>(i % 2), i, 10));
    EXPECT_EQ(plain->usage().entries, 4U);
    EXPECT_EQ(plain->limits().max_entries, 4U);
}

TEST_F(VramFaults, a_list_of_no_devices_is_refused_with_a_sentence)
{
    const TierContext context{&m_clock, {}, lru()};
    const Result<std::unique_ptr<Tier>> none = vram({.devices = {}}).open(context);
    ASSERT_FALSE(none.ok());
    EXPECT_NE(none.error().message.find("empty list of devices"), std::string::npos) << none.error().message;
    EXPECT_TRUE(open(VramOptions{.devices = {}})->set_limits({.max_bytes = 100}, Victims::keep).empty());
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

TEST_F(VramFaults, a_child_forked_while_another_thread_asks_the_device_goes_on)
{
    const auto tier = open(1_MiB);
    m_faults->hold_allocations = true;
    std::thread other([&] { EXPECT_TRUE(put(*tier, 1, 1000).ok()); });
    EXPECT_TRUE(eventually("the other thread asks", [&] { return m_faults->held_allocations == 1; }));
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        m_faults->hold_allocations = false;
        const bool stored = put(*tier, 2, 900'000).ok();
        ::_exit(stored && holds(*tier, 2, 900'000) ? 0 : 1);
    }
    EXPECT_TRUE(child_was_right(child));
    m_faults->hold_allocations = false;
    other.join();
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
    const Result<Stored> refused = put(*strict, 2, 1000);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::unavailable);
    EXPECT_FALSE(strict->find(numbered_key(1)));
    EXPECT_EQ(strict->usage().entries, 0U);
    EXPECT_TRUE(strict->read_many(std::vector<Key>{numbered_key(1)}).ok());
}

}  // namespace

}  // namespace hearth::test
