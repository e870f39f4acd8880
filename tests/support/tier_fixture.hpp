#pragma once

#include "support/manual_clock.hpp"
#include "support/sample_entries.hpp"
#include "support/storing.hpp"

#include <cstdint>
#include <gtest/gtest.h>

namespace hearth::test {

// What tests of every kind of tier do with one: entries that are named by numbers.
class TierFixture : public testing::Test {
protected:
    // Stores key `number` with a payload of `size` bytes, to be found by others when it returns: a tier on a server
    // sends in the background. A failure fails the test.
    static Stored put(Tier& tier, std::uint64_t number, std::size_t size, std::uint64_t version = 0,
                      Victims victims = Victims::discard)
    {
        const Key key = numbered_key(number);
        Result<Stored> report = store_in(tier, key, sample_entry(key, size, version), victims);
        if (tier.traits().remote)
            tier.flush();
        EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
        return report.ok() ? *std::move(report) : Stored{};
    }
    // Whether key `number` is found, with what put() stored, whatever its size and version.
    static bool holds(Tier& tier, std::uint64_t number)
    {
        const Found found = tier.find(numbered_key(number));
        EXPECT_TRUE(!found || is_sample_of(*found.artifact, numbered_key(number), 8)) << "key " << number;
        return static_cast<bool>(found);
    }
    // The same, with exactly this.
    static bool holds(Tier& tier, std::uint64_t number, std::size_t size, std::uint64_t version = 0)
    {
        const Found found = tier.find(numbered_key(number));
        if (found) {
            EXPECT_EQ(*found.artifact, *sample_artifact(numbered_key(number), size, version)) << "key " << number;
        }
        return static_cast<bool>(found);
    }

    ManualClock m_clock;
};

}  // namespace hearth::test
