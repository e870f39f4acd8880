#include "base/own_thread.hpp"

#include "base/workers.hpp"

#include <future>
#include <gtest/gtest.h>

namespace hearth::base {

namespace {

sigset_t mask_here()
{
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return mask;
}

void expect_only_faults_are_taken(const sigset_t& mask)
{
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGPROF, SIGPIPE})
        EXPECT_EQ(sigismember(&mask, signal), 1) << signal;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
        EXPECT_EQ(sigismember(&mask, signal), 0) << signal;
}

}  // namespace

TEST(OwnThread, takes_no_signals_but_those_of_its_own_faults_and_leaves_those_of_its_starter)
{
    const sigset_t before = mask_here();
    sigset_t seen{};
    std::thread thread;
    ASSERT_TRUE(try_start_thread(thread, [&] { seen = mask_here(); }));
    thread.join();
    expect_only_faults_are_taken(seen);
    const sigset_t after = mask_here();
    for (int signal = 1; signal < NSIG; ++signal)
        EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
    std::jthread stoppable;
    ASSERT_TRUE(try_start_thread(stoppable, [&](const std::stop_token&) { seen = mask_here(); }));
    stoppable.join();
    expect_only_faults_are_taken(seen);
}

TEST(OwnThread, a_start_that_fails_says_so_and_the_next_one_may_succeed)
{
    bool ran = false;
    std::thread thread;
    fail_thread_starts(2);
    EXPECT_FALSE(try_start_thread(thread, [&] { ran = true; }));
    EXPECT_FALSE(try_start_thread(thread, [&] { ran = true; }));
    EXPECT_FALSE(thread.joinable());
    ASSERT_TRUE(try_start_thread(thread, [&] { ran = true; }));
    thread.join();
    EXPECT_TRUE(ran);
}

// Were it to end the program, that would show.
TEST(OwnThread, what_its_work_throws_ends_the_thread_and_not_the_program)
{
    std::thread thread;
    ASSERT_TRUE(try_start_thread(thread, [] { throw 42; }));
    thread.join();
}

TEST(OwnThread, workers_are_such_threads)
{
    Workers workers(1);
    std::promise<sigset_t> seen;
    workers.submit([&](Workers::Call) { seen.set_value(mask_here()); });
    expect_only_faults_are_taken(seen.get_future().get());
}

}  // namespace hearth::base
