#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <random>

// A long random history of a whole stack, memory over memory over disk, against a plain map (11, 13, 16, 65). A tenth
// of a million operations; HEARTH_SOAK=10 makes it the million.

namespace hearth::test {

namespace {

class RandomHistories : public CacheTest {
protected:
    static constexpr std::uint64_t k_keys = 300;

    struct Value {
        std::size_t size = 0;
        std::uint64_t version = 0;
    };

    void run(const Limits& fast, const Limits& slow, const Limits& disk, std::uint64_t most_bytes);

private:
    // Whether something that was put in and not removed may be missing: only where room is short.
    enum class Losses : std::uint8_t { none, allowed };

    void open_stack()
    {
        m_cache.reset();
        const DiskOptions on_disk{
            .directory = directory(), .max_bytes = m_disk.max_bytes, .max_entries = m_disk.max_entries};
        m_cache.emplace(
            open({memory(MemoryOptions{"fast", m_fast.max_bytes, m_fast.max_entries}),
                  memory(MemoryOptions{"slow", m_slow.max_bytes, m_slow.max_entries}), hearth::disk(on_disk)}));
    }
    std::uint64_t below(std::uint64_t bound) { return m_random() % bound; }
    Value any_value() { return {below(10) == 0 ? below(m_most_bytes) : below(m_most_bytes / 10), ++m_version}; }
    static Bytes bytes_of(const Key& key, const Value& value) { return sample_bytes(key, value.size, value.version); }

    void step(const Key& key, std::uint64_t dice);
    void insert(const Key& key);
    void find(const Key& key);
    void get_or_compile(const Key& key);
    void lose_memory(bool restart);
    void change_limits();
    void expect_found(const Key& key, const Artifact& artifact);
    void compare();

    std::mt19937_64 m_random;
    std::optional<Cache> m_cache;
    std::map<Key, Value> m_model;
    std::uint64_t m_version = 0;
    Limits m_fast, m_slow, m_disk;
    std::uint64_t m_most_bytes = 0;
    Losses m_losses = Losses::none;
    std::uint64_t m_hits = 0;
};

void RandomHistories::run(const Limits& fast, const Limits& slow, const Limits& disk, std::uint64_t most_bytes)
{
    m_random.seed(seed());
    m_fast = fast;
    m_slow = slow;
    m_disk = disk;
    m_most_bytes = most_bytes;
    m_losses = disk == Limits{} ? Losses::none : Losses::allowed;
    open_stack();
    for (std::uint64_t done = 1; done <= scaled(100'000) && !HasFatalFailure(); ++done) {
        step(numbered_key(below(k_keys)), below(10'000));
        if (done % 1000 == 0)
            compare();
    }
    compare();
    EXPECT_GT(m_hits, 0U);
    EXPECT_TRUE(warnings().empty()) << warnings()[0];
}

void RandomHistories::step(const Key& key, std::uint64_t dice)
{
    if (dice < 2500)
        insert(key);
    else if (dice < 6500)
        find(key);
    else if (dice < 7500)
        get_or_compile(key);
    else if (dice < 8300)
        admin::promote(*m_cache, key);
    else if (dice < 9000)
        admin::demote(*m_cache, key);
    else if (dice < 9500) {
        const bool there = m_cache->remove(key);
        ASSERT_TRUE(there ? m_model.contains(key) : m_losses == Losses::allowed || !m_model.contains(key));
        m_model.erase(key);
    } else if (dice < 9900) {
        const std::optional<EntryRow> row = admin::info(*m_cache, key);
        if (row) {
            ASSERT_TRUE(m_model.contains(key));
            ASSERT_EQ(row->bytes, m_model[key].size);
        }
    } else if (dice < 9960)
        admin::maintain(*m_cache);
    else if (dice < 9985)
        change_limits();
    else if (dice < 9999)
        lose_memory(dice >= 9993);
    else {
        admin::clear(*m_cache);
        m_model.clear();
    }
}

void RandomHistories::insert(const Key& key)
{
    static const std::vector<std::string> k_tiers{"", "", "", "fast", "slow", "disk"};
    const Value value = any_value();
    const Result<InsertReport> report =
        m_cache->insert(key, Artifact(bytes_of(key, value)), {.tier = k_tiers[below(k_tiers.size())]});
    if (report.ok()) {
        m_model[key] = value;
        ASSERT_FALSE(report->tiers.empty());
    } else {
        ASSERT_EQ(report.error().code, Code::too_large) << report.error().message;
    }
}

void RandomHistories::expect_found(const Key& key, const Artifact& artifact)
{
    const auto known = m_model.find(key);
    ASSERT_NE(known, m_model.end()) << "what was removed came back";
    ASSERT_EQ(artifact.text(), bytes_of(key, known->second).text()) << "not what was put in last";
    ++m_hits;
}

void RandomHistories::find(const Key& key)
{
    const Lookup found = m_cache->find(key);
    if (found)
        expect_found(key, *found);
    else
        ASSERT_TRUE(m_losses == Losses::allowed || !m_model.contains(key)) << "lost";
}

void RandomHistories::get_or_compile(const Key& key)
{
    const Value value = any_value();
    bool made = false;
    const Result<Lookup> got = m_cache->get_or_compile(key, [&] {
        made = true;
        return bytes_of(key, value);
    });
    ASSERT_TRUE(got.ok()) << got.error().message;
    if (made) {
        ASSERT_TRUE(m_losses == Losses::allowed || !m_model.contains(key)) << "lost";
        ASSERT_EQ((*got)->text(), bytes_of(key, value).text());
        m_model[key] = value;
    } else {
        expect_found(key, **got);
    }
}

// Afterwards the disk's entries are there, and no others.
void RandomHistories::lose_memory(bool restart)
{
    std::map<Key, Value> on_disk;
    for (const auto& [key, value] : m_model) {
        const Names where = admin::where(*m_cache, key);
        if (!where.empty() && where.back() == "disk")
            on_disk.emplace(key, value);
    }
    m_model = std::move(on_disk);
    if (restart)
        open_stack();
    else
        admin::clear_memory(*m_cache);
    for (const auto& [key, value] : m_model)
        ASSERT_EQ(admin::where(*m_cache, key), Names{"disk"});
    if (restart)
        change_limits();  // opening evicts nothing: limits hold from the next store on, or from when they are set
}

void RandomHistories::change_limits()
{
    const auto other = [&](const Limits& limits) {
        return Limits{.max_bytes = limits.max_bytes == 0 ? 0 : limits.max_bytes / 2 + below(limits.max_bytes),
                      .max_entries = limits.max_entries == 0 ? 0 : limits.max_entries / 2 + below(limits.max_entries)};
    };
    ASSERT_TRUE(admin::set_limits(*m_cache, "fast", other(m_fast)).ok());
    ASSERT_TRUE(admin::set_limits(*m_cache, "slow", other(m_slow)).ok());
    ASSERT_TRUE(admin::set_limits(*m_cache, "disk", other(m_disk)).ok());
}

// Every tier's account is the sum of the entries it has, and within its limits.
void RandomHistories::compare()
{
    std::map<std::string, TierUsage> sums;
    for (std::uint64_t number = 0; number < k_keys; ++number) {
        const Key key = numbered_key(number);
        for (const std::string& tier : admin::where(*m_cache, key)) {
            ASSERT_TRUE(m_model.contains(key));
            ++sums[tier].entries;
            sums[tier].bytes += tier == "disk" ? std::filesystem::file_size(file_of(key)) : m_model[key].size;
        }
    }
    for (const TierStatus& tier : admin::tiers(*m_cache)) {
        ASSERT_EQ(tier.usage.entries, sums[tier.name].entries) << tier.name;
        ASSERT_EQ(tier.usage.bytes, sums[tier.name].bytes) << tier.name;
        ASSERT_TRUE(tier.limits.max_bytes == 0 || tier.usage.bytes <= tier.limits.max_bytes) << tier.name;
        ASSERT_TRUE(tier.limits.max_entries == 0 || tier.usage.entries <= tier.limits.max_entries) << tier.name;
    }
    std::uint64_t listed = 0;
    admin::list(*m_cache, [&](const EntryRow& row) {
        EXPECT_TRUE(m_model.contains(row.key) && m_model[row.key].size == row.bytes);
        ++listed;
        return true;
    });
    if (m_losses == Losses::none) {
        ASSERT_EQ(listed, m_model.size());
    }
    const VerifyReport report = admin::verify(*m_cache, Repair::no);
    ASSERT_TRUE(report.accounting_exact);
    ASSERT_EQ(report.intact, report.checked);
}

TEST_F(RandomHistories, without_pressure_nothing_is_ever_lost)
{
    run({}, {}, {}, 4000);
}

TEST_F(RandomHistories, evicting_from_memory_loses_nothing_while_the_disk_has_room)
{
    run({.max_bytes = 5000}, {.max_bytes = 20'000, .max_entries = 30}, {}, 8000);
}

TEST_F(RandomHistories, under_pressure_every_hit_is_exact_and_every_account_right)
{
    run({.max_bytes = 5000, .max_entries = 20}, {.max_bytes = 20'000}, {.max_bytes = 60'000, .max_entries = 100}, 8000);
}

}  // namespace

}  // namespace hearth::test
