#include "program.hpp"
#include "support/forks.hpp"

#include <future>
#include <latch>
#include <stdexcept>
#include <thread>
#include <unistd.h>

// Moves that the program refuses, callbacks that use the ledger, and threads that meet a buffer in motion.

namespace hearth::test {
namespace {

using Moves = std::vector<std::string>;

std::vector<ledger::Tier> three_tiers()
{
    return {{"device", 100, 0, lru()}, {"host", 100, 0, lru()}, {"far", 100, 0, lru()}};
}

Error no_memory_there()
{
    return {Code::no_memory, "There is no memory.", {}};
}

// Two buffers in each of three tiers.
void fill(Program& program)
{
    program.add_all(1, 6, 50);
    program.take_moves();
}

TEST(LedgerRefusal, wherever_the_program_refuses_every_move_nothing_has_changed)
{
    for (std::size_t from = 0; from < 3; ++from) {
        Program program(three_tiers());
        fill(program);
        std::size_t asked = 0;
        program.set_refuse([&](const ledger::Move& move) -> std::optional<Error> {
            asked += move.from == from ? 1 : 0;
            return move.from == from ? std::optional(no_memory_there()) : std::nullopt;
        });
        const Result<ledger::Added> refused = program.add(7, 50);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, Code::no_memory);
        EXPECT_NE(refused.error().message.find("The program did not move buffer"), std::string::npos);
        EXPECT_NE(refused.error().message.find("There is no memory."), std::string::npos);
        EXPECT_GE(asked, 2U) << "another victim is tried";
        EXPECT_LE(asked, 8U);
        EXPECT_EQ(program.ledger().stats().refused, asked);
        EXPECT_EQ(program.tier_of(7), -1);
        for (std::uint64_t number = 5; number <= 6; ++number)
            EXPECT_EQ(program.tier_of(number), 0);
        program.expect_exact();
        program.expect_within_limits();

        // The room that was reserved on the way has been given back.
        program.set_refuse({});
        ASSERT_TRUE(program.add(7, 100).ok());
        program.expect_exact();
        program.expect_within_limits();
    }
}

TEST(LedgerRefusal, one_buffer_that_stays_is_passed_over_for_another)
{
    Program program(three_tiers());
    fill(program);
    program.set_refuse([](const ledger::Move& move) {
        return move.key == numbered_key(5) ? std::optional(no_memory_there()) : std::nullopt;
    });
    ASSERT_TRUE(program.add(7, 50).ok());
    EXPECT_EQ(program.take_moves().back(), "6:0>1");
    EXPECT_EQ(program.tier_of(5), 0);
    EXPECT_EQ(program.ledger().stats().refused, 1U);
    program.expect_exact();
}

TEST(LedgerRefusal, no_more_than_eight_are_asked_for_one_call)
{
    Program program({{"device", 100, 0, lru()}});
    program.add_all(0, 19, 5);
    program.set_refuse([](const ledger::Move&) { return no_memory_there(); });
    EXPECT_FALSE(program.add(20, 5).ok());
    EXPECT_EQ(program.ledger().stats().refused, 8U);
    program.expect_exact();
}

TEST(LedgerRefusal, a_promotion_that_is_refused_leaves_the_buffer_where_it_is)
{
    Program program({{"device", 100}, {"host", 100}});
    ASSERT_TRUE(program.add(1, 50, 1).ok());
    program.set_refuse([](const ledger::Move&) { return no_memory_there(); });
    for (int use = 0; use < 5; ++use) {
        const ledger::Lease lease = program.ledger().lease(numbered_key(1));
        EXPECT_EQ(lease.tier(), 1U);
        EXPECT_TRUE(program.owns(numbered_key(1), lease));
    }
    EXPECT_EQ(program.ledger().stats().refused, 3U);
    EXPECT_FALSE(program.ledger().find(numbered_key(1))->leased) << "no lease is left behind";
    ASSERT_TRUE(program.add(2, 100).ok()) << "no room is left reserved";
    program.expect_exact();
}

TEST(LedgerRefusal, a_limit_that_cannot_be_kept_is_an_error_and_holds_for_what_comes)
{
    Program program({{"device", 100, 0, lru()}});
    ASSERT_TRUE(program.add(1, 60).ok());
    program.set_refuse([](const ledger::Move&) { return no_memory_there(); });
    EXPECT_EQ(program.ledger().set_limits(0, {.max_bytes = 50}).error().code, Code::no_memory);
    EXPECT_EQ(program.tier_of(1), 0);
    program.set_refuse({});
    ASSERT_TRUE(program.add(2, 10).ok());
    EXPECT_EQ(program.take_moves(), Moves{"1:0>"});
    program.expect_within_limits();
}

TEST(LedgerRefusal, what_is_thrown_is_a_refusal)
{
    Program program({{"device", 100, 0, lru()}});
    ASSERT_TRUE(program.add(1, 60).ok());
    program.set_refuse([](const ledger::Move&) -> std::optional<Error> { throw std::runtime_error("no such device"); });
    const Result<ledger::Added> refused = program.add(2, 60);
    EXPECT_NE(refused.error().message.find("It threw: no such device"), std::string::npos) << refused.error().message;
    program.set_refuse([](const ledger::Move&) -> std::optional<Error> { throw std::bad_alloc(); });
    EXPECT_EQ(program.add(2, 60).error().code, Code::no_memory);
    EXPECT_EQ(
        program.ledger().add(numbered_key(2), {.bytes = 10}, []() -> Result<ledger::Handle> { throw 7; }).error().code,
        Code::io);
    program.expect_exact();
    EXPECT_EQ(program.tier_of(1), 0);
}

TEST(LedgerRefusal, a_buffer_that_could_not_be_made_leaves_the_old_one)
{
    Program program({{"device", 100, 0, lru()}, {"host"}});
    const ledger::Handle handle = program.add(1, 60)->handle;
    const auto fail = []() -> Result<ledger::Handle> { return no_memory_there(); };
    EXPECT_EQ(program.ledger().add(numbered_key(1), {.bytes = 100}, fail).error().code, Code::no_memory);
    EXPECT_EQ(program.ledger().add(numbered_key(2), {.bytes = 40}, fail).error().code, Code::no_memory);
    EXPECT_EQ(program.ledger().find(numbered_key(1))->handle, handle);
    EXPECT_FALSE(program.ledger().find(numbered_key(2)));
    EXPECT_EQ(program.ledger().stats().demotions, 0U);
    ASSERT_TRUE(program.add(2, 40).ok()) << "its room was given back";
    EXPECT_EQ(program.take_moves(), Moves{});
    program.expect_exact();
}

TEST(LedgerCallback, it_may_look_and_lease_and_may_not_change)
{
    Program program({{"device", 100, 0, lru()}, {"host", 100}});
    Program other({{"device", 100}});
    program.add_all(1, 2, 50);
    int called = 0;
    program.set_refuse([&](const ledger::Move& move) -> std::optional<Error> {
        ++called;
        Ledger& ledger = program.ledger();
        EXPECT_EQ(move.key, numbered_key(1));
        const ledger::Lease of_moving = ledger.lease(move.key);
        EXPECT_FALSE(of_moving);
        EXPECT_TRUE(of_moving.moving());
        EXPECT_TRUE(ledger.find(move.key)->moving);
        EXPECT_EQ(ledger.find(move.key)->handle, move.handle);
        EXPECT_EQ(ledger.usage()[0].bytes, 100U) << "it counts until it has moved";
        EXPECT_TRUE(ledger.lease(numbered_key(2)));
        const ledger::Lease absent = ledger.lease(numbered_key(9));
        EXPECT_FALSE(absent || absent.moving());
        EXPECT_EQ(ledger.stats().demotions, 0U);
        int listed = 0;
        ledger.for_each([&](const ledger::Holding&) { return ++listed > 0; });
        EXPECT_EQ(listed, 2);

        EXPECT_EQ(ledger.add(numbered_key(9), {.bytes = 1}).error().code, Code::invalid_argument);
        EXPECT_EQ(ledger.remove(move.key).error().code, Code::invalid_argument);
        EXPECT_EQ(ledger.remove(numbered_key(2)).error().code, Code::invalid_argument);
        EXPECT_EQ(ledger.move_to(numbered_key(2), 1).error().code, Code::invalid_argument);
        EXPECT_EQ(ledger.set_limits(0, {}).error().code, Code::invalid_argument);
        EXPECT_TRUE(other.add(1, 10).ok()) << "another ledger is another matter";
        return std::nullopt;
    });
    const Result<ledger::Added> added = program.ledger().add(numbered_key(3), {.bytes = 10}, [&] {
        EXPECT_EQ(program.ledger().remove(numbered_key(2)).error().code, Code::invalid_argument);
        return Result<ledger::Handle>(no_memory_there());
    });
    EXPECT_EQ(added.error().code, Code::no_memory);
    EXPECT_EQ(called, 1);
    EXPECT_TRUE(program.remove(2)) << "afterwards it may be changed again";
    program.expect_exact();
}

TEST(LedgerCallback, uses_that_it_makes_move_nothing)
{
    Program program({{"device", 100, 0, lru()}, {"host"}});
    ASSERT_TRUE(program.add(1, 10, 1).ok());
    ASSERT_TRUE(program.add(2, 100).ok());
    program.set_refuse([&](const ledger::Move&) -> std::optional<Error> {
        for (int use = 0; use < 5; ++use)
            EXPECT_EQ(program.ledger().lease(numbered_key(1)).tier(), 1U);
        return std::nullopt;
    });
    ASSERT_TRUE(program.add(3, 100).ok());
    EXPECT_EQ(program.take_moves(), Moves{"2:0>1"});
}

// A move of key 1 from the device to the host that is held up until it is let go.
class HeldUpMove : public testing::Test {
protected:
    HeldUpMove()
    {
        m_program.add(1, 60).value();
        m_program.set_refuse([this](const ledger::Move& move) -> std::optional<Error> {
            if (move.key != numbered_key(1))
                return std::nullopt;
            m_begun.count_down();
            m_go.get_future().wait();
            return m_refusal;
        });
        m_mover = std::async(std::launch::async, [this] { return m_program.add(2, 60).ok(); });
        m_begun.wait();
    }
    ~HeldUpMove() override
    {
        if (m_mover.valid())
            let_go();  // a test that was skipped has not
    }
    // The tier in which another thread leases the buffer.
    std::future<std::size_t> lease_elsewhere()
    {
        return std::async(std::launch::async, [this] { return m_program.ledger().lease(numbered_key(1)).tier(); });
    }
    // What others wait for.
    bool let_go()
    {
        m_go.set_value();
        return m_mover.get();
    }

    Program m_program{{{"device", 100, 0, lru()}, {"host", 200, 0, lru()}}};
    std::latch m_begun{1};
    std::promise<void> m_go;
    std::optional<Error> m_refusal;
    std::future<bool> m_mover;
};

TEST_F(HeldUpMove, others_lease_it_where_it_has_arrived)
{
    auto lease = lease_elsewhere();
    EXPECT_TRUE(m_program.ledger().find(numbered_key(1))->moving);
    EXPECT_TRUE(let_go());
    EXPECT_EQ(lease.get(), 1U);
    m_program.expect_exact();
}

TEST_F(HeldUpMove, others_lease_it_where_it_stayed)
{
    m_refusal = no_memory_there();
    auto lease = lease_elsewhere();
    EXPECT_FALSE(let_go());
    EXPECT_EQ(lease.get(), 0U);
    m_program.expect_exact();
}

TEST_F(HeldUpMove, it_is_removed_and_replaced_once_it_has_arrived)
{
    auto removed = std::async(std::launch::async, [this] { return m_program.remove(1); });
    auto replaced = std::async(std::launch::async, [this] { return m_program.add(1, 10, 1).ok(); });
    EXPECT_TRUE(let_go());
    EXPECT_TRUE(removed.get());
    EXPECT_TRUE(replaced.get());
    m_program.expect_exact();
}

TEST_F(HeldUpMove, everything_else_goes_on_meanwhile)
{
    ASSERT_TRUE(m_program.add(3, 40).ok()) << "there is room for it";
    EXPECT_TRUE(m_program.ledger().lease(numbered_key(3)));
    EXPECT_TRUE(m_program.ledger().move_to(numbered_key(3), 1).ok());
    EXPECT_TRUE(m_program.remove(3));
    EXPECT_EQ(m_program.ledger().usage()[0].bytes, 60U);
    EXPECT_TRUE(let_go());
    EXPECT_EQ(m_program.tier_of(2), 0);
    m_program.expect_exact();
}

TEST_F(HeldUpMove, a_child_that_is_forked_while_somebody_waits_can_end_its_ledger)
{
    SKIP_FORKS_BESIDE_THREADS();
    auto lease = lease_elsewhere();
    for (int fork = 0; fork < 20 && !HasFailure(); ++fork) {  // by one of these the other thread does wait
        for (int i = 0; i < 1000; ++i)
            std::this_thread::yield();
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(20);
            std::destroy_at(&m_program.ledger());
            ::_exit(0);
        }
        EXPECT_TRUE(child_was_right(child));
    }
    EXPECT_TRUE(let_go());
    EXPECT_EQ(lease.get(), 1U);
}

TEST_F(HeldUpMove, who_needs_the_room_waits_for_it_whatever_else_changes_meanwhile)
{
    auto added = std::async(std::launch::async, [this] { return m_program.add(4, 100).ok(); });
    for (int i = 0; i < 3000; ++i) {
        ASSERT_TRUE(m_program.add(3, 1, 1).ok());
        ASSERT_TRUE(m_program.remove(3));
        std::this_thread::yield();
    }
    EXPECT_TRUE(let_go());
    EXPECT_TRUE(added.get()) << "2 leaves for it, once it is in";
    m_program.expect_within_limits();
    m_program.expect_exact();
}

}  // namespace
}  // namespace hearth::test
