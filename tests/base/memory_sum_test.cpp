#include "base/memory_sum.hpp"

#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>

namespace hearth::test {

namespace {

std::vector<std::byte> some_bytes(std::size_t size)
{
    std::mt19937_64 random(size + 1);
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random());
    return bytes;
}

struct Less {
    bool operator()(const base::MemorySum& a, const base::MemorySum& b) const
    {
        return std::pair(a.first, a.second) < std::pair(b.first, b.second);
    }
};

TEST(MemorySum, a_copy_is_the_same_bytes_with_the_same_sum_and_nothing_beside_them)
{
    for (std::size_t size = 0; size < 300; ++size) {
        const std::vector<std::byte> bytes = some_bytes(size);
        std::vector<std::byte> target(size + 2, std::byte{0x5a});
        // One byte off, so that neither side is aligned.
        EXPECT_EQ(base::copy_and_sum(target.data() + 1, bytes), base::sum_of(bytes)) << size;
        EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), target.begin() + 1)) << size;
        EXPECT_EQ(target.front(), std::byte{0x5a}) << size;
        EXPECT_EQ(target.back(), std::byte{0x5a}) << size;
    }
}

TEST(MemorySum, every_bit_counts)
{
    for (const std::size_t size : {1U, 15U, 16U, 63U, 64U, 65U, 200U}) {
        std::vector<std::byte> bytes = some_bytes(size);
        std::set<base::MemorySum, Less> sums{base::sum_of(bytes)};
        for (std::size_t bit = 0; bit < size * 8; ++bit) {
            bytes[bit / 8] ^= std::byte{1} << (bit % 8);
            sums.insert(base::sum_of(bytes));
            bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        }
        EXPECT_EQ(sums.size(), size * 8 + 1) << size;
    }
}

// What a device gives back wrongly is seldom one bit: memory of another entry, of another part, or never written.
TEST(MemorySum, zeros_lengths_and_the_order_count)
{
    std::set<base::MemorySum, Less> sums;
    for (std::size_t size = 0; size < 1000; ++size)
        sums.insert(base::sum_of(std::vector<std::byte>(size)));
    EXPECT_EQ(sums.size(), 1000U);

    std::vector<std::byte> bytes = some_bytes(512);
    const base::MemorySum sum = base::sum_of(bytes);
    for (const std::size_t width : {1U, 8U, 16U, 64U, 128U}) {
        std::swap_ranges(bytes.begin(), bytes.begin() + width, bytes.begin() + 256);
        EXPECT_NE(base::sum_of(bytes), sum) << width;
        std::swap_ranges(bytes.begin(), bytes.begin() + width, bytes.begin() + 256);
    }
    EXPECT_EQ(base::sum_of(bytes), sum);
}

}  // namespace

}  // namespace hearth::test
