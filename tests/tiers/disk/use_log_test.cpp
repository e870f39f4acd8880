#include "tiers/disk/use_log.hpp"

#include "support/in_threads.hpp"
#include "support/sample_entries.hpp"

#include <atomic>
#include <gtest/gtest.h>

namespace hearth::tiers {

using test::numbered_key;

TEST(UseLog, counts_how_often_this_process_was_answered)
{
    UseLog log;
    EXPECT_EQ(log.note(numbered_key(1), 100), 1U);
    EXPECT_EQ(log.note(numbered_key(1), 200), 2U);
    EXPECT_EQ(log.note(numbered_key(2), 300, 5), 5U);
    EXPECT_EQ(log.size(), 2U);
    EXPECT_EQ(log.pending(numbered_key(1)).uses, 2U);
    EXPECT_EQ(log.pending(numbered_key(1)).when_ns, 200U);
    EXPECT_EQ(log.pending(numbered_key(3)).uses, 0U);
}

TEST(UseLog, what_is_taken_is_no_longer_pending_and_still_counts)
{
    UseLog log;
    for (std::uint64_t number = 0; number < 10; ++number)
        log.note(numbered_key(number), number);
    EXPECT_EQ(log.take(4).size(), 4U);
    EXPECT_EQ(log.size(), 6U);
    EXPECT_EQ(log.take(100).size(), 6U);
    EXPECT_TRUE(log.take(100).empty());
    EXPECT_EQ(log.pending(numbered_key(3)).uses, 0U);
    EXPECT_EQ(log.note(numbered_key(3), 50), 2U);
    const std::vector<UseLog::Use> uses = log.take(1);
    ASSERT_EQ(uses.size(), 1U);
    EXPECT_EQ(uses.front().key, numbered_key(3));
    EXPECT_EQ(uses.front().uses, 1U);
}

TEST(UseLog, what_could_not_be_written_is_given_back)
{
    UseLog log;
    log.note(numbered_key(1), 100, 3);
    const std::vector<UseLog::Use> uses = log.take(1);
    log.note(numbered_key(1), 90);
    log.give_back(uses);
    EXPECT_EQ(log.size(), 1U);
    EXPECT_EQ(log.pending(numbered_key(1)).uses, 4U);
    EXPECT_EQ(log.pending(numbered_key(1)).when_ns, 100U);
    EXPECT_EQ(log.note(numbered_key(1), 200), 5U);
}

TEST(UseLog, what_is_forgotten_starts_again)
{
    UseLog log;
    log.note(numbered_key(1), 100);
    log.note(numbered_key(2), 100);
    log.forget(numbered_key(1));
    EXPECT_EQ(log.pending(numbered_key(1)).uses, 0U);
    EXPECT_EQ(log.note(numbered_key(1), 200), 1U);
    EXPECT_EQ(log.take(100).size(), 2U);
    log.note(numbered_key(1), 300);
    log.clear();
    EXPECT_EQ(log.size(), 0U);
    EXPECT_TRUE(log.take(100).empty());
    EXPECT_EQ(log.note(numbered_key(1), 300), 1U);
}

// 20
TEST(UseLog, sixty_five_thousand_keys_lose_no_use_that_was_not_written)
{
    UseLog log;
    const std::uint64_t keys = 100'000;
    for (std::uint64_t number = 0; number < keys; ++number)
        for (std::uint64_t use = 0; use <= number % 2; ++use)
            log.note(numbered_key(number), 1);
    std::uint64_t taken = 0;
    while (log.size() > 0)
        for (const UseLog::Use& use : log.take(1000))
            taken += use.uses;
    EXPECT_EQ(taken, keys + keys / 2);
}

// 65
TEST(UseLog, threads_that_note_take_and_give_back_lose_nothing)
{
    UseLog log;
    std::atomic<std::uint64_t> taken{0};
    constexpr std::uint64_t k_each = 5000;
    test::in_threads(4, [&](std::uint64_t) {
        for (std::uint64_t step = 0; step < k_each; ++step) {
            log.note(numbered_key(step % 50), step);
            if (step % 10 != 0)
                continue;
            const std::vector<UseLog::Use> uses = log.take(7);
            if (step % 20 == 0)
                log.give_back(uses);
            else
                for (const UseLog::Use& use : uses)
                    taken += use.uses;
        }
    });
    for (const UseLog::Use& use : log.take(1000))
        taken += use.uses;
    EXPECT_EQ(taken, 4 * k_each);
}

}  // namespace hearth::tiers
