#include "program.hpp"

#include <limits>
#include <set>
#include <stdexcept>

namespace hearth::test {
namespace {

using Moves = std::vector<std::string>;

TEST(Ledger, what_has_no_room_goes_down_the_chain_and_out_of_the_last_tier)
{
    Program program({{"device", 100, 0, lru()}, {"host", 100, 0, lru()}, {"far", 0, 1, lru()}});
    program.add_all(1, 5, 50);
    // Room is made from below: what goes furthest goes first.
    EXPECT_EQ(program.take_moves(), (Moves{"1:0>1", "2:0>1", "1:1>2", "3:0>1"}));
    ASSERT_TRUE(program.add(6, 100).ok());
    EXPECT_EQ(program.take_moves(), (Moves{"1:2>", "2:1>2", "4:0>1", "2:2>", "3:1>2", "5:0>1"}));
    EXPECT_EQ(program.tier_of(1), -1);
    EXPECT_EQ(program.tier_of(3), 2);
    EXPECT_EQ(program.tier_of(4), 1);
    EXPECT_EQ(program.tier_of(6), 0);
    const ledger::Stats stats = program.ledger().stats();
    EXPECT_EQ(stats.demotions, 8U);
    EXPECT_EQ(stats.evictions, 2U);
    EXPECT_EQ(stats.promotions + stats.refused, 0U);
    program.expect_exact();
    program.expect_within_limits();
}

TEST(Ledger, the_third_use_moves_a_buffer_up_and_what_makes_room_goes_down)
{
    Program program({{"device", 100, 0, lru()}, {"host", 400}});
    program.add_all(1, 2, 100);
    program.take_moves();
    for (int use = 1; use <= 2; ++use)
        EXPECT_EQ(program.ledger().lease(numbered_key(1)).tier(), 1U);
    EXPECT_EQ(program.take_moves(), Moves{});
    const ledger::Lease lease = program.ledger().lease(numbered_key(1));
    EXPECT_EQ(lease.tier(), 0U);
    EXPECT_TRUE(program.owns(numbered_key(1), lease)) << "the lease is of the buffer's new place";
    EXPECT_EQ(program.take_moves(), (Moves{"2:0>1", "1:1>0"}));
    EXPECT_EQ(program.ledger().stats().promotions, 1U);
    program.expect_exact();
}

TEST(Ledger, a_lease_evicts_nothing_and_leaves_a_smaller_tier_intact)
{
    Program full({{"device", 100, 0, lru()}, {"host", 200, 0, lru()}});
    full.add_all(1, 3, 100);
    full.take_moves();
    Program small({{"device", 50}, {"host", 400}});
    ASSERT_TRUE(small.add(1, 100, 1).ok());
    ASSERT_TRUE(small.add(2, 50).ok());
    for (int use = 0; use < 9; ++use) {
        EXPECT_EQ(full.ledger().lease(numbered_key(1)).tier(), 1U);
        EXPECT_EQ(small.ledger().lease(numbered_key(1)).tier(), 1U);
    }
    EXPECT_EQ(full.take_moves(), Moves{});
    EXPECT_EQ(small.take_moves(), Moves{});
    full.expect_exact();
    small.expect_exact();
}

TEST(Ledger, a_leased_buffer_is_neither_moved_evicted_replaced_nor_removed)
{
    Program program({{"device", 100, 0, lru()}, {"host", 100, 0, lru()}});
    program.add_all(1, 2, 50);
    ledger::Lease first = program.ledger().lease(numbered_key(1));
    ASSERT_TRUE(program.add(3, 50).ok());
    EXPECT_EQ(program.take_moves(), Moves{"2:0>1"}) << "the oldest is in use: the next goes";
    ledger::Lease third = program.ledger().lease(numbered_key(3));

    const Result<ledger::Added> refused = program.add(4, 10);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::no_space);
    EXPECT_EQ(refused.error().message, "Tier \"device\" holds 100 bytes in 2 entries and has no room for 10 more: too "
                                       "little of it can leave. End leases, or raise the limits.");
    EXPECT_EQ(program.add(1, 20).error().code, Code::unavailable);
    EXPECT_EQ(program.ledger().remove(numbered_key(1)).error().code, Code::unavailable);
    EXPECT_EQ(program.ledger().move_to(numbered_key(1), 1).error().code, Code::unavailable);
    EXPECT_FALSE(program.ledger().set_limits(0, {.max_bytes = 60}).ok());
    EXPECT_TRUE(program.owns(numbered_key(1), first));
    EXPECT_TRUE(program.ledger().find(numbered_key(1))->leased);
    EXPECT_EQ(program.take_moves(), Moves{});
    program.expect_exact();

    first = {};
    third = std::move(first);
    ASSERT_TRUE(program.add(4, 10).ok()) << "no lease is left";
    EXPECT_FALSE(program.ledger().find(numbered_key(3))->leased);
    program.expect_within_limits();
    program.expect_exact();
}

TEST(Ledger, what_was_leased_goes_in_its_turn_afterwards)
{
    Program program({{"device", 150, 0, lru()}, {"host"}});
    program.add_all(1, 3, 50);
    {
        const ledger::Lease lease = program.ledger().lease(numbered_key(1));
        ASSERT_TRUE(program.ledger().lease(numbered_key(2)));
        ASSERT_TRUE(program.ledger().lease(numbered_key(3)));
        ASSERT_TRUE(program.add(4, 50).ok());
    }
    program.add_all(5, 7, 50);
    // It was passed over when 4 came, and counts as used then.
    EXPECT_EQ(program.take_moves(), (Moves{"2:0>1", "3:0>1", "1:0>1", "4:0>1"}));
}

TEST(Ledger, a_lease_may_outlive_the_ledger)
{
    std::optional<Program> program;
    program.emplace(std::vector<ledger::Tier>{{"device", 100}, {"host"}});
    const ledger::Handle handle = program->add(1, 50)->handle;
    ledger::Lease lease = program->ledger().lease(numbered_key(1));
    program.reset();
    const ledger::Lease moved = std::move(lease);
    EXPECT_EQ(moved.handle(), handle);
    EXPECT_EQ(moved.bytes(), 50U);
}

TEST(Ledger, replacing_a_key_counts_the_new_size_and_hands_the_old_buffer_back)
{
    Program program({{"device", 200}, {"host", 200}});
    const ledger::Handle first = program.add(1, 100)->handle;
    const Result<ledger::Added> second = program.add(1, 200);
    ASSERT_TRUE(second.ok()) << "the old one makes room for the new one";
    ASSERT_TRUE(second->replaced.has_value());
    EXPECT_EQ(second->replaced->handle, first);
    EXPECT_EQ(second->replaced->bytes, 100U);
    EXPECT_EQ(program.ledger().usage()[0].bytes, 200U);
    EXPECT_EQ(program.take_moves(), Moves{});

    EXPECT_EQ(program.add(1, 201).error().code, Code::too_large);
    EXPECT_EQ(program.ledger().find(numbered_key(1))->handle, second->handle) << "it keeps the old one";

    const Result<ledger::Added> below = program.add(1, 50, 1);
    EXPECT_EQ(below->replaced->tier, 0U) << "a key is in one tier";
    EXPECT_EQ(program.ledger().usage()[0].entries, 0U);
    EXPECT_EQ(program.ledger().usage()[1].bytes, 50U);
    program.expect_exact();
}

TEST(Ledger, what_is_larger_than_a_tier_disturbs_nothing_there)
{
    Program program({{"device", 200, 0, lru()}, {"host", 100, 0, lru()}, {"far", 200, 0, lru()}});
    ASSERT_TRUE(program.add(1, 60).ok());
    const Result<ledger::Added> refused = program.add(2, 300);
    EXPECT_EQ(refused.error().code, Code::too_large);
    EXPECT_EQ(refused.error().message, "Entry of 300 bytes is larger than tier \"device\" can hold (200). Raise its "
                                       "capacity or lower the entry's size.");
    ASSERT_TRUE(program.add(3, 60, 1).ok());
    ASSERT_TRUE(program.add(4, 120).ok());
    ASSERT_TRUE(program.add(5, 200).ok());
    EXPECT_EQ(program.take_moves(), (Moves{"3:1>2", "1:0>1", "4:0>2"})) << "4 passes the tier that is too small for it";
    EXPECT_EQ(program.ledger().move_to(numbered_key(4), 1).error().code, Code::too_large);
    program.expect_exact();
}

TEST(Ledger, buffers_of_no_bytes_count_as_entries)
{
    Program program({{"device", 100, 2, lru()}, {"host"}});
    program.add_all(1, 3, 0);
    EXPECT_EQ(program.take_moves(), Moves{"1:0>1"});
    EXPECT_TRUE(program.ledger().lease(numbered_key(1)));
    EXPECT_EQ(program.ledger().lease(numbered_key(1)).bytes(), 0U);
    program.expect_exact();
}

TEST(Ledger, sizes_near_two_to_the_64th_do_not_wrap_round)
{
    constexpr std::uint64_t k_most = std::numeric_limits<std::uint64_t>::max();
    Program program({{"device", 0, 0, lru()}, {"host", k_most, 0, lru()}});
    ASSERT_TRUE(program.add(1, k_most).ok());
    ASSERT_TRUE(program.add(2, 0).ok());
    EXPECT_EQ(program.take_moves(), Moves{});
    ASSERT_TRUE(program.add(3, 1, 0, 1.0).ok());
    EXPECT_EQ(program.take_moves(), Moves{"1:0>1"}) << "no limit is 2^64 - 1";
    ASSERT_TRUE(program.add(4, k_most - 1, 0, 1.0).ok());
    ASSERT_TRUE(program.add(5, 2).ok());
    EXPECT_EQ(program.ledger().usage()[0].bytes, 2U);
    EXPECT_EQ(program.ledger().usage()[1].bytes, k_most) << "3 and 4, for which 1 went";
    EXPECT_EQ(program.tier_of(1), -1);
    ASSERT_TRUE(program.add(5, k_most).ok());
    ASSERT_TRUE(program.add(5, k_most).ok());
    EXPECT_EQ(program.ledger().usage()[0].bytes, k_most);
    program.expect_exact();
}

TEST(Ledger, a_limit_that_is_lowered_moves_what_no_longer_fits_at_once)
{
    Program program({{"device", 400, 0, lru()}, {"host", 400, 0, lru()}});
    program.add_all(1, 4, 100);
    ASSERT_TRUE(program.ledger().set_limits(0, {.max_bytes = 250}).ok());
    EXPECT_EQ(program.take_moves(), (Moves{"1:0>1", "2:0>1"}));
    ASSERT_TRUE(program.ledger().set_limits(1, {.max_entries = 1}).ok());
    EXPECT_EQ(program.take_moves(), Moves{"1:1>"});
    program.expect_within_limits();

    const ledger::Lease lease = program.ledger().lease(numbered_key(3));
    const Status refused = program.ledger().set_limits(0, {.max_bytes = 50});
    EXPECT_EQ(refused.error().message, "Tier \"device\" holds 200 bytes in 2 entries, more than its limits allow: too "
                                       "little of it can leave. End leases, or raise the limits.");
    EXPECT_EQ(program.ledger().limits(0).max_bytes, 50U);
    EXPECT_EQ(program.take_moves(), Moves{}) << "what would not be enough does not go either";
    EXPECT_FALSE(program.add(5, 10).ok());
    EXPECT_EQ(program.ledger().set_limits(0, {.max_age = std::chrono::seconds(1)}).error().code,
              Code::invalid_argument);
    program.expect_exact();
}

TEST(Ledger, a_buffer_is_moved_by_hand_and_room_is_made_for_it)
{
    Program program({{"device", 100, 0, lru()}, {"host", 100, 0, lru()}});
    ASSERT_TRUE(program.add(1, 100, 1).ok());
    ASSERT_TRUE(program.ledger().move_to(numbered_key(1), 0).ok());
    ASSERT_TRUE(program.ledger().move_to(numbered_key(1), 0).ok()) << "it is there";
    EXPECT_EQ(program.take_moves(), Moves{"1:1>0"});
    ASSERT_TRUE(program.add(2, 100, 1).ok());
    ASSERT_TRUE(program.ledger().move_to(numbered_key(1), 1).ok());
    EXPECT_EQ(program.take_moves(), (Moves{"2:1>", "1:0>1"}));
    EXPECT_EQ(program.ledger().move_to(numbered_key(9), 0).error().code, Code::not_found);
    EXPECT_EQ(program.ledger().move_to(numbered_key(1), 2).error().message,
              "There is no tier 2: the last of this ledger is 1, \"host\".");
    EXPECT_EQ(program.add(3, 1, 7).error().code, Code::invalid_argument);
    program.expect_exact();
}

TEST(Ledger, what_is_removed_is_told_where_it_was_and_is_found_no_more)
{
    Program program({{"device", 100}, {"host"}});
    const ledger::Handle handle = program.add(1, 70)->handle;
    EXPECT_EQ(program.ledger().find(numbered_key(1))->handle, handle);
    EXPECT_TRUE(program.remove(1));
    EXPECT_FALSE(program.remove(1));
    EXPECT_EQ(program.ledger().remove(numbered_key(1)).error().code, Code::not_found);
    EXPECT_FALSE(program.ledger().lease(numbered_key(1)));
    EXPECT_FALSE(program.ledger().find(numbered_key(1)));
    EXPECT_EQ(program.ledger().usage()[0].bytes, 0U);
    program.expect_exact();
}

// Names the largest, and says of which tier it is asked.
class Largest final : public Policy {
public:
    void inserted(const Resident& entry) override { m_entries.emplace(entry.bytes, &entry); }
    void removed(const Resident& entry) override { m_entries.erase({entry.bytes, &entry}); }
    const Resident* victim() override { return m_entries.empty() ? nullptr : m_entries.rbegin()->second; }
    bool admit(const Resident& entry) const override { return entry.bytes != 13; }
    bool promote(const Resident& /*entry*/) const override { return true; }

private:
    std::set<std::pair<std::uint64_t, const Resident*>> m_entries;
};

TEST(Ledger, a_policy_of_the_programs_own_decides)
{
    const PolicyFactory largest = [] { return std::make_unique<Largest>(); };
    Program program({{"device", 100, 0, largest}, {"host", 0, 0, largest}});
    for (const std::uint64_t bytes : {20, 50, 30})
        ASSERT_TRUE(program.add(bytes, bytes).ok());
    ASSERT_TRUE(program.add(1, 1).ok());
    EXPECT_EQ(program.take_moves(), Moves{"50:0>1"});
    EXPECT_EQ(program.ledger().lease(numbered_key(50)).tier(), 0U) << "it is promoted by its first use";
    EXPECT_EQ(program.add(13, 13).error().code, Code::no_space);
    program.expect_exact();

    const PolicyFactory naming_none = [] {
        struct NamingNone final : Policy {
            void inserted(const Resident& /*entry*/) override {}
            void removed(const Resident& /*entry*/) override { throw std::runtime_error("never"); }
            const Resident* victim() override { return nullptr; }
        };
        return std::make_unique<NamingNone>();
    };
    Program unnamed({{"device", 100, 0, naming_none}});
    for (std::uint64_t number = 0; number < 50; ++number)
        ASSERT_TRUE(unnamed.add(number, 40).ok()) << "limits hold whatever a policy does";
    unnamed.expect_within_limits();
    unnamed.expect_exact();
}

TEST(Ledger, what_costs_more_to_make_anew_stays)
{
    Program program({{"device", 100}, {"host", 100}});
    ASSERT_TRUE(program.add(1, 50, 0, 10.0).ok());
    ASSERT_TRUE(program.add(2, 50, 0, 0.1).ok());
    ASSERT_TRUE(program.add(3, 50, 0, 5.0).ok());
    EXPECT_EQ(program.take_moves(), Moves{"2:0>1"});
    const Result<ledger::Added> refused = program.add(4, 50, 0, 0.001);
    EXPECT_EQ(refused.error().code, Code::no_space) << "the policy finds the others worth more";
    EXPECT_EQ(program.take_moves(), Moves{});
    program.expect_exact();
}

TEST(Ledger, it_is_not_opened_without_tiers_a_move_function_or_a_policy)
{
    const ledger::MoveFunction move = [](const ledger::Move&) -> Result<ledger::Handle> { return ledger::Handle{0}; };
    EXPECT_EQ(Ledger::open({.tiers = {}, .move = move}).error().code, Code::invalid_argument);
    EXPECT_EQ(Ledger::open({.tiers = {{"device"}}, .move = {}}).error().code, Code::invalid_argument);
    const PolicyFactory none = [] { return std::unique_ptr<Policy>(); };
    EXPECT_EQ(Ledger::open({.tiers = {{"device", 0, 0, none}}, .move = move}).error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace hearth::test
