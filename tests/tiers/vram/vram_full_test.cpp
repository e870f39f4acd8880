// A device whose memory somebody else wants: the tier makes do, gives memory back when it is asked to, and takes some
// again later.

#include "hearth/hearth.hpp"
#include "support/eventually.hpp"
#include "support/faulty_memory.hpp"
#include "support/open_cache.hpp"
#include "support/sample_entries.hpp"
#include "support/scale.hpp"
#include "support/scratch_directory.hpp"
#include "tiers/vram/vram_tier.hpp"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace hearth::test {

namespace {

constexpr std::size_t k_entry = 30'000;
constexpr std::uint64_t k_room = 1'000'000;

// A cache in the memory of a device that gives blocks of two or three entries, over a disk.
class VramFull : public testing::Test {
protected:
    VramFull()
    {
        m_faults->room = k_room;
        m_faults->max_block = 100'000;
    }
    TierSpec on_device(const VramOptions& options)
    {
        const auto memory = [this](device::Backend, int) -> Result<std::shared_ptr<gpu::DeviceMemory>> {
            return {std::make_shared<FaultyMemory>(m_faults)};
        };
        return {"vram", [=](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                    return {std::make_unique<tiers::VramTier>(options, context, memory)};
                }};
    }
    Cache open(const VramOptions& options = {.max_bytes = 10_MiB})
    {
        return open_cache("", {.tiers = {on_device(options), disk(m_scratch / "disk")}, .policy = lru()});
    }
    static Result<InsertReport> put(Cache& cache, std::uint64_t number, const device::Placement& placement = {})
    {
        return cache.vram().insert(numbered_key(number), sample_bytes(numbered_key(number), k_entry), placement);
    }
    static void fill(Cache& cache, std::uint64_t count)
    {
        for (std::uint64_t i = 0; i < count; ++i)
            ASSERT_TRUE(put(cache, i).ok());
    }
    // On the device; its bytes are right.
    static bool is_on_device(Cache& cache, std::uint64_t number)
    {
        const Result<device::HostCopy> copy = cache.vram().read(numbered_key(number));
        EXPECT_TRUE(!copy || is_right(numbered_key(number), as_text(copy->bytes())));
        return copy.ok();
    }
    static bool is_right(const Key& key, std::string_view bytes) { return bytes == sample_bytes(key, k_entry).text(); }
    static bool is_right(const Key& key, const device::Lease& lease)
    {
        return is_right(key, {static_cast<const char*>(lease.pointer()), lease.size()});
    }
    static std::uint64_t reserved(Cache& cache)
    {
        std::uint64_t sum = 0;
        const Result<device::Report> report = cache.vram().report();
        for (const device::PartitionUsage& partition : report->partitions)
            sum += partition.reserved_bytes;
        return sum;
    }
    // What somebody else, or the program itself, does with the same device.
    bool take_from_device(std::uint64_t bytes)
    {
        if (m_faults->in_use + bytes > m_faults->room)
            return false;
        m_faults->in_use += bytes;
        return true;
    }

    std::shared_ptr<FaultyMemory::Faults> m_faults = std::make_shared<FaultyMemory::Faults>();
    ScratchDirectory m_scratch;
};

TEST_F(VramFull, stores_make_do_with_what_the_tier_has_and_hits_are_served)
{
    Cache cache = open();
    fill(cache, 10);
    ASSERT_TRUE(take_from_device(m_faults->room - m_faults->in_use));
    const std::uint64_t before = reserved(cache);
    for (std::uint64_t i = 10; i < 30; ++i) {
        ASSERT_TRUE(put(cache, i).ok()) << i;
        EXPECT_TRUE(is_on_device(cache, i));
    }
    EXPECT_LE(reserved(cache), before);
    for (std::uint64_t i = 0; i < 30; ++i)
        EXPECT_TRUE(is_right(numbered_key(i), cache.find(numbered_key(i))->text())) << i << ": of device or disk";
}

TEST_F(VramFull, a_store_that_finds_no_room_says_that_the_device_is_full)
{
    Cache cache = open();
    fill(cache, 3);
    ASSERT_TRUE(take_from_device(m_faults->room - m_faults->in_use));
    std::vector<device::Lease> leases;
    for (std::uint64_t i = 0; i < 3; ++i)
        leases.push_back(cache.vram().lease(numbered_key(i)));
    const Result<InsertReport> refused =
        cache.vram().insert(numbered_key(9), sample_bytes(numbered_key(9), 3 * k_entry));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::no_space);
    EXPECT_NE(refused.error().message.find("The device gives no more: free some of what else lies there"),
              std::string::npos)
        << refused.error().message;
    for (std::uint64_t i = 0; i < 3; ++i)
        EXPECT_TRUE(is_on_device(cache, i)) << i;
}

TEST_F(VramFull, memory_is_given_back_to_an_allocation_of_the_programs_own_and_entries_move_to_the_disk)
{
    Cache cache = open();
    fill(cache, 25);
    ASSERT_TRUE(take_from_device(m_faults->room - m_faults->in_use));
    const std::uint64_t before = reserved(cache);
    int calls = 0;
    EXPECT_TRUE(cache.vram().give_way(300'000, [&] { return ++calls, take_from_device(300'000); }));
    EXPECT_EQ(calls, 2);
    EXPECT_LE(reserved(cache) + 300'000, before);
    EXPECT_GT(reserved(cache), 0U) << "no more than was asked for, to the next whole block";
    std::uint64_t on_device = 0;
    for (std::uint64_t i = 0; i < 25; ++i) {
        on_device += is_on_device(cache, i) ? 1 : 0;
        EXPECT_TRUE(is_sample_of(*cache.find(numbered_key(i)), numbered_key(i))) << i;
    }
    EXPECT_GE(on_device, 10U);
    EXPECT_EQ(cache.stats().tiers[0].evictions, 25 - on_device);

    m_faults->in_use -= 300'000;  // the program frees it, and the tier grows again
    for (std::uint64_t i = 30; i < 40; ++i)
        ASSERT_TRUE(put(cache, i).ok());
    EXPECT_GE(reserved(cache) + 100'000, before);
    EXPECT_EQ(admin::verify(cache, Repair::no).corrupt, 0U);
}

TEST_F(VramFull, what_is_empty_goes_first_and_then_what_was_not_used_for_longest)
{
    Cache cache = open();
    fill(cache, 20);
    for (std::uint64_t i = 0; i < 5; ++i)
        cache.remove(numbered_key(i));
    ASSERT_GT(cache.vram().give_back(1).value(), 0U);
    for (std::uint64_t i = 5; i < 20; ++i)
        ASSERT_TRUE(is_on_device(cache, i)) << i;
    EXPECT_EQ(cache.stats().tiers[0].evictions, 0U);
    ASSERT_GT(cache.vram().give_back(1).value(), 0U);
    std::vector<std::uint64_t> gone;
    for (std::uint64_t i = 5; i < 20; ++i)
        if (!is_on_device(cache, i))
            gone.push_back(i);
    ASSERT_FALSE(gone.empty());
    EXPECT_LT(gone.back(), 12U) << "they were read in this order";
    EXPECT_LE(gone.size(), 3U) << "one block";
}

TEST_F(VramFull, what_is_under_lease_stays_where_it_is_and_the_rest_is_given_back)
{
    Cache cache = open();
    fill(cache, 20);
    const std::uint64_t before = reserved(cache);
    device::Lease lease = cache.vram().lease(numbered_key(7));
    const std::uint64_t given = cache.vram().give_back(UINT64_MAX).value();
    EXPECT_EQ(given, before - reserved(cache));
    EXPECT_GT(reserved(cache), 0U);
    EXPECT_LE(reserved(cache), 100'000U) << "its block";
    EXPECT_TRUE(is_right(numbered_key(7), lease));
    EXPECT_EQ(cache.vram().give_back(UINT64_MAX).value(), 0U);
    int calls = 0;
    EXPECT_FALSE(cache.vram().give_way(1, [&] { return ++calls, false; })) << "there is nothing more to give";
    EXPECT_EQ(calls, 1);
    lease = {};
    EXPECT_GT(cache.vram().give_back(1).value(), 0U);
    EXPECT_EQ(reserved(cache), 0U);
    EXPECT_EQ(m_faults->in_use, 0U);
    for (std::uint64_t i = 0; i < 20; ++i)
        EXPECT_EQ(cache.find(numbered_key(i)).tier(), "disk") << i;
}

TEST_F(VramFull, much_is_given_back_in_steps_so_that_the_host_never_holds_all_of_it)
{
    m_faults->room = UINT64_MAX;
    m_faults->max_block = UINT64_MAX;
    std::uint64_t left_at_first = 0;
    const auto look = [&](const Eviction&) {
        left_at_first = std::max<std::uint64_t>(left_at_first, m_faults->in_use);
    };
    Cache cache = open_cache("", {.tiers = {on_device({.max_bytes = 1_GiB})}, .policy = lru(), .on_evict = look});
    for (std::uint64_t i = 0; i < 12; ++i)
        ASSERT_TRUE(cache.vram().insert(numbered_key(i), sample_bytes(numbered_key(i), 16_MiB)).ok());
    const std::uint64_t before = reserved(cache);
    ASSERT_GE(before, 192_MiB);
    EXPECT_EQ(cache.vram().give_back(UINT64_MAX).value(), before);
    EXPECT_EQ(m_faults->in_use, 0U);
    EXPECT_GE(left_at_first, before / 2) << "the first had moved on before the last was read";
}

TEST_F(VramFull, each_device_gives_back_its_own)
{
    Cache cache = open({.devices = {0, 1}, .max_bytes = 10_MiB, .partitions = {{"ir", 1_MiB}}});
    for (std::uint64_t i = 0; i < 6; ++i)
        ASSERT_TRUE(put(cache, i, {.partition = i % 3 == 0 ? "ir" : "", .device = static_cast<int>(i % 2)}).ok());
    EXPECT_GT(cache.vram().give_back(UINT64_MAX, 1).value(), 0U);
    for (std::uint64_t i = 0; i < 6; ++i)
        EXPECT_EQ(is_on_device(cache, i), i % 2 == 0) << i;
    const Result<std::uint64_t> nowhere = cache.vram().give_back(1, 2);
    ASSERT_FALSE(nowhere.ok());
    EXPECT_NE(nowhere.error().message.find("has no device 2: it has 2 device(s)"), std::string::npos)
        << nowhere.error().message;
}

TEST_F(VramFull, without_device_memory_an_allocation_is_simply_tried)
{
    Cache cache = open_cache("", {.tiers = {memory(1_MiB)}});
    EXPECT_FALSE(cache.vram().give_back(1).ok());
    for (const bool succeeds : {true, false}) {
        int calls = 0;
        EXPECT_EQ(cache.vram().give_way(1000, [&] { return ++calls, succeeds; }), succeeds);
        EXPECT_EQ(calls, 1);
    }
}

TEST_F(VramFull, threads_that_lease_read_and_store_while_memory_is_given_back_never_see_a_wrong_byte)
{
    Cache cache = open();
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::atomic<std::uint64_t> done{0};
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            std::vector<device::Lease> held(4);
            for (std::uint64_t i = t; !stop; ++i) {
                const Key key = numbered_key(i * 7 % 40);
                if (i % 3 == 0)
                    static_cast<void>(cache.vram().insert(key, sample_bytes(key, k_entry)));
                if (const auto copy = cache.vram().read(key))
                    wrong += is_right(key, as_text(copy->bytes())) ? 0 : 1;
                if (const Lookup found = cache.find(key))
                    wrong += is_right(key, found->text()) ? 0 : 1;
                device::Lease& lease = held[i % held.size()];
                lease = cache.vram().lease(key);
                wrong += !lease || is_right(key, lease) ? 0 : 1;
                ++done;
            }
        });
    std::uint64_t given = 0;
    for (std::uint64_t i = 0; i < scaled(100) && !HasFailure(); ++i) {
        const std::uint64_t before = done;
        EXPECT_TRUE(eventually("the threads have gone on", [&] { return done >= before + 6; }));
        given += cache.vram().give_back(i % 3 == 0 ? UINT64_MAX : 100'000).value();
    }
    stop = true;
    threads.clear();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(admin::verify(cache, Repair::no).corrupt, 0U);
    EXPECT_GT(given, 0U);
    EXPECT_EQ(reserved(cache), m_faults->in_use) << "every byte is on the books";
    cache.vram().give_back(UINT64_MAX).value();
    EXPECT_EQ(m_faults->in_use, 0U);
}

}  // namespace

}  // namespace hearth::test
