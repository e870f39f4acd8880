#include "program.hpp"

#include "policy/policy_conformance.hpp"
#include "support/in_threads.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <atomic>
#include <random>
#include <set>

// Long random histories, alone against a plain map and with many threads at once.

namespace hearth::test {
namespace {

std::vector<ledger::Tier> tiers_of(const PolicyFactory& policy)
{
    return {{"device", 1000, 12, policy}, {"host", 2000, 0, policy}, {"far", 4000, 40, policy}};
}

// Knows exactly what it was told of, wants every touch, and says so if that does not fit together.
class Strict final : public Policy {
public:
    void inserted(const Resident& entry) override { EXPECT_TRUE(m_known.insert(&entry).second); }
    void removed(const Resident& entry) override { EXPECT_EQ(m_known.erase(&entry), 1U); }
    const Resident* victim() override { return m_known.empty() ? nullptr : *m_known.begin(); }
    Touches touches() const override { return Touches::each; }
    void touched(const Resident& entry) override { EXPECT_TRUE(m_known.contains(&entry)); }

private:
    std::set<const Resident*> m_known;
};

class LedgerHistory : public testing::TestWithParam<PolicyCase> {
protected:
    static PolicyFactory policy() { return GetParam().make; }
};

// What should be where, told only by what the ledger answered and the moves it asked for.
TEST_P(LedgerHistory, random_operations_agree_with_a_plain_map)
{
    std::mt19937_64 random(seed());
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    struct Model {
        std::uint64_t bytes = 0;
        std::size_t tier = 0;
    };
    std::map<Key, Model> model;
    std::vector<ledger::Lease> leases;
    std::multiset<Key> leased;
    bool refusing = false;
    Program program(tiers_of(policy()));
    program.set_refuse([&](const ledger::Move& move) -> std::optional<Error> {
        EXPECT_EQ(model.at(move.key).tier, move.from);
        EXPECT_FALSE(leased.contains(move.key));
        if (refusing && below(3) == 0)
            return Error{Code::io, "Not now.", {}};
        if (move.to)
            model.at(move.key).tier = *move.to;
        else
            model.erase(move.key);
        return std::nullopt;
    });
    for (std::uint64_t step = 1; step <= scaled(100'000); ++step) {
        const std::uint64_t number = below(60);
        const Key key = numbered_key(number);
        const bool known = model.contains(key);
        const std::uint64_t dice = below(1000);
        refusing = below(8) == 0;
        if (dice < 350) {
            const Model next{below(20) == 0 ? below(5000) : below(300), below(8) == 0 ? 1 + below(2) : 0};
            const auto before = model;
            if (const auto added = program.add(number, next.bytes, next.tier, below(4) == 0 ? 0.1 : 0); added.ok()) {
                ASSERT_FALSE(leased.contains(key));
                ASSERT_EQ(added->replaced.has_value(), known);
                model[key] = next;
            } else {
                ASSERT_EQ(model.contains(key), known) << "what failed has changed nothing here";
                ASSERT_TRUE(!known || model[key].tier == before.at(key).tier);
            }
        } else if (dice < 700) {
            ledger::Lease lease = program.ledger().lease(key);
            ASSERT_EQ(static_cast<bool>(lease), known);
            if (known) {
                ASSERT_EQ(lease.bytes(), model[key].bytes);
                ASSERT_EQ(lease.tier(), model[key].tier);
                ASSERT_TRUE(program.owns(key, lease));
                if (below(8) == 0) {
                    leases.push_back(std::move(lease));
                    leased.insert(key);
                }
            }
        } else if (dice < 800) {
            ASSERT_EQ(program.remove(number), known && !leased.contains(key));
            if (!leased.contains(key))
                model.erase(key);
        } else if (dice < 900) {
            const std::size_t to = below(3);
            const bool moved = program.ledger().move_to(key, to).ok();
            ASSERT_TRUE(!moved || (known && model[key].tier == to));
        } else if (dice < 970) {
            leases.clear();
            leased.clear();
        } else if (dice < 990) {
            const std::optional<ledger::Holding> found = program.ledger().find(key);
            ASSERT_EQ(found.has_value(), known);
            ASSERT_TRUE(!found || found->leased == leased.contains(key));
        } else if (leases.empty()) {
            refusing = false;
            const std::size_t tier = below(3);
            const Limits limits{.max_bytes = 200 + below(4000), .max_entries = below(2) == 0 ? 0 : 4 + below(40)};
            const Status set = program.ledger().set_limits(tier, limits);
            ASSERT_TRUE(set.ok()) << set.error().message;
        }
        if (leases.empty())
            program.expect_within_limits();
        if (step % 100 == 0) {
            program.expect_exact();
            TierUsage sum[3];
            for (const auto& [held, at] : model) {
                sum[at.tier].bytes += at.bytes;
                ++sum[at.tier].entries;
            }
            for (std::size_t tier = 0; tier < 3; ++tier) {
                ASSERT_EQ(program.ledger().usage()[tier].bytes, sum[tier].bytes);
                ASSERT_EQ(program.ledger().usage()[tier].entries, sum[tier].entries);
            }
        }
        ASSERT_FALSE(HasFailure()) << "step " << step;
    }
    EXPECT_GT(program.ledger().stats().promotions, 0U);
    EXPECT_GT(program.ledger().stats().evictions, 0U);
    EXPECT_GT(program.ledger().stats().refused, 0U);
}

TEST_P(LedgerHistory, eight_threads_at_once_lease_what_is_really_there)
{
    const std::uint64_t first_seed = seed();
    Program program(tiers_of(policy()));
    program.set_refuse([](const ledger::Move& move) -> std::optional<Error> {
        std::this_thread::yield();
        return move.handle % 16 == 0 ? std::optional(Error{Code::io, "Not now.", {}}) : std::nullopt;
    });
    const auto work = [&](std::uint64_t worker) {
        std::mt19937_64 random(first_seed + worker);
        for (std::uint64_t step = 0; step < scaled(2'000); ++step) {
            const std::uint64_t number = random() % 60;
            const Key key = numbered_key(number);
            const std::uint64_t dice = random() % 1000;
            if (dice < 600) {
                const ledger::Lease lease = program.ledger().lease(key);
                std::this_thread::yield();
                ASSERT_TRUE(!lease || program.owns(key, lease)) << "it was moved under a lease";
            } else if (dice < 850) {
                static_cast<void>(program.add(number, random() % 200, random() % 8 == 0 ? 1 : 0));
            } else if (dice < 930) {
                program.remove(number);
            } else if (dice < 980) {
                static_cast<void>(program.ledger().move_to(key, random() % 3));
            } else if (dice < 990) {
                static_cast<void>(program.ledger().set_limits(0, {.max_bytes = 500 + random() % 1000}));
            } else {
                static_cast<void>(program.ledger().find(key));
                program.ledger().for_each([](const ledger::Holding& holding) { return holding.tier < 3; });
            }
        }
    };
    in_threads(8, work);
    program.expect_exact();
    program.set_refuse({});
    EXPECT_TRUE(program.ledger().set_limits(0, {.max_bytes = 500}).ok());
    program.expect_within_limits();
    ASSERT_TRUE(program.add(1, 500).ok()) << "no room is left reserved";
    program.expect_exact();
}

INSTANTIATE_TEST_SUITE_P(policies, LedgerHistory,
                         testing::Values(PolicyCase{"lru", lru()}, PolicyCase{"gdsf", gdsf()},
                                         PolicyCase{"strict", [] { return std::make_unique<Strict>(); }}),
                         [](const auto& policy) { return policy.param.name; });

TEST(LedgerThreads, what_many_add_at_once_never_exceeds_the_budget)
{
    std::atomic<std::uint64_t> on_device{0};
    std::atomic<bool> exceeded{false};
    Ledger ledger = Ledger::open({.tiers = {{"device", 100}, {"host"}},
                                  .move = [&](const ledger::Move& move) -> Result<ledger::Handle> {
                                      on_device -= move.bytes;
                                      return move.handle;
                                  }})
                        .value();
    const auto work = [&](std::uint64_t worker) {
        for (std::uint64_t step = 0; step < scaled(4'000); ++step) {
            const Key key = numbered_key(worker * 1'000'000 + step);
            const auto added = ledger.add(key, {.bytes = 30}, [&]() -> Result<ledger::Handle> {
                if ((on_device += 30) > 100)
                    exceeded = true;
                return ledger::Handle{1};
            });
            ASSERT_TRUE(added.ok()) << added.error().message;
        }
    };
    in_threads(8, work);
    EXPECT_FALSE(exceeded) << "not even while buffers are made and moved";
    EXPECT_LE(ledger.usage()[0].bytes, 100U);
    EXPECT_EQ(ledger.usage()[0].entries + ledger.usage()[1].entries, 8 * scaled(4'000));
}

// Among threads that remove the same buffer, one is told what it was: nobody frees it twice.
TEST(LedgerThreads, of_many_that_remove_one_buffer_one_gets_it)
{
    Program program({{"device", 100}, {"host"}});
    for (std::uint64_t round = 0; round < scaled(100); ++round) {
        ASSERT_TRUE(program.add(round, 100).ok());
        std::atomic<int> told{0};
        in_threads(4, [&](std::uint64_t) { told += program.remove(round) ? 1 : 0; });
        ASSERT_EQ(told, 1);
    }
    program.expect_exact();
}

}  // namespace
}  // namespace hearth::test
