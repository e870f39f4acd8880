#include "base/thread_index.hpp"

#include "support/scale.hpp"

#include <algorithm>
#include <barrier>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

namespace hearth::test {

namespace {

// The numbers of `count` threads that all live at the same time.
std::vector<std::size_t> numbers_of_threads(std::size_t count)
{
    std::vector<std::size_t> numbers(count);
    std::barrier all_have_one(static_cast<std::ptrdiff_t>(count));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            numbers[i] = base::thread_index();
            all_have_one.arrive_and_wait();
            EXPECT_EQ(base::thread_index(), numbers[i]);
        });
    threads.clear();
    return numbers;
}

}  // namespace

TEST(ThreadIndex, no_two_living_threads_share_a_number)
{
    const std::size_t mine = base::thread_index();
    const std::vector<std::size_t> numbers = numbers_of_threads(32);
    const std::set<std::size_t> distinct(numbers.begin(), numbers.end());
    EXPECT_EQ(distinct.size(), numbers.size());
    EXPECT_FALSE(distinct.contains(mine));
}

TEST(ThreadIndex, the_numbers_of_ended_threads_are_given_again_and_the_lowest_goes_first)
{
    (void)base::thread_index();
    const std::vector<std::size_t> first = numbers_of_threads(16);
    const auto [lowest, highest] = std::minmax_element(first.begin(), first.end());
    EXPECT_EQ(numbers_of_threads(1)[0], *lowest);
    for (std::uint64_t round = 0; round < scaled(50); ++round)
        for (const std::size_t number : numbers_of_threads(16))
            ASSERT_LE(number, *highest);
}

}  // namespace hearth::test
