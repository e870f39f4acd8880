#include "tier_conformance.hpp"

#include "support/in_threads.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <atomic>
#include <map>
#include <random>

// Long random histories, alone against a plain map and with eight threads at once.

namespace hearth::test {

namespace {

// Random uses of a tier, each held against a plain map of what it should hold, told only by what the tier answered.
class RandomHistory {
public:
    RandomHistory(Tier& tier, const TierCase& facts, std::uint64_t first)
        : m_tier(tier), m_facts(facts), m_random(first)
    {
    }

    void step()
    {
        const Key key = numbered_key(below(400));
        const std::uint64_t dice = below(10'000);
        if (dice < 4000)
            store(key);
        else if (dice < 7500)
            find(key);
        else if (dice < 8700)
            ASSERT_EQ(m_tier.remove(key), m_held.erase(key) == 1);
        else if (dice < 9200)
            ASSERT_EQ(m_tier.contains(key), m_held.contains(key));
        else if (dice < 9600)
            m_tier.touch(key, static_cast<std::uint32_t>(below(4)));
        else if (dice < 9900)
            info(key);
        else if (dice < 9970)
            forget(m_tier.set_limits(any_limits(), Victims::discard), EvictionCause::limit_lowered, Victims::discard);
        else if (dice < 9998)
            m_tier.set_policy(below(2) == 0 ? lru() : gdsf());
        else if (m_facts.lists) {
            m_tier.clear();
            m_held.clear();
        }
        expect_within_limits();
    }

    void compare() const
    {
        TierUsage sum;
        for (const auto& [key, held] : m_held) {
            sum.bytes += held.bytes;
            ++sum.entries;
        }
        if (m_facts.budgeted) {
            const TierUsage used = m_tier.usage();
            ASSERT_EQ(used.bytes, sum.bytes);
            ASSERT_EQ(used.entries, sum.entries);
        }
        if (!m_facts.lists)
            return;
        std::uint64_t visited = 0;
        m_tier.for_each([&](const EntryRow& row) {
            const auto held = m_held.find(row.key);
            EXPECT_TRUE(held != m_held.end() && held->second.bytes == row.stored_bytes &&
                        held->second.size == row.bytes);
            ++visited;
            return true;
        });
        ASSERT_EQ(visited, sum.entries);
    }

private:
    struct Held {
        std::size_t size = 0;
        std::uint64_t version = 0;
        std::uint64_t bytes = 0;
    };

    std::uint64_t below(std::uint64_t bound) { return m_random() % bound; }

    void expect_within_limits() const
    {
        if (!m_facts.budgeted)
            return;
        const Limits limits = m_tier.limits();
        const TierUsage used = m_tier.usage();
        ASSERT_TRUE(limits.max_bytes == 0 || used.bytes <= limits.max_bytes) << used.bytes;
        ASSERT_TRUE(limits.max_entries == 0 || used.entries <= limits.max_entries) << used.entries;
    }
    Limits any_limits()
    {
        return {.max_bytes = below(3) == 0 ? 0 : 20'000 + below(200'000),
                .max_entries = below(3) == 0 ? 0 : 20 + below(200)};
    }
    void forget(const std::vector<Victim>& gone, EvictionCause cause, Victims victims)
    {
        for (const Victim& victim : gone) {
            const auto found = m_held.find(victim.key);
            ASSERT_NE(found, m_held.end()) << "a victim that was not there";
            EXPECT_EQ(victim.bytes, found->second.bytes);
            EXPECT_EQ(victim.cause, cause);
            EXPECT_EQ(victim.entry.has_value(), victims == Victims::keep);
            m_held.erase(found);
        }
    }
    void store(const Key& key)
    {
        const std::size_t size = below(8) == 0 ? below(30'000) : below(2000);
        const std::uint64_t version = below(4);
        const Victims victims = below(2) == 0 ? Victims::discard : Victims::keep;
        const bool was_there = m_held.contains(key);
        const Result<Stored> report = store_and_send(m_tier, key, sample_entry(key, size, version), victims);
        if (report.ok()) {
            EXPECT_EQ(report->replaced, m_facts.budgeted && was_there);
            forget(report->victims, EvictionCause::capacity, victims);
            EXPECT_EQ(m_held.contains(key), was_there) << "what is replaced is no victim";
            m_held[key] = {size, version, report->bytes};
        } else if (report.error().code == Code::no_space) {
            ASSERT_FALSE(was_there) << "only what is new is weighed against what is there";
        } else {
            ASSERT_EQ(report.error().code, Code::too_large);
            ASSERT_NE(m_tier.limits().max_bytes, 0U);
        }
    }
    void find(const Key& key)
    {
        const Found found = m_tier.find(key);
        const auto held = m_held.find(key);
        ASSERT_EQ(static_cast<bool>(found), held != m_held.end());
        if (found) {
            ASSERT_EQ(found.artifact->text(), sample_bytes(key, held->second.size, held->second.version).text());
            ASSERT_EQ(found.bytes, held->second.bytes);
        }
    }
    void info(const Key& key)
    {
        const std::optional<EntryRow> row = m_tier.info(key);
        const auto held = m_held.find(key);
        ASSERT_EQ(row.has_value(), held != m_held.end());
        if (row) {
            ASSERT_EQ(row->bytes, held->second.size);
            ASSERT_EQ(row->stored_bytes, held->second.bytes);
        }
    }

    Tier& m_tier;
    const TierCase& m_facts;
    std::mt19937_64 m_random;
    std::map<Key, Held> m_held;
};

}  // namespace

// 11, 23, 8 of the rules
TEST_P(TierConformance, a_million_random_operations_agree_with_a_plain_map_and_stay_within_the_limits)
{
    const auto tier = open({.max_bytes = 150'000}, gdsf());
    RandomHistory history(*tier, GetParam(), seed());
    const std::uint64_t steps = scaled(1'000'000 / effort());
    for (std::uint64_t step = 1; step <= steps; ++step) {
        ASSERT_NO_FATAL_FAILURE(history.step()) << "step " << step;
        ASSERT_FALSE(HasFailure()) << "step " << step;
        if (step % 1000 == 0) {
            ASSERT_NO_FATAL_FAILURE(history.compare()) << "step " << step;
        }
    }
    ASSERT_NO_FATAL_FAILURE(history.compare());
    expect_exact_accounting(*tier);
}

// 65
TEST_P(TierConformance, eight_threads_at_once_always_find_what_belongs_to_the_key)
{
    constexpr std::uint64_t k_versions = 3;
    const std::uint64_t first_seed = seed();
    const auto tier = open({.max_bytes = 60'000});
    in_threads(8, [&](std::uint64_t number) {
        std::mt19937_64 random(first_seed + number);
        std::vector<Found> kept(8);  // what was found outlives what becomes of its entry
        for (std::uint64_t step = 0; step < scaled(40'000 / effort()); ++step) {
            // One key is wanted as often as all others together.
            const Key key = numbered_key(random() % 2 == 0 ? 0 : random() % 64);
            const std::uint64_t dice = random() % 1000;
            if (dice < 600) {
                Found found = tier->find(key);
                ASSERT_TRUE(!found || is_sample_of(*found.artifact, key, k_versions));
                kept[random() % kept.size()] = std::move(found);
            } else if (dice < 850) {
                const Result<Stored> stored =
                    store_in(*tier, key, sample_entry(key, random() % 2000, random() % k_versions), Victims::keep);
                ASSERT_TRUE(stored.ok() || stored.error().code == Code::no_space) << stored.error().message;
                for (const Victim& victim : stored.ok() ? stored->victims : std::vector<Victim>{})
                    ASSERT_TRUE(!victim.entry || is_sample_of(*victim.entry->artifact(), victim.key, k_versions));
            } else if (dice < 930) {
                tier->remove(key);
            } else if (dice < 960) {
                tier->touch(key, 2);
                tier->info(key);
            } else if (dice < 985) {
                tier->set_limits({.max_bytes = 30'000 + random() % 60'000}, Victims::discard);
            } else if (dice < 995) {
                tier->set_policy(dice % 2 == 0 ? lru() : gdsf());
                tier->maintain({});
            } else if (dice < 998) {
                tier->for_each([&](const EntryRow& row) { return row.stored_bytes > 0; });
            } else {
                tier->clear();
            }
        }
    });
    // A server that is behind with its stores may have answered none of those finds; afterwards it answers.
    tier->set_policy(lru());
    put(*tier, 1, 100);
    EXPECT_TRUE(tier->find(numbered_key(1)));
    tier->set_limits({.max_bytes = 30'000}, Victims::discard);
    EXPECT_LE(tier->usage().bytes, 30'000U);
    tier->flush();
    expect_exact_accounting(*tier);
}

// "Whether it was there": among threads that remove the same entry, one is told so.
TEST_P(TierConformance, of_many_threads_that_remove_one_entry_one_is_told_it_was_there)
{
    if (!GetParam().tells_one_remover)
        GTEST_SKIP()
            << "Its server does not tell whether what it removes was there; who asks before may ask too early.";
    const auto tier = open();
    for (std::uint64_t round = 0; round < scaled(200 / effort()); ++round) {
        put(*tier, round, 100);
        std::atomic<int> told{0};
        in_threads(4, [&](std::uint64_t) { told += tier->remove(numbered_key(round)) ? 1 : 0; });
        ASSERT_EQ(told, 1);
    }
}

}  // namespace hearth::test
