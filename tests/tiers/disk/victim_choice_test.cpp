#include "tiers/disk/victim_choice.hpp"

#include "support/faulty_files.hpp"
#include "support/sample_entries.hpp"
#include "support/scratch_directory.hpp"
#include "support/seed.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <map>

namespace hearth::tiers {

namespace {

using test::FileOperation;
using test::numbered_key;

class VictimChoiceTest : public testing::Test {
protected:
    // Entries 0, 1, 2, ... in the order of their last use.
    void fill(std::uint64_t count)
    {
        std::vector<IndexRecord> records;
        m_numbers.clear();
        for (std::uint64_t number = 0; number < count; ++number) {
            records.push_back({.key = numbered_key(number), .tick = number + 1, .bytes = 1 + number % 7, .cost = 1});
            m_numbers[numbered_key(number)] = number;
        }
        ASSERT_EQ(m_index.create(records), 0);
    }

    // The numbers of the next victims, in order.
    std::vector<std::uint64_t> evict(std::uint64_t count, const Key& spare = {}, bool exactly = false)
    {
        std::vector<std::uint64_t> gone;
        const auto enough = [&] { return gone.size() >= count; };
        const auto remove = [&](const IndexRecord& record) {
            gone.push_back(m_numbers.at(record.key));
            return m_index.remove(record.key, [] { return 0; });
        };
        EXPECT_EQ(
            exactly ? m_choice.run_exactly(m_index, enough, remove) : m_choice.run(m_index, spare, enough, remove), 0);
        return gone;
    }

    test::ScratchDirectory m_scratch;
    test::FaultyFiles m_files;  // without a fault: it counts
    Index m_index{m_files, m_scratch / "index", {}};
    VictimChoice m_choice{lru(), test::seed()};
    std::map<Key, std::uint64_t> m_numbers;
};

}  // namespace

TEST_F(VictimChoiceTest, a_small_cache_is_ranked_whole_and_exactly)
{
    fill(3 * Index::k_load);
    ASSERT_LE(m_index.buckets(), VictimChoice::k_sampled_buckets);
    const std::vector<std::uint64_t> gone = evict(3 * Index::k_load);
    ASSERT_EQ(gone.size(), 3 * Index::k_load);
    for (std::uint64_t number = 0; number < gone.size(); ++number)
        EXPECT_EQ(gone[number], number);
    EXPECT_EQ(m_index.totals(), IndexTotals{});
}

// 18
TEST_F(VictimChoiceTest, who_can_wait_gets_the_exact_order_of_a_large_cache_too)
{
    constexpr std::uint64_t k_many = 5000;
    fill(k_many);
    ASSERT_GT(m_index.buckets(), 10 * VictimChoice::k_sampled_buckets);
    const std::vector<std::uint64_t> gone = evict(k_many - 10, {}, true);
    ASSERT_EQ(gone.size(), k_many - 10);
    for (std::uint64_t number = 0; number < gone.size(); ++number)
        ASSERT_EQ(gone[number], number);
    EXPECT_EQ(m_index.totals().entries, 10U);
    EXPECT_TRUE(evict(0, {}, true).empty());
    EXPECT_EQ(m_index.totals().entries, 10U);
}

TEST_F(VictimChoiceTest, the_spared_one_is_never_chosen_and_nobody_where_there_is_room_or_nobody)
{
    fill(0);
    EXPECT_TRUE(evict(3).empty());
    fill(5);
    EXPECT_TRUE(evict(0).empty());
    EXPECT_EQ(evict(10, numbered_key(0)), (std::vector<std::uint64_t>{1, 2, 3, 4}));
    EXPECT_EQ(m_index.totals().entries, 1U);
}

TEST_F(VictimChoiceTest, the_first_error_ends_it)
{
    fill(10);
    int asked = 0;
    const auto fail_second = [&](const IndexRecord&) { return ++asked == 2 ? -EIO : 0; };
    EXPECT_EQ(m_choice.run(
                  m_index, {}, [] { return false; }, fail_second),
              -EIO);
    EXPECT_EQ(asked, 2);
}

// 22: a victim costs the same however many entries there are.
TEST_F(VictimChoiceTest, the_buckets_read_for_a_victim_do_not_grow_with_the_cache)
{
    std::map<std::uint64_t, std::uint64_t> reads;
    constexpr std::uint64_t k_victims = 100;
    for (const std::uint64_t count : {1'000, 100'000}) {
        fill(count);
        m_choice = VictimChoice(lru(), 1);
        const std::uint64_t before = m_files.count(FileOperation::pread);
        for (std::uint64_t victim = 0; victim < k_victims; ++victim)
            ASSERT_EQ(evict(1).size(), 1U);
        reads[count] = m_files.count(FileOperation::pread) - before;
    }
    // One to look at it again, one to remove it, and its share of a sample, which serves many.
    for (const auto& [count, read] : reads)
        EXPECT_LE(read, k_victims * 2 + k_victims * VictimChoice::k_sampled_buckets / 8) << "of " << count;
}

TEST_F(VictimChoiceTest, one_kept_in_mind_is_passed_over_once_it_was_used)
{
    fill(1'000);
    const std::vector<std::uint64_t> first = evict(1);
    // Everything that is left is used now, in the opposite order.
    std::vector<Key> keys;
    for (const auto& [key, number] : m_numbers)
        if (number != first.front())
            keys.push_back(key);
    ASSERT_EQ(m_index.update(keys, [&](IndexRecord& record) { record.tick = 10'000 - m_numbers.at(record.key); }), 0);
    for (const std::uint64_t number : evict(20))
        EXPECT_GE(number, 500U);
    // One that is gone meanwhile is no victim either.
    for (const Key& key : keys)
        ASSERT_EQ(m_index.remove(key, [] { return 0; }), 0);
    EXPECT_TRUE(evict(1).empty());
}

TEST_F(VictimChoiceTest, another_policy_starts_afresh)
{
    fill(1'000);
    evict(1);
    m_choice.set_policy([] {
        // Most recently used first.
        class Newest final : public Policy {
        public:
            void inserted(const Resident& entry) override { m_order[entry.last_used()] = &entry; }
            void removed(const Resident& entry) override { m_order.erase(entry.last_used()); }
            const Resident* victim() override { return m_order.empty() ? nullptr : m_order.rbegin()->second; }

        private:
            std::map<std::uint64_t, const Resident*> m_order;
        };
        return std::make_unique<Newest>();
    });
    for (const std::uint64_t number : evict(20))
        EXPECT_GE(number, 500U);
}

// A sample's oldest is old: of 16,000, the hundred victims are all among the oldest quarter.
TEST_F(VictimChoiceTest, a_sample_of_a_large_cache_names_old_entries)
{
    fill(16'000);
    for (const std::uint64_t number : evict(100))
        EXPECT_LT(number, 4'000U);
}

TEST_F(VictimChoiceTest, a_cache_that_has_shrunk_is_searched_until_its_last_entry_is_found)
{
    fill(2'000);
    for (std::uint64_t number = 1; number < 2'000; ++number)
        ASSERT_EQ(m_index.remove(numbered_key(number), [] { return 0; }), 0);
    EXPECT_EQ(evict(5), std::vector<std::uint64_t>{0});
    EXPECT_EQ(m_index.totals(), IndexTotals{});
}

TEST_F(VictimChoiceTest, the_policys_clock_goes_on_from_one_choice_to_the_next)
{
    m_choice.set_policy(gdsf());
    fill(50);
    const double before = m_index.clock();
    evict(10);
    EXPECT_GT(m_index.clock(), before);
    const double later = m_index.clock();
    evict(10);
    EXPECT_GE(m_index.clock(), later);

    // Another process moves it on while some are kept in mind.
    fill(1'000);
    evict(1);
    m_index.set_clock(1e6);
    evict(1);
    EXPECT_GE(m_index.clock(), 1e6);
}

}  // namespace hearth::tiers
