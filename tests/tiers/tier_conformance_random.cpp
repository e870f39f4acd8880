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

// What a tier should hold, told only by what it answered.
class Model {
public:
    explicit Model(const TierCase& facts) : m_facts(facts) {}

    struct Held {
        std::size_t size = 0;
        std::uint64_t version = 0;
        std::uint64_t bytes = 0;
    };

    void stored(const Key& key, const Held& held, const Stored& report)
    {
        EXPECT_EQ(report.replaced, m_facts.budgeted && m_held.contains(key));
        forget(report.victims, &key);
        m_held[key] = held;
    }
    void forget(const std::vector<Victim>& victims, const Key* spared = nullptr)
    {
        for (const Victim& victim : victims) {
            const auto found = m_held.find(victim.key);
            ASSERT_NE(found, m_held.end()) << "a victim that was not there";
            EXPECT_EQ(victim.bytes, found->second.bytes);
            EXPECT_TRUE(!spared || victim.key != *spared);
            m_held.erase(found);
        }
    }
    bool remove(const Key& key) { return m_held.erase(key) == 1; }
    void clear() { m_held.clear(); }
    const Held* find(const Key& key) const
    {
        const auto found = m_held.find(key);
        return found == m_held.end() ? nullptr : &found->second;
    }

    void compare(Tier& tier) const
    {
        TierUsage sum;
        for (const auto& [key, held] : m_held) {
            sum.bytes += held.bytes;
            ++sum.entries;
        }
        if (m_facts.budgeted) {
            const TierUsage used = tier.usage();
            ASSERT_EQ(used.bytes, sum.bytes);
            ASSERT_EQ(used.entries, sum.entries);
        }
        if (!m_facts.lists)
            return;
        std::uint64_t visited = 0;
        tier.for_each([&](const EntryRow& row) {
            const Held* const held = find(row.key);
            EXPECT_TRUE(held && held->bytes == row.stored_bytes && held->size == row.bytes);
            ++visited;
            return true;
        });
        ASSERT_EQ(visited, sum.entries);
    }

private:
    const TierCase& m_facts;
    std::map<Key, Held> m_held;
};

class RandomHistory {
public:
    RandomHistory(Tier& tier, const TierCase& facts, std::uint64_t first)
        : m_tier(tier), m_facts(facts), m_random(first), m_model(facts)
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
            remove(key);
        else if (dice < 9200)
            ASSERT_EQ(m_tier.contains(key), m_model.find(key) != nullptr);
        else if (dice < 9600)
            m_tier.touch(key, static_cast<std::uint32_t>(below(4)));
        else if (dice < 9900)
            info(key);
        else if (dice < 9970)
            m_model.forget(m_tier.set_limits(any_limits(), Victims::discard));
        else if (dice < 9998)
            m_tier.set_policy(below(2) == 0 ? lru() : gdsf());
        else if (m_facts.lists) {
            m_tier.clear();
            m_model.clear();
        }
        expect_within_limits();
    }
    void compare() const { m_model.compare(m_tier); }

private:
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
    void store(const Key& key)
    {
        const Model::Held next{below(8) == 0 ? below(30'000) : below(2000), below(4), 0};
        const Result<Stored> report = store_and_send(m_tier, key, sample_entry(key, next.size, next.version),
                                                     below(2) == 0 ? Victims::discard : Victims::keep);
        if (report.ok()) {
            m_model.stored(key, {next.size, next.version, report->bytes}, *report);
        } else if (report.error().code == Code::no_space) {
            ASSERT_EQ(m_model.find(key), nullptr) << "only what is new is weighed against what is there";
        } else {
            ASSERT_EQ(report.error().code, Code::too_large);
            ASSERT_NE(m_tier.limits().max_bytes, 0U);
        }
    }
    void remove(const Key& key)
    {
        const bool was_there = m_model.remove(key);
        ASSERT_EQ(m_tier.remove(key), was_there);
    }
    void find(const Key& key)
    {
        const Found found = m_tier.find(key);
        const Model::Held* const held = m_model.find(key);
        ASSERT_EQ(static_cast<bool>(found), held != nullptr);
        if (held) {
            ASSERT_EQ(found.artifact->text(), sample_bytes(key, held->size, held->version).text());
            ASSERT_EQ(found.bytes, held->bytes);
        }
    }
    void info(const Key& key)
    {
        const std::optional<EntryRow> row = m_tier.info(key);
        const Model::Held* const held = m_model.find(key);
        ASSERT_EQ(row.has_value(), held != nullptr);
        if (held) {
            ASSERT_EQ(row->bytes, held->size);
            ASSERT_EQ(row->stored_bytes, held->bytes);
        }
    }

    Tier& m_tier;
    const TierCase& m_facts;
    std::mt19937_64 m_random;
    Model m_model;
};

}  // namespace

// 11, 8 of the rules
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
        for (std::uint64_t step = 0; step < scaled(40'000 / effort()); ++step) {
            const Key key = numbered_key(random() % 64);
            const std::uint64_t dice = random() % 1000;
            if (dice < 600) {
                const Found found = tier->find(key);
                ASSERT_TRUE(!found || is_sample_of(*found.artifact, key, k_versions));
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
