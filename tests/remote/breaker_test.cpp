#include "remote/breaker.hpp"

#include "support/acting_as.hpp"
#include "support/damage.hpp"
#include "support/scratch_directory.hpp"

#include <filesystem>
#include <gtest/gtest.h>

namespace hearth::remotes {

namespace {

constexpr std::uint64_t k_s = 1'000'000'000;

class BreakerTest : public testing::Test {
protected:
    Breaker open(const std::string& file, Users users = Users::one)
    {
        return Breaker(
            file, [this] { return m_now; }, users);
    }
    Breaker open() { return open(path()); }
    std::string path() const { return m_scratch / "state/remote"; }
    // As long as a first failure lasts, at most.
    void wait_out() { m_now += 2 * k_s; }

    test::ScratchDirectory m_scratch;
    std::uint64_t m_now = 1'700'000'000 * k_s;
};

TEST_F(BreakerTest, in_a_directory_to_which_everybody_can_write_nothing_is_told_or_believed)
{
    for (const char* const inner : {"", "/remotes"}) {
        const std::string directory = m_scratch / (std::string("open") + (*inner == '\0' ? "" : "-inside"));
        std::filesystem::create_directories(directory + "/remotes");
        ASSERT_EQ(::chmod((directory + inner).c_str(), 0777), 0);
        const auto open_for = [&](Users users) { return open(directory + "/remotes/one", users); };
        open_for(Users::one).failed(Breaker::Failure::server);
        EXPECT_TRUE(std::filesystem::is_empty(directory + "/remotes"));
        open_for(Users::many).failed(Breaker::Failure::server);
        EXPECT_FALSE(open_for(Users::many).allows()) << "where it is meant to be shared, it is";
        EXPECT_TRUE(open_for(Users::one).allows());
    }
}

TEST_F(BreakerTest, one_may_ask_whether_a_server_is_left_alone_without_becoming_the_one_that_tries_it)
{
    open().failed(Breaker::Failure::server);
    Breaker one = open();
    Breaker other = open();
    EXPECT_TRUE(one.left_alone());
    wait_out();
    EXPECT_FALSE(one.left_alone());
    EXPECT_FALSE(one.left_alone());
    EXPECT_TRUE(other.allows()) << "nobody has taken its place";
}

TEST_F(BreakerTest, two_users_of_a_shared_directory_tell_each_other_whatever_their_umask)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can act as two users";
    const test::WithUmask mask(077);
    ASSERT_EQ(::chmod(m_scratch.path().c_str(), 0777), 0);
    const auto shared = [&] { return open(m_scratch / "cache/remotes/one", Users::many); };
    {
        const test::ActingAs first(12345);
        shared().failed(Breaker::Failure::server);
    }
    {
        const test::ActingAs second(23456);
        Breaker breaker = shared();
        EXPECT_FALSE(breaker.allows());
        breaker.succeeded();
    }
    const test::ActingAs first(12345);
    EXPECT_TRUE(shared().allows());
}

TEST_F(BreakerTest, requests_that_fail_count_only_in_a_row)
{
    Breaker breaker = open();
    for (int i = 0; i < 10; ++i) {
        breaker.failed(Breaker::Failure::request);
        breaker.failed(Breaker::Failure::request);
        EXPECT_TRUE(breaker.allows());
        breaker.succeeded();
        EXPECT_FALSE(breaker.is_down());
    }
    for (int i = 0; i < 3; ++i)
        breaker.failed(Breaker::Failure::request);
    EXPECT_FALSE(breaker.allows());
}

// Where there is no file, or none can be, each goes by its own.
TEST_F(BreakerTest, one_failure_is_enough_and_after_a_pause_one_try_is_let_through_and_decides)
{
    for (const std::string& file : {path(), std::string(), std::string("/proc/no/such/place")}) {
        SCOPED_TRACE(file);
        Breaker breaker = open(file);
        EXPECT_TRUE(breaker.allows());
        breaker.failed(Breaker::Failure::server);
        EXPECT_TRUE(breaker.is_down());
        for (int i = 0; i < 100; ++i)
            EXPECT_FALSE(breaker.allows());
        breaker.succeeded();
        EXPECT_TRUE(breaker.allows()) << "at once, whoever has found it well";
        breaker.failed(Breaker::Failure::server);
        wait_out();
        EXPECT_TRUE(breaker.allows()) << "the try";
        EXPECT_FALSE(breaker.allows()) << "nobody else, until it is known how that went";
        breaker.failed(Breaker::Failure::server);
        m_now += k_s;
        EXPECT_FALSE(breaker.allows()) << "twice as long now";
        wait_out();
        EXPECT_TRUE(breaker.allows());
        breaker.succeeded();
        EXPECT_TRUE(breaker.allows());
        EXPECT_TRUE(breaker.allows());
    }
}

TEST_F(BreakerTest, pauses_grow_to_half_a_minute_and_no_further)
{
    Breaker breaker = open();
    std::uint64_t tries = 0;
    breaker.failed(Breaker::Failure::server);
    for (int second = 0; second < 600; ++second) {
        m_now += k_s;
        if (breaker.allows()) {
            ++tries;
            breaker.failed(Breaker::Failure::server);
        }
    }
    EXPECT_GE(tries, 600U / 31);
    EXPECT_LE(tries, 40U);
}

TEST_F(BreakerTest, processes_of_a_machine_share_what_they_find)
{
    Breaker first = open();
    Breaker second = open();
    EXPECT_TRUE(second.allows());
    first.failed(Breaker::Failure::server);
    Breaker third = open();
    EXPECT_FALSE(third.allows()) << "one that starts now pays nothing";
    m_now += k_s / 5;
    EXPECT_FALSE(second.allows()) << "nor one that was at work";
    wait_out();
    EXPECT_TRUE(second.allows());
    EXPECT_FALSE(first.allows()) << "one of them tries";
    EXPECT_FALSE(third.allows());
    second.succeeded();
    m_now += k_s / 5;
    EXPECT_TRUE(first.allows());
    EXPECT_TRUE(third.allows());
}

TEST_F(BreakerTest, one_that_died_while_it_tried_is_not_waited_for_for_ever)
{
    {
        Breaker gone = open();
        gone.failed(Breaker::Failure::server);
        wait_out();
        EXPECT_TRUE(gone.allows());
    }
    Breaker other = open();
    EXPECT_FALSE(other.allows());
    wait_out();
    EXPECT_TRUE(other.allows());
}

TEST_F(BreakerTest, a_file_of_any_bytes_says_nothing)
{
    open().failed(Breaker::Failure::server);
    const std::string right = test::read_file(path());
    ASSERT_EQ(right.size(), 32U);
    EXPECT_FALSE(open().allows());
    const auto expect_nothing = [&](const std::string& wrong, std::size_t at) {
        test::write_file(path(), wrong);
        EXPECT_TRUE(open().allows()) << at;
    };
    test::for_every_flipped_bit(right, expect_nothing);
    test::for_every_cut(right, expect_nothing);
}

}  // namespace

}  // namespace hearth::remotes
