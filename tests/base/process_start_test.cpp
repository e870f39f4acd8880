#include "base/process_start.hpp"

#include "support/forks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hearth::base {

TEST(ProcessStart, is_before_now_and_the_same_whenever_it_is_asked)
{
    const ProcessStart first = ProcessStart::ask();
    const ProcessStart second = ProcessStart::ask();
    const std::chrono::nanoseconds age = first.age();
    EXPECT_GT(age.count(), 0);
    EXPECT_GE(first.age(), age);
    // The wall clock may be set meanwhile, but not by a test.
    EXPECT_LT(std::chrono::abs(first.began() - second.began()), std::chrono::seconds(1));
    EXPECT_LT(first.began(), std::chrono::system_clock::now().time_since_epoch());
}

TEST(ProcessStart, of_a_forked_child_is_its_own)
{
    const ProcessStart parent = ProcessStart::ask();
    // The system counts in hundredths of a second.
    while (parent.age() < std::chrono::milliseconds(40)) {
    }
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(ProcessStart::ask().began() > parent.began() ? 0 : 1);
    EXPECT_TRUE(test::child_was_right(child));
}

}  // namespace hearth::base
