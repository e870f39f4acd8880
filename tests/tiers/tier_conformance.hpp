#pragma once

#include "hearth/tier.hpp"
#include "support/scratch_directory.hpp"
#include "support/tier_fixture.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

namespace hearth::test {

// What a case wants of the tier it is given.
struct TierRequest {
    Limits limits;
    TierContext context;
    std::string scratch;  // an empty directory of the tier's own
};

struct TierCase {
    std::string name;
    std::function<Result<std::unique_ptr<Tier>>(const TierRequest&)> open;
    // What an operation costs beside one in memory: the long cases are shortened by it.
    std::uint64_t effort = 1;
    // Why this machine does not have it; empty when it does.
    std::function<std::string()> absent{};
    // It has limits, a policy that chooses victims, and counts: of bytes, entries, uses, and what a store replaced.
    bool budgeted = true;
    // It can tell what it holds: without that it is neither listed, verified nor cleared.
    bool lists = true;
    // Of several that remove the same at once it tells one alone that it was there.
    bool tells_one_remover = true;
    // It asks its policy whether a new entry outweighs those that must go for it. Not device memory: what a program
    // puts there it will use.
    bool weighs = true;
};

inline void PrintTo(const TierCase& tier, std::ostream* out)
{
    *out << tier.name;
}

// What not every tier can do, and why that is no fault of it. The first line of a case that is about it.
#define HEARTH_NEEDS_BUDGET()                                                                                          \
    if (!GetParam().budgeted)                                                                                          \
    GTEST_SKIP() << "It has no budget of ours: the server forgets as it is set up to."
#define HEARTH_NEEDS_LISTING()                                                                                         \
    if (!GetParam().lists)                                                                                             \
    GTEST_SKIP() << "Its server cannot list what it holds."

// Stores, and then waits until others find it: a tier on a server sends in the background.
Result<Stored> store_and_send(Tier& tier, const Key& key, const Entry& entry, Victims victims);

// What every tier promises the engine: the contract of hearth::Tier. A tier joins with
//     INSTANTIATE_TEST_SUITE_P(mine, TierConformance, testing::Values(TierCase{"mine", open_mine}));
// The numbers in tier_conformance*.cpp are those of the capabilities a case shows.
class TierConformance : public TierFixture, public testing::WithParamInterface<TierCase> {
protected:
    void SetUp() override
    {
        if (GetParam().absent)
            if (const std::string reason = GetParam().absent(); !reason.empty())
                GTEST_SKIP() << reason;
    }

    // LRU unless a case says otherwise: its choices are exact, so a case can name the victim.
    std::unique_ptr<Tier> open(const Limits& limits = {}, const PolicyFactory& policy = lru());

    std::uint64_t effort() const { return GetParam().effort; }
    // What an entry takes of the tier's budget beyond its payload.
    std::uint64_t overhead();

    // Keys first to last, each with a payload of this size.
    static void put_range(Tier& tier, std::uint64_t first, std::uint64_t last, std::size_t size)
    {
        for (std::uint64_t number = first; number <= last; ++number)
            put(tier, number, size);
    }
    // The tier's counts, where it has some, and its listing come to this.
    static void expect_usage(Tier& tier, const TierUsage& expected);
    // Usage, listing and verification agree with each other.
    static void expect_exact_accounting(Tier& tier);

private:
    ScratchDirectory m_scratch;
    int m_opened = 0;
};

}  // namespace hearth::test
