#include "disk_fixture.hpp"
#include "support/faulty_files.hpp"

#include <functional>
#include <map>

// 31: the index is derived. Nothing needs it for a hit, and it comes back from the entries whatever happens to it.

namespace hearth::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

using RebuildTest = DiskTest;

}  // namespace

// 20
TEST_F(RebuildTest, opening_and_telling_how_often_entries_were_used_look_at_no_entry_however_many_there_are)
{
    std::vector<std::uint64_t> operations;
    for (const std::uint64_t count : {10, 1000}) {
        fs::remove_all(m_layout.directory());
        {
            const auto tier = open();
            put_range(*tier, 1, count, 10);
            EXPECT_TRUE(holds(*tier, 7));
        }
        FaultyFiles counting;
        m_environment.files = &counting;
        {
            const auto tier = open();
            EXPECT_LE(counting.count(), 4U) << "to open";
            EXPECT_TRUE(holds(*tier, 7));
            EXPECT_EQ(counting.count(FileOperation::open), 1U) << "a hit opens its entry and nothing else";
            EXPECT_EQ(tier->usage().entries, count);
            operations.push_back(counting.count());

            const std::uint64_t before = counting.count(FileOperation::open);
            std::map<Key, std::uint32_t> uses;
            tier->for_each_use([&](const EntryUse& use) {
                uses[use.key] = use.uses;
                return true;
            });
            EXPECT_EQ(uses.size(), count);
            EXPECT_EQ(uses[numbered_key(7)], 2U) << "one use is in the index, one in this process";
            EXPECT_EQ(uses[numbered_key(8)], 0U);
            EXPECT_LT(counting.count(FileOperation::open) - before, 20U) << "lock and index, a few times";
            int visits = 0;
            tier->for_each_use([&](const EntryUse&) { return ++visits < 3; });
            EXPECT_EQ(visits, 3);
        }
        m_environment.files = &base::system_files();
    }
    EXPECT_EQ(operations.front(), operations.back());
}

TEST_F(RebuildTest, an_index_that_was_deleted_is_rebuilt_from_the_entries)
{
    const std::uint64_t count = 300;
    {
        const auto tier = open();
        for (std::uint64_t number = 0; number < count; ++number)
            put(*tier, number, 10 + number);
    }
    for (const bool damaged : {false, true}) {
        if (damaged)
            write_file(m_layout.index(), "not an index");
        else
            fs::remove(m_layout.index());
        const auto tier = open();
        EXPECT_TRUE(holds(*tier, 7)) << "a hit never needs it";
        EXPECT_EQ(tier->usage().entries, count);
        expect_exact_accounting(*tier);
        const EntryRow row = *tier->info(numbered_key(3));
        EXPECT_EQ(row.cost, 100ms);
        EXPECT_EQ(row.created, ManualClock::k_start);
        std::uint64_t visited = 0;
        tier->for_each([&](const EntryRow&) { return ++visited > 0; });
        EXPECT_EQ(visited, count);
    }
    // Limits hold for entries the new index knows only from their files.
    const auto tier = open({.max_entries = 10});
    put(*tier, 1000, 10);
    EXPECT_EQ(tier->usage().entries, 10U);
    expect_exact_accounting(*tier);
}

TEST_F(RebuildTest, a_damaged_part_of_the_index_is_put_right_by_whoever_meets_it)
{
    const auto damage_bucket = [&] {
        std::string index = read_file(m_layout.index());
        for (std::size_t at = 20; at < 2000; at += 80)
            index[4096 + at] = static_cast<char>(index[4096 + at] ^ 1);
        write_file(m_layout.index(), index);
    };
    const auto tier = open({.max_entries = 20});
    put_range(*tier, 0, 19, 10);
    const std::vector<std::function<void()>> meetings = {
        [&] { put(*tier, 100, 10); },
        [&] { EXPECT_TRUE(tier->remove(numbered_key(100))); },
        [&] { tier->maintain({}); },
        [&] { tier->set_limits({.max_bytes = 0, .max_entries = 15}, Victims::discard); },
        [&] {
            EXPECT_FALSE(tier->verify(Repair::no, {}).accounting_exact);
            EXPECT_FALSE(tier->verify(Repair::yes, {}).accounting_exact);
        },
    };
    for (std::size_t i = 0; i < meetings.size(); ++i) {
        damage_bucket();
        meetings[i]();
        expect_exact_accounting(*tier);
        ASSERT_FALSE(HasFailure()) << "meeting " << i;
    }
    EXPECT_EQ(tier->usage().entries, 15U);
    for (std::uint64_t number = 0; number < 20; ++number)
        holds(*tier, number);
}

TEST_F(RebuildTest, after_another_boot_the_index_is_reconciled_with_the_entries)
{
    {
        const auto tier = open();
        put_range(*tier, 0, 9, 100);
        for (int use = 0; use < 3; ++use)
            EXPECT_TRUE(holds(*tier, 5));
    }
    // What a power cut may leave: an entry more than the index knows, one fewer, one shorter.
    const std::string whole = read_file(path_of(0));
    fs::remove(path_of(1));
    write_file(path_of(2), read_file(path_of(2)).substr(0, 50));
    fs::create_directories(m_layout.shard(numbered_key(77)));
    write_file(path_of(77), whole);
    m_environment.boot[0] ^= 0xff;
    const auto tier = open();
    tier->maintain({});
    expect_exact_accounting(*tier);
    EXPECT_EQ(tier->info(numbered_key(5))->uses, 3U) << "what was known is kept";
    EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::absent);
    EXPECT_EQ(tier->find(numbered_key(2)).why, Miss::corrupt);
    EXPECT_EQ(tier->find(numbered_key(77)).why, Miss::corrupt) << "another key's bytes";
    EXPECT_EQ(tier->usage().entries, 8U);
    expect_exact_accounting(*tier);
}

}  // namespace hearth::test
