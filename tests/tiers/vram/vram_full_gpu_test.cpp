// A real GPU that the program fills beside the cache.

#include "gpu_fixture.hpp"
#include "hearth/hearth.hpp"
#include "support/open_cache.hpp"
#include "support/sample_entries.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace hearth::test {

namespace {

constexpr std::uint64_t k_entries = 512;

class VramFullGpu : public GpuFixture {
protected:
    void TearDown() override
    {
        free_all();
        GpuFixture::TearDown();
    }

    Cache open()
    {
        const VramOptions options{
            .backend = device::Backend::cuda, .max_bytes = 2_GiB, .fallback = device::Fallback::none};
        return open_cache("", {.tiers = {vram(options), disk(m_scratch / "disk")}, .policy = lru()});
    }
    static Result<InsertReport> put(Cache& cache, std::uint64_t number, std::size_t size = 1_MiB)
    {
        return cache.vram().insert(numbered_key(number), sample_bytes(numbered_key(number), size));
    }
    static bool is_on_device(Cache& cache, std::uint64_t number)
    {
        const Result<device::HostCopy> copy = cache.vram().read(numbered_key(number));
        if (copy) {
            EXPECT_EQ(as_text(copy->bytes()), sample_bytes(numbered_key(number), 1_MiB).text()) << number;
        }
        return copy.ok();
    }
    static std::uint64_t reserved(Cache& cache) { return cache.vram().report()->partitions[0].reserved_bytes; }
    // Plain allocations of the program's own, until so much is left, or as near as the driver comes to that.
    void fill_device(std::uint64_t left)
    {
        std::uint64_t most = UINT64_MAX;  // what the driver gives at once
        while (free_bytes() > left + 2_MiB && most >= 2_MiB) {
            const std::uint64_t bytes = std::min(most, free_bytes() - left);
            if (take(bytes) != gpu::cuda::k_success)
                most = bytes / 2;
        }
    }
    int take(std::uint64_t bytes)
    {
        std::uint64_t address = 0;
        const int error = m_driver->allocate(&address, bytes);
        if (error == gpu::cuda::k_success)
            m_taken.push_back(address);
        return error;
    }
    void free_all()
    {
        for (const std::uint64_t address : m_taken)
            EXPECT_EQ(m_driver->free(address), 0);
        m_taken.clear();
    }

    std::vector<std::uint64_t> m_taken;
};

TEST_F(VramFullGpu, a_device_that_the_program_filled_is_served_from_refuses_gives_back_and_grows_again)
{
    Cache cache = open();
    for (std::uint64_t i = 0; i < k_entries; ++i)
        ASSERT_TRUE(put(cache, i).ok()) << i;
    ASSERT_TRUE(is_on_device(cache, 0)) << "streams and pinned memory for reading are there from now on";
    fill_device(64_MiB);
    ASSERT_LE(free_bytes(), 128_MiB);
    const std::uint64_t before = reserved(cache);

    // Hits are served, and a store makes do with what the tier has.
    for (std::uint64_t i = 0; i < k_entries; i += 37)
        EXPECT_TRUE(is_on_device(cache, i)) << i;
    for (std::uint64_t i = 0; i < 200; ++i)
        ASSERT_TRUE(put(cache, k_entries + i).ok()) << i;
    EXPECT_LE(reserved(cache), before + 130_MiB) << "there was no more to be had";
    EXPECT_GT(cache.stats().tiers[0].evictions, 0U);

    // What finds no room is refused with a sentence, and nothing has changed.
    {
        std::vector<device::Lease> leases;
        for (std::uint64_t i = 0; i < k_entries + 200; ++i)
            leases.push_back(cache.vram().lease(numbered_key(i)));
        const Result<InsertReport> refused = put(cache, 10'000, 300_MiB);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, Code::no_space);
        EXPECT_NE(refused.error().message.find("The device gives no more"), std::string::npos)
            << refused.error().message;
        for (std::uint64_t i = 0; i < leases.size(); i += 41)
            if (leases[i]) {
                EXPECT_FALSE(leases[i].lost()) << i;
                EXPECT_TRUE(is_on_device(cache, i)) << i;
            }
    }

    // An allocation of the program's own fails; with the tier's memory it succeeds.
    ASSERT_EQ(take(256_MiB), gpu::cuda::k_out_of_memory);
    const std::uint64_t full = reserved(cache);
    EXPECT_TRUE(cache.vram().give_way(256_MiB, [&] { return take(256_MiB) == gpu::cuda::k_success; }));
    EXPECT_LT(reserved(cache), full);
    EXPECT_GT(reserved(cache), 0U) << "no more than was needed";
    for (std::uint64_t i = 0; i < k_entries + 200; i += 23) {
        const Lookup found = cache.find(numbered_key(i));
        ASSERT_TRUE(found.hit()) << i << ": what the device lost is on the disk";
        EXPECT_EQ(found->text(), sample_bytes(numbered_key(i), 1_MiB).text()) << i;
    }

    // The program frees what it had, and the tier takes memory again.
    const std::uint64_t small = reserved(cache);
    free_all();
    for (std::uint64_t i = 0; i < 700; ++i)
        ASSERT_TRUE(put(cache, 20'000 + i).ok()) << i;
    EXPECT_GT(reserved(cache), small);
    EXPECT_TRUE(is_on_device(cache, 20'699));
    const std::uint64_t all = reserved(cache);
    EXPECT_EQ(cache.vram().give_back(UINT64_MAX).value(), all);
    EXPECT_EQ(reserved(cache), 0U);
}

}  // namespace

}  // namespace hearth::test
