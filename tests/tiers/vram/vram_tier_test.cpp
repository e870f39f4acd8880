#include "hearth/hearth.hpp"
#include "support/device_memories.hpp"
#include "support/forks.hpp"
#include "support/isolated_environment.hpp"
#include "support/open_cache.hpp"
#include "support/sample_entries.hpp"
#include "support/scale.hpp"
#include "support/scratch_directory.hpp"

#include <atomic>
#include <barrier>
#include <gtest/gtest.h>
#include <map>
#include <thread>
#include <unistd.h>

namespace hearth::test {

namespace {

using device::Backend;

// On each kind of memory that this machine has, through the Cache.
class VramCache : public testing::TestWithParam<MemoryCase> {
protected:
    void SetUp() override
    {
        const Result<std::shared_ptr<gpu::DeviceMemory>> memory = GetParam().open(0);
        if (!memory)
            GTEST_SKIP() << memory.error().message;
        m_backend = (*memory)->device().backend;
        m_device = (*memory)->device().index;
    }

    Cache open(VramOptions options = {}, bool with_disk = false)
    {
        options.backend = m_backend;
        std::fill(options.devices.begin(), options.devices.end(), m_device);
        options.fallback = device::Fallback::none;
        if (options.max_bytes == device::k_recommended)
            options.max_bytes = 16_MiB;
        std::vector<TierSpec> tiers{vram(options)};
        if (with_disk)
            tiers.push_back(disk(m_scratch / "disk"));
        return open_cache("", {.tiers = tiers, .policy = lru()});
    }
    static void put(Cache& cache, std::uint64_t number, std::size_t size, const device::Placement& placement = {})
    {
        const Key key = numbered_key(number);
        const Result<InsertReport> report = cache.vram().insert(key, sample_bytes(key, size), placement);
        ASSERT_TRUE(report.ok()) << report.error().message;
    }
    static bool holds(Cache& cache, std::uint64_t number, std::size_t size)
    {
        const Key key = numbered_key(number);
        const Result<device::HostCopy> copy = cache.vram().read(key);
        if (!copy)
            return false;
        EXPECT_EQ(as_text(copy->bytes()), sample_bytes(key, size).text());
        return true;
    }

    Backend m_backend = Backend::host;
    int m_device = 0;
    ScratchDirectory m_scratch;
};

// Capability 57.
TEST_P(VramCache, what_is_inserted_is_read_back_and_found_through_the_cache_too_and_outlives_it)
{
    std::map<std::size_t, device::HostCopy> copies;
    {
        Cache cache = open();
        for (const std::size_t size : {0U, 1U, 100U, 1024U, 10240U, 102400U, 3000001U}) {
            put(cache, size, size);
            const Lookup found = cache.find(numbered_key(size));
            ASSERT_TRUE(found.hit()) << size;
            EXPECT_EQ(found.tier(), "vram");
            EXPECT_EQ(found->text(), sample_bytes(numbered_key(size), size).text());
            copies.emplace(size, cache.vram().read(numbered_key(size)).value());
        }
        EXPECT_FALSE(cache.vram().read(numbered_key(4711)).ok());
        EXPECT_FALSE(cache.vram().lease(numbered_key(4711)));
    }
    for (const auto& [size, copy] : copies)
        EXPECT_EQ(as_text(copy.bytes()), sample_bytes(numbered_key(size), size).text()) << size;
}

// Capability 58.
TEST_P(VramCache, a_lease_moves_no_byte)
{
    Cache cache = open();
    put(cache, 1, 5000);
    const device::Transfers before = cache.vram().report()->transfers;
    for (int i = 0; i < 1000; ++i) {
        const device::Lease lease = cache.vram().lease(numbered_key(1));
        ASSERT_TRUE(lease);
        EXPECT_EQ(lease.size(), 5000U);
        EXPECT_NE(lease.region().address != 0, lease.region().buffer != nullptr) << "one of the two";
        EXPECT_FALSE(lease.lost());
    }
    const device::Transfers after = cache.vram().report()->transfers;
    EXPECT_EQ(after.leases - before.leases, 1000U);
    EXPECT_EQ(after.to_host, before.to_host);
    EXPECT_EQ(after.to_device, before.to_device);
    EXPECT_EQ(cache.stats().tiers[0].hits, 1000U);
}

TEST_P(VramCache, a_lease_finds_each_section)
{
    Cache cache = open();
    Artifact artifact;
    artifact.sections = {
        {"cubin", sample_bytes(numbered_key(1), 1001)}, {"log", {}}, {"ptx", sample_bytes(numbered_key(2), 77)}};
    ASSERT_TRUE(cache.vram().insert(numbered_key(9), artifact).ok());
    EXPECT_EQ(cache.find(numbered_key(9))->sections, artifact.sections);
    const device::Lease lease = cache.vram().lease(numbered_key(9));
    EXPECT_EQ(lease.section("cubin").bytes, 1001U);
    EXPECT_EQ(lease.section("ptx").bytes, 77U);
    EXPECT_EQ(lease.section("ptx").offset % 16 + lease.section("ptx").address % 16, 0U);
    EXPECT_EQ(lease.section("nothing").bytes, 0U);
}

TEST_P(VramCache, a_leased_entry_outlives_eviction_removal_and_the_cache)
{
    device::Lease evicted;
    device::Lease removed;
    {
        Cache cache = open({.max_bytes = 100'000});
        put(cache, 1, 40'000);
        evicted = cache.vram().lease(numbered_key(1));
        put(cache, 2, 30'000);
        removed = cache.vram().lease(numbered_key(2));
        EXPECT_TRUE(cache.remove(numbered_key(2)));
        EXPECT_FALSE(holds(cache, 2, 30'000));
        for (std::uint64_t i = 10; i < 14; ++i)
            put(cache, i, 20'000);
        EXPECT_FALSE(holds(cache, 1, 40'000)) << "evicted";
        EXPECT_EQ(cache.vram().report()->partitions[0].held_bytes, 70'000U);
    }
    ASSERT_TRUE(evicted);
    ASSERT_TRUE(removed);
    EXPECT_FALSE(evicted.lost());
    if (m_backend == Backend::host) {
        EXPECT_EQ(as_text({static_cast<const std::byte*>(evicted.pointer()), evicted.size()}),
                  sample_bytes(numbered_key(1), 40'000).text());
        EXPECT_EQ(as_text({static_cast<const std::byte*>(removed.pointer()), removed.size()}),
                  sample_bytes(numbered_key(2), 30'000).text());
    }
}

// Capability 64.
TEST_P(VramCache, many_are_read_in_one_call_and_those_that_are_missing_have_no_bytes)
{
    Cache cache = open();
    std::vector<Key> keys;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        keys.push_back(numbered_key(i));
        if (i % 10 != 3)
            put(cache, i, i);
    }
    const Result<device::HostCopy> all = cache.vram().read_many(keys);
    ASSERT_TRUE(all.ok()) << all.error().message;
    EXPECT_EQ(all->size(), 1000U);
    EXPECT_EQ(all->found(), 900U);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        EXPECT_EQ(all->has(i), i % 10 != 3) << i;
        if (all->has(i)) {
            EXPECT_EQ(as_text(all->bytes(i)), sample_bytes(keys[i], i).text()) << i;
        }
    }
    EXPECT_EQ(cache.stats().hits, 900U);
    EXPECT_EQ(cache.stats().misses_in_all(), 100U);
    EXPECT_EQ(cache.vram().read_many({})->size(), 0U);
    // Twice the same key.
    const std::vector<Key> twice{keys[5], keys[5]};
    EXPECT_EQ(cache.vram().read_many(twice)->found(), 2U);
}

TEST_P(VramCache, a_victim_that_the_tier_below_has_is_not_read_from_the_device)
{
    Cache cache = open({.max_bytes = 100'000}, true);
    for (std::uint64_t i = 0; i < 20; ++i)
        ASSERT_TRUE(cache.insert(numbered_key(i), Artifact(sample_bytes(numbered_key(i), 20'000))).ok());
    EXPECT_GE(cache.stats().tiers[0].evictions, 15U);
    EXPECT_EQ(cache.vram().report()->transfers.to_host, 0U);
    for (std::uint64_t i = 0; i < 20; ++i)
        EXPECT_TRUE(cache.find(numbered_key(i)).hit()) << i;
}

TEST_P(VramCache, load_brings_it_from_below_once)
{
    Cache cache = open({}, true);
    const Key key = numbered_key(1);
    ASSERT_TRUE(cache.insert(key, Artifact(sample_bytes(key, 3000)), {.tier = "disk"}).ok());
    EXPECT_FALSE(cache.vram().lease(key));
    const Result<device::Lease> lease = cache.vram().load(key);
    ASSERT_TRUE(lease.ok()) << lease.error().message;
    EXPECT_EQ(lease->size(), 3000U);
    EXPECT_TRUE(cache.vram().lease(key));
    EXPECT_EQ(admin::where(cache, key), (std::vector<std::string>{"vram", "disk"})) << "below it stays";
    const Result<device::Lease> nowhere = cache.vram().load(numbered_key(2));
    ASSERT_FALSE(nowhere.ok());
    EXPECT_EQ(nowhere.error().code, Code::not_found);
}

TEST_P(VramCache, what_also_moves_up_to_memory_stays_on_the_device)
{
    Cache cache = open_cache(
        "", {.tiers = {memory(1_MiB), vram({.backend = m_backend, .devices = {m_device}, .max_bytes = 1_MiB})}});
    put(cache, 1, 1000);
    for (int i = 0; i < 5; ++i)
        EXPECT_TRUE(cache.find(numbered_key(1)).hit());
    EXPECT_EQ(admin::where(cache, numbered_key(1)), (std::vector<std::string>{"memory", "vram"}));
    EXPECT_TRUE(cache.vram().lease(numbered_key(1)));
}

// Capability 63.
TEST_P(VramCache, a_partition_that_is_full_leaves_the_others_alone)
{
    Cache cache = open({.max_bytes = 100'000, .partitions = {{"ir", 50'000}, {"tokens", 20'000}}});
    for (std::uint64_t i = 0; i < 5; ++i)
        put(cache, i, 20'000);
    for (std::uint64_t i = 10; i < 12; ++i)
        put(cache, i, 10'000, {.partition = "tokens"});
    for (std::uint64_t i = 100; i < 200; ++i)
        put(cache, i, 10'000, {.partition = "ir"});
    for (std::uint64_t i = 0; i < 5; ++i)
        EXPECT_TRUE(holds(cache, i, 20'000)) << i;
    for (std::uint64_t i = 10; i < 12; ++i)
        EXPECT_TRUE(holds(cache, i, 10'000)) << i;
    std::uint64_t left = 0;
    for (std::uint64_t i = 100; i < 200; ++i)
        left += holds(cache, i, 10'000) ? 1 : 0;
    EXPECT_EQ(left, 5U);
    const device::Report report = *cache.vram().report();
    ASSERT_EQ(report.partitions.size(), 3U);
    EXPECT_EQ(report.partitions[1].partition, "ir");
    EXPECT_EQ(report.partitions[1].bytes, 50'000U);
    EXPECT_EQ(report.partitions[2].bytes, 20'000U);
    const Result<InsertReport> nowhere =
        cache.vram().insert(numbered_key(1), sample_bytes(numbered_key(1), 1), {.partition = "constraints"});
    ASSERT_FALSE(nowhere.ok());
    EXPECT_NE(nowhere.error().message.find("constraints"), std::string::npos);
}

TEST_P(VramCache, of_two_that_store_a_key_in_two_partitions_at_once_one_stays)
{
    Cache cache = open({.partitions = {{"ir", 1_MiB}}});
    put(cache, 0, 10);
    for (std::uint64_t round = 1; round <= scaled(200); ++round) {
        std::barrier together(2);
        const auto store = [&](const char* partition) {
            together.arrive_and_wait();
            put(cache, round, 500, {.partition = partition});
        };
        std::thread other(store, "ir");
        store("");
        other.join();
        EXPECT_TRUE(holds(cache, round, 500));
        ASSERT_EQ(cache.stats().tiers[0].entries, round + 1);
    }
}

// Capability 62: where there is one device, two memories of it stand for two. What lies where: SeveralGpus.
TEST_P(VramCache, copies_go_from_device_to_device)
{
    Cache cache = open({.devices = {0, 0}});
    put(cache, 1, 5000, {.device = 0});
    EXPECT_FALSE(cache.vram().lease(numbered_key(1), {.device = 1})) << "never another device's";
    ASSERT_TRUE(cache.vram().copy_to_device(numbered_key(1), 1).ok());
    EXPECT_EQ(cache.vram().lease(numbered_key(1), {.device = 1}).device(), 1);
    EXPECT_EQ(cache.vram().report()->transfers.between_devices, 1U);
    EXPECT_TRUE(cache.vram().copy_to_device(numbered_key(1), 1).ok()) << "it is there";
    EXPECT_TRUE(holds(cache, 1, 5000));
    EXPECT_FALSE(cache.vram().copy_to_device(numbered_key(1), 7).ok());
    EXPECT_FALSE(cache.vram().copy_to_device(numbered_key(99), 1).ok());
    // A new value must not leave an old one on another device.
    put(cache, 1, 100, {.device = 0});
    EXPECT_FALSE(cache.vram().lease(numbered_key(1), {.device = 1}));
    EXPECT_TRUE(holds(cache, 1, 100));
}

// A child has one thread: what the others were doing must not keep it waiting. A driver's do not come along either:
// there its memory is lost, and nothing is asked of the driver.
TEST_P(VramCache, a_child_forked_while_others_store_finds_or_misses_and_goes_on)
{
    SKIP_FORKS_BESIDE_THREADS();
    // With the host to fall back on, for the child.
    Cache cache = open_cache(
        "",
        {.tiers = {vram(
             {.backend = m_backend, .devices = {m_device}, .max_bytes = 200'000, .partitions = {{"kept", 10'000}}})}});
    put(cache, 1, 1000, {.partition = "kept"});
    std::atomic<bool> stop{false};
    std::vector<std::jthread> others;
    for (std::uint64_t t = 1; t <= 3; ++t)
        others.emplace_back([&, t] {
            for (std::uint64_t i = 0; !stop; ++i) {
                const Key key = numbered_key(t * 1000 + i % 50);
                static_cast<void>(cache.vram().insert(key, sample_bytes(key, 3000)));
                static_cast<void>(cache.vram().read(key));
            }
        });
    const std::uint64_t forks = scaled(m_backend == Backend::host ? 40 : 10);
    for (std::uint64_t i = 0; i < forks && !HasFailure(); ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(20);
            static_cast<void>(cache.find(numbered_key(1)));
            static_cast<void>(cache.vram().lease(numbered_key(1)));
            const Key key = numbered_key(99);
            const bool stored = cache.vram().insert(key, sample_bytes(key, 500)).ok();
            const Lookup found = cache.find(key);
            ::_exit(stored && found.hit() && found->text() == sample_bytes(key, 500).text() ? 0 : 1);
        }
        EXPECT_TRUE(child_was_right(child)) << i;
    }
    stop = true;
    others.clear();
    EXPECT_TRUE(holds(cache, 1, 1000)) << "here it is as it was";
}

INSTANTIATE_TEST_SUITE_P(all, VramCache, all_memories(), name_of);

TEST(VramFallback, where_none_is_wanted_the_tier_is_left_out_and_the_reason_is_told)
{
    IsolatedEnvironment environment;
    environment.set("HEARTH_WEBGPU", "/nowhere/libwgpu_native.so");  // absent on every machine
    std::string said;
    const auto log = [&](LogLevel, std::string_view message) { said += message; };
    const VramOptions options{.backend = Backend::webgpu, .max_bytes = 1_MiB, .fallback = device::Fallback::none};
    Cache cache = open_cache("", {.tiers = {vram(options), memory(1_MiB)}, .log = log});
    EXPECT_NE(said.find("/nowhere/libwgpu_native.so"), std::string::npos) << said;
    EXPECT_FALSE(cache.vram());
    const Result<InsertReport> none = cache.vram().insert(numbered_key(1), sample_bytes(numbered_key(1), 1));
    ASSERT_FALSE(none.ok());
    EXPECT_NE(none.error().message.find("no tier in device memory"), std::string::npos) << none.error().message;
    EXPECT_FALSE(cache.vram().lease(numbered_key(1)));
}

TEST(VramTier, asks_nothing_of_a_device_before_something_is_stored)
{
    Cache cache = Cache::open({.tiers = {vram(1_MiB)}}).value();
    EXPECT_FALSE(cache.find(numbered_key(1)));
    EXPECT_FALSE(cache.vram().lease(numbered_key(1)));
    EXPECT_TRUE(cache.vram().report()->devices.empty());
    EXPECT_EQ(cache.stats().tiers[0].note, "");
}

}  // namespace

}  // namespace hearth::test
