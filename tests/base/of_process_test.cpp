#include "base/of_process.hpp"

#include "support/forks.hpp"

#include <barrier>
#include <gtest/gtest.h>
#include <latch>
#include <thread>
#include <unistd.h>

namespace hearth::test {

namespace {

constinit bool g_is_made = false;

struct Early {
    Early() { g_is_made = true; }
};

[[maybe_unused]] Early& nobody_asks()
{
    return base::of_process<Early>();
}

struct Contested {
    Contested()
    {
        ++s_made;
        s_both.arrive_and_wait();
    }
    ~Contested() { ++s_destroyed; }
    Contested(const Contested&) = delete;
    Contested& operator=(const Contested&) = delete;

    static inline std::barrier<> s_both{2};
    static inline std::atomic<int> s_made = 0;
    static inline std::atomic<int> s_destroyed = 0;
};

struct Slow {
    Slow()
    {
        if (s_waits) {
            s_inside.count_down();
            s_go_on.wait();
        }
    }

    static inline std::atomic<bool> s_waits = true;
    static inline std::latch s_inside{1};
    static inline std::latch s_go_on{1};
};

}  // namespace

TEST(OfProcess, what_there_is_one_of_is_made_before_anybody_asks)
{
    EXPECT_TRUE(g_is_made);
}

TEST(OfProcess, of_two_that_are_made_at_once_one_stays)
{
    Contested* first = nullptr;
    std::jthread other([&] { first = &base::made_once<Contested>(); });
    Contested* const second = &base::made_once<Contested>();
    other.join();
    EXPECT_EQ(first, second);
    EXPECT_EQ(Contested::s_made, 2);
    EXPECT_EQ(Contested::s_destroyed, 1);
    EXPECT_EQ(&base::made_once<Contested>(), second);
}

TEST(OfProcess, a_child_forked_while_another_thread_makes_it_makes_its_own)
{
    SKIP_FORKS_WITH_THREADS();
    std::jthread other([] { base::made_once<Slow>(); });
    Slow::s_inside.wait();
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        Slow::s_waits = false;
        base::made_once<Slow>();
        ::_exit(0);
    }
    EXPECT_TRUE(child_was_right(child));
    Slow::s_go_on.count_down();
}

}  // namespace hearth::test
