#include "tiers/disk/index.hpp"

#include "support/damage.hpp"
#include "support/faulty_files.hpp"
#include "support/sample_entries.hpp"
#include "support/scale.hpp"
#include "support/scratch_directory.hpp"
#include "support/seed.hpp"

#include <cerrno>
#include <cmath>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace hearth::tiers {

namespace {

using test::numbered_key;

const BootId k_boot{1, 2, 3};

IndexRecord record_of(std::uint64_t number, std::uint64_t bytes)
{
    return {.key = numbered_key(number),
            .tick = number + 1,
            .aging = 0.5,
            .bytes = bytes,
            .cost = 1.5F,
            .uses = 3,
            .created = 1000,
            .last_used = 2000,
            .expires = 3000};
}

const auto k_nothing = [](const Key&) -> std::int64_t { return -ENOENT; };
const auto k_done = [] { return 0; };

class IndexTest : public testing::Test {
protected:
    Index opened(base::Files& files = base::system_files())
    {
        Index index(files, m_path, k_boot);
        EXPECT_EQ(index.open(k_nothing), 0);
        return index;
    }
    Index created(std::uint64_t records, std::uint64_t bytes = 10)
    {
        std::vector<IndexRecord> all;
        for (std::uint64_t number = 0; number < records; ++number)
            all.push_back(record_of(number, bytes));
        Index index(base::system_files(), m_path, k_boot);
        EXPECT_EQ(index.create(all), 0);
        return index;
    }

    test::ScratchDirectory m_scratch;
    const std::string m_path = m_scratch / "index";
};

IndexTotals sum_of(const Index& index)
{
    IndexTotals sum;
    std::vector<IndexRecord> records;
    for (std::uint64_t bucket = 0; bucket < index.buckets(); ++bucket) {
        EXPECT_EQ(index.read_bucket(bucket, records), 0);
        for (const IndexRecord& record : records) {
            sum.bytes += record.bytes;
            ++sum.entries;
        }
    }
    return sum;
}

}  // namespace

TEST_F(IndexTest, a_new_one_holds_what_it_was_given)
{
    const Index index = created(500, 7);
    EXPECT_EQ(index.totals(), (IndexTotals{3500, 500}));
    EXPECT_EQ(index.tick(), 500U);
    const Index again = opened();
    EXPECT_EQ(again.totals(), index.totals());
    EXPECT_EQ(sum_of(again), index.totals());
    std::optional<IndexRecord> found;
    for (std::uint64_t number = 0; number < 500; ++number) {
        ASSERT_EQ(again.find(numbered_key(number), found), 0);
        ASSERT_TRUE(found);
        ASSERT_EQ(*found, record_of(number, 7));
    }
    ASSERT_EQ(again.find(numbered_key(500), found), 0);
    EXPECT_FALSE(found);
    EXPECT_FALSE(std::filesystem::exists(m_path + ".new"));
}

TEST_F(IndexTest, one_of_another_boot_wants_reconciling_until_it_is_made_anew)
{
    created(3);
    Index index(base::system_files(), m_path, BootId{9});
    ASSERT_EQ(index.open(k_nothing), 0);
    EXPECT_TRUE(index.wants_reconcile());
    ASSERT_EQ(index.add(record_of(7, 10), k_done), 0);
    EXPECT_TRUE(index.wants_reconcile());
    ASSERT_EQ(index.create({}), 0);
    EXPECT_FALSE(index.wants_reconcile());
}

TEST_F(IndexTest, the_order_of_use_only_moves_forward)
{
    Index index = created(0);
    EXPECT_EQ(index.advance(1000), 1000U);
    EXPECT_EQ(index.advance(1000), 1001U);
    EXPECT_EQ(index.advance(5), 1002U);
    ASSERT_EQ(index.add(record_of(1, 1), k_done), 0);
    index.set_clock(2.5);
    ASSERT_EQ(index.update({}, [](IndexRecord&) {}), 0);
    const Index again = opened();
    EXPECT_EQ(again.tick(), 1002U);
    EXPECT_EQ(again.clock(), 2.5);
}

TEST_F(IndexTest, ten_thousand_records_come_change_and_go_in_agreement_with_a_map)
{
    std::mt19937_64 random(test::seed());
    std::map<Key, IndexRecord> model;
    IndexTotals sum;
    created(0);
    auto index = std::make_unique<Index>(opened());
    const auto forget = [&](const Key& key) {
        const auto held = model.find(key);
        if (held == model.end())
            return;
        sum.bytes -= held->second.bytes;
        --sum.entries;
        model.erase(held);
    };
    const std::uint64_t most = 10'000;
    const std::uint64_t steps = test::scaled(30'000);
    for (std::uint64_t step = 0; step < steps; ++step) {
        const std::uint64_t number = step < steps / 2 ? step * 2 * most / steps : random() % (2 * most);
        const std::uint64_t dice = step < steps / 2 ? 0 : random() % 4;
        if (dice == 0) {
            const IndexRecord record = record_of(number, 1 + random() % 5000);
            forget(record.key);
            ASSERT_EQ(index->add(record, k_done), 0) << "record " << number << " of " << sum.entries;
            model[record.key] = record;
            sum.bytes += record.bytes;
            ++sum.entries;
        } else if (dice == 1) {
            ASSERT_EQ(index->remove(numbered_key(number), k_done), 0);
            forget(numbered_key(number));
        } else {
            const auto edit = [&](IndexRecord& record) { record.uses = static_cast<std::uint32_t>(step); };
            ASSERT_EQ(index->update({numbered_key(number), numbered_key(number + 1)}, edit), 0);
            for (const Key& key : {numbered_key(number), numbered_key(number + 1)})
                if (model.contains(key))
                    edit(model.at(key));
        }
        ASSERT_EQ(index->totals(), sum);
        if (step % 1000 == 999)
            index = std::make_unique<Index>(opened());
    }
    EXPECT_EQ(sum_of(*index), sum);
    std::optional<IndexRecord> found;
    for (const auto& [key, record] : model) {
        ASSERT_EQ(index->find(key, found), 0);
        ASSERT_TRUE(found);
        ASSERT_EQ(*found, record);
    }
}

// Linear hashing splits one bucket at a time: just before a round ends, the last ones hold twice the average.
TEST_F(IndexTest, no_bucket_overflows_at_any_number_of_records)
{
    std::uint64_t fullest = 0;
    std::vector<IndexRecord> records;
    for (std::uint64_t count = 1'000; count < 70'000; count = count * 5 / 4 + 1) {
        const Index index = created(count);
        ASSERT_EQ(index.totals().entries, count);
        for (std::uint64_t bucket = 0; bucket < index.buckets(); ++bucket) {
            ASSERT_EQ(index.read_bucket(bucket, records), 0);
            fullest = std::max<std::uint64_t>(fullest, records.size());
        }
    }
    // Room to spare, in standard deviations of what a full round's last bucket holds.
    EXPECT_LT(static_cast<double>(fullest),
              static_cast<double>(Index::k_bucket_records) - 2 * std::sqrt(2.0 * Index::k_load));
}

TEST_F(IndexTest, a_change_that_fails_leaves_nothing_behind)
{
    Index index = created(3);
    EXPECT_EQ(index.add(record_of(9, 100), [] { return -ENOSPC; }), -ENOSPC);
    EXPECT_EQ(index.add(record_of(1, 100), [] { return -ENOSPC; }), -ENOSPC);
    EXPECT_EQ(index.remove(numbered_key(2), [] { return -EIO; }), -EIO);
    // Never recorded: done all the same, and nothing to account for.
    int performed = 0;
    EXPECT_EQ(index.remove(numbered_key(55), [&] { return performed++; }), 0);
    EXPECT_EQ(performed, 1);
    const Index again = opened();
    EXPECT_EQ(again.totals(), (IndexTotals{30, 3}));
    EXPECT_EQ(sum_of(again), again.totals());
}

TEST_F(IndexTest, peeking_sees_the_totals_without_a_lock_and_nothing_while_a_change_is_under_way)
{
    Index index = created(3);
    base::Files& files = base::system_files();
    EXPECT_EQ(Index::peek_totals(files, m_path.c_str()), (IndexTotals{30, 3}));
    ASSERT_EQ(index.add(record_of(9, 100),
                        [&] {
                            EXPECT_FALSE(Index::peek_totals(files, m_path.c_str()));
                            return 0;
                        }),
              0);
    EXPECT_EQ(Index::peek_totals(files, m_path.c_str()), (IndexTotals{130, 4}));
}

TEST_F(IndexTest, one_that_is_not_there_damaged_in_its_header_or_cut_short_wants_a_rebuild)
{
    const auto error = [&] { return Index(base::system_files(), m_path, k_boot).open(k_nothing); };
    EXPECT_EQ(error(), -EBADMSG);
    EXPECT_FALSE(Index::peek_totals(base::system_files(), m_path.c_str()));
    created(200);
    const std::string whole = test::read_file(m_path);
    for (std::size_t bit = 0; bit < 256 * 8; ++bit) {
        test::write_file(m_path, test::with_flipped_bit(whole, bit));
        ASSERT_EQ(error(), -EBADMSG) << "bit " << bit;
        ASSERT_FALSE(Index::peek_totals(base::system_files(), m_path.c_str())) << "bit " << bit;
    }
    for (std::size_t length = 0; length < whole.size(); length += 509) {
        test::write_file(m_path, std::string_view(whole).substr(0, length));
        ASSERT_EQ(error(), -EBADMSG) << "length " << length;
    }
}

TEST_F(IndexTest, a_large_one_is_believed_while_its_buckets_hold_records_and_not_when_they_are_holes)
{
    ASSERT_GT(created(70'000).buckets(), 1024U);
    for (int round = 0; round < 100; ++round)
        EXPECT_EQ(opened().totals().entries, 70'000U);
    const std::uint64_t size = std::filesystem::file_size(m_path);
    std::filesystem::resize_file(m_path, Index::k_header_bytes);
    std::filesystem::resize_file(m_path, size);
    Index index(base::system_files(), m_path, k_boot);
    EXPECT_EQ(index.open(k_nothing), -EBADMSG);
}

TEST_F(IndexTest, a_damaged_record_makes_its_bucket_unreadable_and_says_so)
{
    created(3);
    std::string damaged = test::read_file(m_path);
    std::vector<IndexRecord> records;
    for (std::size_t at = 0; at < Index::k_record_bytes; ++at) {
        char& byte = damaged[Index::k_header_bytes + Index::k_record_bytes + at];
        const char right = byte;
        byte = static_cast<char>(byte ^ 0x10);
        test::write_file(m_path, damaged);
        Index index = opened();
        ASSERT_EQ(index.read_bucket(0, records), -EBADMSG) << "byte " << at;
        std::optional<IndexRecord> found;
        ASSERT_EQ(index.find(numbered_key(0), found), -EBADMSG);
        byte = right;
    }
}

namespace {

// A cache reduced to its index and files of the right size, published and removed as the tier does it.
class Shelf {
public:
    Shelf(base::Files& files, std::string folder)
        : m_files(files), m_folder(std::move(folder)), m_index(files, m_folder + "/index", k_boot)
    {
    }

    Index& index() { return m_index; }
    int open()
    {
        return m_index.open([&](const Key& key) { return size_of(key); });
    }
    int add(std::uint64_t number, std::uint64_t bytes)
    {
        return m_index.add(record_of(number, bytes), [&] { return publish(numbered_key(number), bytes); });
    }
    int remove(std::uint64_t number)
    {
        return m_index.remove(numbered_key(number), [&] { return m_files.unlink(path(numbered_key(number)).c_str()); });
    }
    std::int64_t size_of(const Key& key)
    {
        base::FileStat stat;
        const int error = m_files.stat(path(key).c_str(), stat);
        return error != 0 ? error : static_cast<std::int64_t>(stat.size);
    }
    std::string path(const Key& key) const { return m_folder + "/entry-" + key.hex(); }

private:
    int publish(const Key& key, std::uint64_t bytes)
    {
        const std::string fresh = m_folder + "/fresh";
        base::FileHandle file(m_files, m_files.open(fresh.c_str(), O_RDWR | O_CREAT, 0600));
        if (!file.open())
            return file.fd();
        if (const int cut = m_files.truncate(file.fd(), bytes); cut != 0)
            return cut;
        return m_files.rename(fresh.c_str(), path(key).c_str());
    }

    base::Files& m_files;
    std::string m_folder;
    Index m_index;
};

// Additions up to and over a split, a replacement, a change of uses, removals.
void history(Shelf& shelf)
{
    if (shelf.open() != 0)
        return;
    shelf.add(100, 5);
    shelf.add(101, 6);
    shelf.add(102, 7);
    shelf.add(1, 1000);
    shelf.index().update({numbered_key(1), numbered_key(2)}, [](IndexRecord& record) { ++record.uses; });
    shelf.remove(2);
    shelf.remove(102);
    shelf.add(103, 1);
}

}  // namespace

TEST_F(IndexTest, killed_at_any_file_operation_the_totals_are_the_sum_of_the_files)
{
    namespace fs = std::filesystem;
    const std::string start = m_scratch / "start";
    fs::create_directory(start);
    {
        Shelf shelf(base::system_files(), start);
        ASSERT_EQ(shelf.index().create({}), 0);
        for (std::uint64_t number = 0; number < Index::k_load - 2; ++number)
            ASSERT_EQ(shelf.add(number, 10), 0);
    }
    bool split = false;
    std::uint64_t killed_at = 0;
    for (bool killed = true; killed; ++killed_at) {
        const std::string folder = m_scratch / ("killed-" + std::to_string(killed_at));
        fs::copy(start, folder);
        test::FaultyFiles files({.error = EIO, .first = killed_at});
        {
            Shelf shelf(files, folder);
            history(shelf);
        }
        killed = files.strikable() > killed_at;

        Shelf shelf(base::system_files(), folder);
        ASSERT_EQ(shelf.open(), 0) << "killed at operation " << killed_at;
        split |= shelf.index().buckets() > 1;
        IndexTotals there;
        for (const fs::directory_entry& item : fs::directory_iterator(folder)) {
            if (!item.path().filename().string().starts_with("entry-"))
                continue;
            there.bytes += item.file_size();
            ++there.entries;
        }
        ASSERT_EQ(shelf.index().totals(), there) << "killed at operation " << killed_at;
        ASSERT_EQ(sum_of(shelf.index()), there) << "killed at operation " << killed_at;
        // And it works on.
        ASSERT_EQ(shelf.add(200, 50), 0);
        ASSERT_EQ(shelf.index().totals(), (IndexTotals{there.bytes + 50, there.entries + 1}));
        fs::remove_all(folder);
    }
    EXPECT_TRUE(split);
    EXPECT_GT(killed_at, 50U);
}

TEST_F(IndexTest, creating_one_is_all_or_nothing_whatever_fails)
{
    created(3);
    const std::string before = test::read_file(m_path);
    std::vector<IndexRecord> records;
    for (std::uint64_t number = 0; number < 300; ++number)
        records.push_back(record_of(number, 20));
    for (const int error : {EIO, ENOSPC}) {
        for (std::uint64_t first = 0;; ++first) {
            test::write_file(m_path, before);
            test::FaultyFiles files({.error = error, .first = first});
            Index index(files, m_path, k_boot);
            const int made = index.create(records);
            if (files.strikable() <= first)
                break;
            const Index after = opened();
            ASSERT_EQ(after.totals(), made == 0 ? (IndexTotals{6000, 300}) : (IndexTotals{30, 3}))
                << "operation " << first;
            ASSERT_EQ(sum_of(after), after.totals());
        }
    }
}

}  // namespace hearth::tiers
