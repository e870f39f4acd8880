#include "gpu/driver_process.hpp"
#include "support/forks.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <unistd.h>

namespace hearth::test {

namespace {

bool holds_in_a_child(const std::function<bool()>& what)
{
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(what() ? 0 : 1);
    return child_was_right(child);
}

}  // namespace

TEST(DriverProcess, a_child_may_use_the_driver_unless_it_was_used_before)
{
    gpu::DriverProcess process;
    EXPECT_TRUE(holds_in_a_child([&] {
        return process.check("A driver").ok() && holds_in_a_child([&] { return !process.check("A driver").ok(); });
    })) << "a child that uses it first is as good as any, and its own children are not";
    EXPECT_TRUE(process.check("A driver").ok());
    EXPECT_TRUE(holds_in_a_child([&] { return process.unusable() && !process.check("A driver").ok(); }));
    EXPECT_TRUE(holds_in_a_child([&] { return holds_in_a_child([&] { return process.unusable(); }); }))
        << "nor a child's child";
    EXPECT_FALSE(process.unusable());
}

}  // namespace hearth::test
