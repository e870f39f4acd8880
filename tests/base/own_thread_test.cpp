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

TEST(OwnThread, takes_no_signals_but_those_of_its_own_faults)
{
    sigset_t seen{};
    start_thread([&] { seen = mask_here(); }).join();
    expect_only_faults_are_taken(seen);
    start_thread<std::jthread>([&](const std::stop_token&) { seen = mask_here(); }).join();
    expect_only_faults_are_taken(seen);
}

TEST(OwnThread, leaves_what_its_starter_takes_as_it_was)
{
    const sigset_t before = mask_here();
    start_thread([] {}).join();
    const sigset_t after = mask_here();
    for (int signal = 1; signal < NSIG; ++signal)
        EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
}

TEST(OwnThread, workers_are_such_threads)
{
    Workers workers(1);
    std::promise<sigset_t> seen;
    workers.submit([&](Workers::Call) { seen.set_value(mask_here()); });
    expect_only_faults_are_taken(seen.get_future().get());
}

}  // namespace hearth::base
