#include "tiers/vram/arena.hpp"

#include "support/eventually.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <thread>

namespace hearth::tiers {

namespace {

std::shared_ptr<gpu::DeviceMemory> host()
{
    return gpu::open_host_memory(0).value();
}

std::uint64_t start_of(const gpu::DevicePart& part)
{
    return part.block.address + part.offset;
}

TEST(Arena, parts_are_aligned_and_do_not_overlap)
{
    Arena arena(host(), 1_MiB);
    std::map<std::uint64_t, std::uint64_t> taken;
    for (std::uint64_t size = 0; size < 300; ++size) {
        const gpu::DevicePart part = arena.allocate(size).value();
        EXPECT_EQ(start_of(part) % arena.memory().alignment(), 0U);
        EXPECT_EQ(part.bytes, size);
        taken[start_of(part)] = std::max<std::uint64_t>(size, 1);
    }
    EXPECT_EQ(taken.size(), 300U) << "parts without bytes have places of their own";
    std::uint64_t end = 0;
    for (const auto& [start, size] : taken) {
        EXPECT_GE(start, end);
        end = start + size;
    }
}

TEST(Arena, takes_nothing_of_the_device_before_it_is_needed_then_a_little_and_more_as_it_fills_and_gives_all_back)
{
    for (const auto& [size, more] : {std::pair{100_MiB, 20_MiB}, {35_GiB, 200_MiB}}) {
        Arena arena(host(), size);
        EXPECT_EQ(arena.usage().reserved, 0U);
        const gpu::DevicePart small = arena.allocate(1000).value();
        EXPECT_GE(arena.usage().reserved, 1000U);
        EXPECT_LE(arena.usage().reserved, 64_MiB) << "a block at a time";
        const gpu::DevicePart large = arena.allocate(more).value();
        EXPECT_LE(arena.usage().reserved, 64_MiB + more);
        arena.free(large);
        arena.trim();
        EXPECT_LE(arena.usage().reserved, 64_MiB) << "what is empty goes back, the rest stays";
        EXPECT_EQ(arena.usage().allocated, 1024U);
        arena.free(small);
        EXPECT_EQ(arena.usage().allocated, 0U);
        arena.trim();
        EXPECT_EQ(arena.usage().reserved, 0U);
    }
}

// Which parts have to be freed for 300 bytes, where each has 64 and they lie side by side.
TEST(ArenaPlan, names_neighbours_and_no_others)
{
    Arena arena(host(), 1);  // and room for alignment: 64 KiB, as one block
    std::vector<gpu::DevicePart> parts;
    while (Result<gpu::DevicePart> part = arena.allocate(64))
        parts.push_back(*part);
    ASSERT_GT(parts.size(), 900U);
    Arena::Plan plan(arena, 300, Arena::Growth::no);
    std::vector<std::size_t> offered{7, 100, 102, 500, 101, 103, 8, 99};
    for (std::size_t i = 0; i + 1 < offered.size(); ++i)
        EXPECT_FALSE(plan.free(parts[offered[i]])) << offered[i];
    EXPECT_TRUE(plan.free(parts[offered.back()]));
    for (const std::size_t number : offered)
        EXPECT_EQ(plan.needs(parts[number]), number >= 99 && number <= 103) << number;
    EXPECT_FALSE(plan.needs(parts[300])) << "which was not offered";
    for (std::size_t number = 99; number <= 103; ++number)
        arena.free(parts[number]);
    EXPECT_TRUE(arena.has_place(300, Arena::Growth::no));
    EXPECT_TRUE(arena.allocate(300).ok());
}

TEST(Arena, an_entry_of_exactly_its_size_fits_after_smaller_ones_are_gone)
{
    Arena arena(host(), 20_MiB);
    std::vector<gpu::DevicePart> parts;
    for (int i = 0; i < 20; ++i)
        parts.push_back(arena.allocate(1_MiB).value());
    EXPECT_FALSE(arena.allocate(1_MiB).ok());
    for (const gpu::DevicePart& part : parts)
        arena.free(part);
    const Result<gpu::DevicePart> whole = arena.allocate(20_MiB);
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    EXPECT_FALSE(arena.allocate(1_MiB).ok());
    arena.free(*whole);
}

TEST(Arena, what_is_freed_under_a_guard_is_kept_until_that_ends_and_not_by_later_ones)
{
    Arena arena(host(), 1_MiB);
    const gpu::DevicePart part = arena.allocate(900_KiB).value();
    auto guard = std::make_unique<Arena::ReadGuard>(arena);
    arena.free(part);
    EXPECT_FALSE(arena.allocate(900_KiB).ok());
    {
        const Arena::ReadGuard short_one(arena);
    }
    EXPECT_FALSE(arena.allocate(900_KiB).ok());
    const Arena::ReadGuard later(arena);
    guard.reset();
    EXPECT_TRUE(arena.allocate(900_KiB).ok());
}

TEST(Arena, who_waits_for_readers_gets_what_they_kept)
{
    Arena arena(host(), 1_MiB);
    EXPECT_FALSE(arena.wait_for_readers()) << "nothing to wait for";
    const gpu::DevicePart part = arena.allocate(900_KiB).value();
    auto reader = std::make_unique<Arena::ReadGuard>(arena);
    arena.free(part);
    bool placed = false;
    std::atomic<bool> waits{false};
    std::thread writer([&] {
        waits = true;
        arena.wait_for_readers();
        placed = arena.allocate(900_KiB).ok();
    });
    EXPECT_TRUE(test::eventually("the writer waits", [&] { return waits.load(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // who does not wait finds no place meanwhile
    reader.reset();
    writer.join();
    EXPECT_TRUE(placed);
    EXPECT_FALSE(arena.wait_for_readers());
}

TEST(Arena, a_placed_part_goes_back_at_its_end)
{
    const auto arena = std::make_shared<Arena>(host(), 1_MiB);
    {
        PlacedPart first(arena, arena->allocate(1000).value());
        const PlacedPart moved(std::move(first));
        EXPECT_EQ(arena->usage().allocated, 1024U);
    }
    EXPECT_EQ(arena->usage().allocated, 0U);
}

// Capability 16 for this tier: after any history the books are right, and neighbouring gaps are one.
TEST(Arena, random_histories_keep_its_books_exact)
{
    std::mt19937_64 random(test::seed());
    for (std::uint64_t history = 0; history < test::scaled(20); ++history) {
        Arena arena(host(), 4_MiB);
        std::vector<gpu::DevicePart> parts;
        std::uint64_t unit = arena.memory().alignment();
        std::uint64_t expected = 0;
        const auto rounded = [&](std::uint64_t bytes) {
            return std::max<std::uint64_t>(1, (bytes + unit - 1) / unit) * unit;
        };
        for (int step = 0; step < 3000; ++step) {
            if (parts.empty() || random() % 5 < 3) {
                const std::uint64_t bytes = random() % (random() % 10 == 0 ? 200000 : 2000);
                if (const Result<gpu::DevicePart> part = arena.allocate(bytes)) {
                    parts.push_back(*part);
                    expected += rounded(bytes);
                }
            } else {
                const std::size_t i = random() % parts.size();
                arena.free(parts[i]);
                expected -= rounded(parts[i].bytes);
                parts[i] = parts.back();
                parts.pop_back();
            }
            ASSERT_EQ(arena.usage().allocated, expected);
            ASSERT_LE(arena.usage().allocated, arena.usage().reserved);
            ASSERT_LE(arena.usage().reserved, 4_MiB + 64_KiB);
        }
        for (const gpu::DevicePart& part : parts)
            arena.free(part);
        EXPECT_EQ(arena.usage().allocated, 0U);
        const Result<gpu::DevicePart> whole = arena.allocate(4_MiB);
        EXPECT_TRUE(whole.ok()) << "a gap was lost";
    }
}

}  // namespace

}  // namespace hearth::tiers
