#pragma once

#include "hearth/tier.hpp"
#include "support/manual_clock.hpp"
#include "support/sample_entries.hpp"
#include "support/scratch_directory.hpp"

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
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
};

inline void PrintTo(const TierCase& tier, std::ostream* out)
{
    *out << tier.name;
}

// What every tier promises the engine: the contract of hearth::Tier. A tier joins with
//     INSTANTIATE_TEST_SUITE_P(mine, TierConformance, testing::Values(TierCase{"mine", open_mine}));
// The numbers in tier_conformance*.cpp are those of the capabilities a case shows.
class TierConformance : public testing::TestWithParam<TierCase> {
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

    // Stores key `number` with a payload of `size` bytes; a failure fails the test.
    static StoreReport put(Tier& tier, std::uint64_t number, std::size_t size, std::uint64_t version = 0,
                           Victims victims = Victims::discard);
    // Whether key `number` is found, with exactly what put() stored.
    static bool holds(Tier& tier, std::uint64_t number, std::size_t size, std::uint64_t version = 0);
    // Usage, listing and verification agree with each other.
    static void expect_exact_accounting(Tier& tier);

    ManualClock m_clock;

private:
    ScratchDirectory m_scratch;
    int m_opened = 0;
};

}  // namespace hearth::test
