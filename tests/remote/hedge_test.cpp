#include "remote/hedge.hpp"

#include "support/forks.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <latch>
#include <unistd.h>

namespace hearth::remotes {

namespace {

using namespace std::chrono_literals;

std::optional<Bytes> text(const char* words)
{
    return Bytes::copy_of(std::string_view(words));
}

}  // namespace

TEST(Hedge, an_answer_in_time_is_asked_for_once_and_a_request_that_throws_is_an_error_that_nobody_waits_for)
{
    Hedge hedge;
    std::atomic<int> asked{0};
    const auto answer = hedge.first_of_two(
        [&] {
            ++asked;
            return Hedge::Answer(text("here"));
        },
        1h);
    EXPECT_EQ((*answer)->text(), "here");
    EXPECT_EQ(asked, 1);
    const auto thrown = hedge.first_of_two([]() -> Hedge::Answer { throw std::bad_alloc(); }, 1h);
    ASSERT_FALSE(thrown.ok());
    EXPECT_EQ(thrown.error().code, Code::unavailable);
}

TEST(Hedge, a_request_without_answer_is_sent_again_and_the_first_answer_counts)
{
    Hedge hedge;
    std::atomic<int> asked{0};
    std::latch let_go{1};
    const auto answer = hedge.first_of_two(
        [&] {
            if (++asked == 1) {
                let_go.wait();
                return Hedge::Answer(text("late"));
            }
            return Hedge::Answer(text("second"));
        },
        1ms);
    EXPECT_EQ((*answer)->text(), "second");
    let_go.count_down();
    hedge.stop();
    EXPECT_EQ(asked, 2);
}

TEST(Hedge, a_failure_of_one_leaves_it_to_the_other)
{
    Hedge hedge;
    std::atomic<int> asked{0};
    std::latch second_failed{1};
    const auto answer = hedge.first_of_two(
        [&]() -> Hedge::Answer {
            if (++asked == 1) {
                second_failed.wait();
                return text("first");
            }
            second_failed.count_down();
            return Error{Code::unavailable, "Down.", {}};
        },
        1ms);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ((*answer)->text(), "first");
}

TEST(Hedge, two_failures_are_a_failure)
{
    Hedge hedge;
    std::latch both{2};
    const auto answer = hedge.first_of_two(
        [&]() -> Hedge::Answer {
            both.arrive_and_wait();
            return Error{Code::timeout, "Late.", {}};
        },
        1ms);
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, Code::timeout);
}

TEST(Hedge, works_in_a_forked_child)
{
    SKIP_FORKS_WITH_THREADS();
    Hedge hedge;
    const Hedge::Ask ask = [] { return Hedge::Answer(text("x")); };
    ASSERT_TRUE(hedge.first_of_two(ask, 1h).ok());
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        hedge.after_fork();
        const bool good = hedge.first_of_two(ask, 1h).ok();
        hedge.stop();
        ::_exit(good ? 0 : 1);
    }
    EXPECT_TRUE(test::child_was_right(child));
}

}  // namespace hearth::remotes
