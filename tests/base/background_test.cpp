#include "base/background.hpp"

#include "support/forks.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <latch>
#include <unistd.h>

namespace hearth::test {

namespace {

using base::Background;

// Whatever was submitted before has run.
void wait_for_all(Background& background, const void* owner = "nobody")
{
    std::latch done(1);
    ASSERT_TRUE(background.submit(owner, [&] { done.count_down(); }));
    done.wait();
}

// Until the other thread is about to do something, and then long enough that it would be done if it did not wait.
void wait_for(const std::atomic<bool>& about_to)
{
    while (!about_to)
        std::this_thread::yield();
    for (int i = 0; i < 10'000; ++i)
        std::this_thread::yield();
}

// In a child that ends once it has begun.
std::atomic<bool> g_begun = false;
std::atomic<bool> g_ending = false;
int g_pipe[2];

void write_byte_at_the_end()
{
    g_begun = true;
    wait_for(g_ending);
    EXPECT_EQ(::write(g_pipe[1], "x", 1), 1);
}

// What `work` writes until the process that submitted it is gone.
int written_by_a_process_that_ends(void (*work)())
{
    EXPECT_EQ(::pipe(g_pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        static int s_owner;
        Background::of_process().submit(&s_owner, work);
        while (!g_begun)
            std::this_thread::yield();
        Background::of_process().submit(&s_owner, [] { ::_exit(7); });  // not begun any more
        g_ending = true;
        std::exit(0);
    }
    EXPECT_TRUE(child_was_right(child));
    ::close(g_pipe[1]);
    char bytes[9];
    const auto written = static_cast<int>(::read(g_pipe[0], bytes, sizeof bytes));
    ::close(g_pipe[0]);
    return written;
}

}  // namespace

TEST(Background, runs_one_piece_at_a_time_in_order_what_is_next_first_and_goes_on_after_an_exception)
{
    Background& background = Background::of_process();
    std::latch begin(1);
    std::string order;
    int owner = 0;
    ASSERT_TRUE(background.submit(&owner, [&] {
        begin.wait();
        throw 1;
    }));
    for (const char piece : {'a', 'b'})
        ASSERT_TRUE(background.submit(&owner, [&order, piece] { order += piece; }));
    ASSERT_TRUE(background.submit(
        &owner, [&order] { order += 'n'; }, Background::Turn::next));
    begin.count_down();
    wait_for_all(background);
    EXPECT_EQ(order, "nab");
}

TEST(Background, forgets_what_waits_of_an_owner_and_waits_for_what_runs)
{
    Background& background = Background::of_process();
    std::latch running(1);
    std::atomic<bool> forgetting = false;
    std::atomic<bool> ended = false;
    int mine = 0;
    int other = 0;
    std::atomic<int> others = 0;
    ASSERT_TRUE(background.submit(&mine, [&] {
        running.count_down();
        wait_for(forgetting);
        ended = true;
    }));
    ASSERT_TRUE(background.submit(&mine, [&] { ADD_FAILURE() << "this was forgotten"; }));
    ASSERT_TRUE(background.submit(&other, [&] { ++others; }));
    running.wait();
    forgetting = true;
    background.forget(&mine);
    EXPECT_TRUE(ended);
    wait_for_all(background);
    EXPECT_EQ(others, 1);
}

TEST(Background, what_runs_submits_nothing_more_for_an_owner_that_is_being_forgotten)
{
    Background& background = Background::of_process();
    for (const bool others_wait : {true, false}) {
        std::latch running(1);
        std::atomic<bool> forgetting = false;
        std::atomic<bool> taken = true;
        int mine = 0;
        int other = 0;
        ASSERT_TRUE(background.submit(&mine, [&] {
            running.count_down();
            wait_for(forgetting);
            taken = background.submit(&mine, [] { ADD_FAILURE() << "its owner may be gone"; });
        }));
        if (others_wait) {
            ASSERT_TRUE(background.submit(&other, [] {}));
        }
        running.wait();
        forgetting = true;
        background.forget(&mine);
        EXPECT_FALSE(taken);
        wait_for_all(background);
        // As a new owner that is there by chance.
        wait_for_all(background, &mine);
        background.forget(&mine);
    }
}

TEST(Background, work_may_forget_its_own_owner_and_submit_more)
{
    Background& background = Background::of_process();
    int owner = 0;
    std::latch done(1);
    ASSERT_TRUE(background.submit(&owner, [&] {
        background.forget(&owner);
        background.submit(&owner, [&] { done.count_down(); });
    }));
    done.wait();
    background.forget(&owner);
}

TEST(Background, the_end_of_the_process_waits_for_what_runs_and_for_the_destructors_of_the_threads_variables)
{
    EXPECT_EQ(written_by_a_process_that_ends(write_byte_at_the_end), 1);
    EXPECT_EQ(written_by_a_process_that_ends([] {
                  static thread_local struct Kept {
                      bool is_used = false;
                      ~Kept() { write_byte_at_the_end(); }
                  } t_kept;
                  t_kept.is_used = true;
              }),
              1);
}

TEST(Background, a_forked_child_has_none_of_its_parents_work_and_can_have_its_own)
{
    SKIP_FORKS_WITH_THREADS();
    Background& background = Background::of_process();
    std::latch running(1);
    std::latch go_on(1);
    int owner = 0;
    ASSERT_TRUE(background.submit(&owner, [&] {
        running.count_down();
        go_on.wait();
    }));
    running.wait();
    // In a child nobody is left of those who wait. One of these is forked when the other thread does wait.
    std::jthread waiter([&] { background.forget(&owner); });
    for (int fork = 0; fork < 20; ++fork) {
        const pid_t child = ::fork();
        if (child == 0) {
            background.forget(&owner);  // it would wait for ever for what runs in the parent
            for (int i = 0; i < 3; ++i) {
                std::latch begun(1);
                background.submit(&owner, [&] { begun.count_down(); });
                begun.wait();
                background.forget(&owner);
            }
            ::_exit(0);
        }
        EXPECT_TRUE(child_was_right(child));
    }
    go_on.count_down();
    waiter.join();
}

}  // namespace hearth::test
