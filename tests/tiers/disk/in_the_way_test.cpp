#include "disk_fixture.hpp"

#include <fcntl.h>
#include <map>
#include <sys/stat.h>

// 38: things that are no entries where entries should be, and things that are nobody's business.

namespace hearth::test {

namespace fs = std::filesystem;

namespace {

using InTheWay = DiskTest;

}  // namespace

TEST_F(InTheWay, a_link_or_a_pipe_in_place_of_an_entry_is_a_miss_and_nothing_else_is_removed)
{
    const auto tier = open();
    put(*tier, 2, 100);
    write_file(m_scratch / "outside", "precious");
    const std::string a_pipe;
    for (const std::string& target :
         {m_scratch / "outside", path_of(2), std::string("/dev/zero"), m_scratch / "nowhere", a_pipe}) {
        put(*tier, 1, 100);
        fs::remove(path_of(1));
        if (target == a_pipe)
            ASSERT_EQ(::mkfifo(path_of(1).c_str(), 0600), 0);
        else
            fs::create_symlink(target, path_of(1));
        EXPECT_FALSE(tier->contains(numbered_key(1)));
        EXPECT_FALSE(tier->info(numbered_key(1)));
        tier->for_each([](const EntryRow&) { return true; });
        EXPECT_EQ(tier->verify(Repair::no, {}).corrupt, 1U) << target;
        EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::corrupt) << target;
        EXPECT_FALSE(fs::exists(fs::symlink_status(path_of(1))));
        EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::absent);
        expect_exact_accounting(*tier);
    }
    EXPECT_EQ(read_file(m_scratch / "outside"), "precious");
    EXPECT_TRUE(holds(*tier, 2));
    // A store goes over a link, not through it.
    fs::create_symlink(m_scratch / "outside", path_of(1));
    put(*tier, 1, 100);
    EXPECT_TRUE(holds(*tier, 1));
    EXPECT_EQ(read_file(m_scratch / "outside"), "precious");
    expect_exact_accounting(*tier);
}

TEST_F(InTheWay, a_directory_in_place_of_an_entry_is_a_miss_and_left_alone)
{
    const auto tier = open();
    put_range(*tier, 1, 2, 100);
    fs::remove(path_of(1));
    fs::create_directories(path_of(1) + "/inner");
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::corrupt);
        EXPECT_FALSE(tier->contains(numbered_key(1)));
        EXPECT_FALSE(store_in(*tier, numbered_key(1), sample_entry(numbered_key(1), 100)).ok());
        EXPECT_TRUE(holds(*tier, 2));
        expect_exact_accounting(*tier);
        // An index made anew does not count it.
        fs::remove(m_layout.index());
    }
    EXPECT_EQ(tier->verify(Repair::yes, {}).stray, 1U);
    EXPECT_TRUE(fs::exists(path_of(1) + "/inner"));
    // Nor does it stand in the way of evicting everything else.
    tier->set_limits({.max_bytes = 0, .max_entries = 1}, Victims::discard);
    put_range(*tier, 10, 19, 100);
    EXPECT_EQ(tier->usage().entries, 1U);
    tier->clear();
    EXPECT_TRUE(fs::exists(path_of(1) + "/inner"));
    expect_exact_accounting(*tier);
}

TEST_F(InTheWay, an_entry_whose_file_has_become_a_directory_can_be_evicted)
{
    const auto tier = open({.max_entries = 2});
    put_range(*tier, 1, 2, 100);
    fs::remove(path_of(1));
    fs::create_directory(path_of(1));
    put_range(*tier, 3, 4, 100);
    EXPECT_TRUE(holds(*tier, 3));
    EXPECT_TRUE(holds(*tier, 4));
    expect_exact_accounting(*tier);
}

TEST_F(InTheWay, files_that_are_no_entries_are_counted_as_strays_and_left_alone)
{
    const auto tier = open();
    put(*tier, 1, 100);
    const std::string shard = m_layout.shard(numbered_key(1));
    write_file(shard + "/README", "hello");
    write_file(shard + "/" + std::string(62, 'A'), "upper case is not how we write");
    write_file(shard + "/" + std::string(61, 'a'), "too short");
    const unsigned other = numbered_key(1).digest[0] == 0xab ? 0xac : 0xab;
    write_file(m_layout.shard(other), "a file where a folder of entries should be");
    const VerifyReport report = tier->verify(Repair::yes, {});
    EXPECT_EQ(report.stray, 4U);
    EXPECT_EQ(report.checked, 1U);
    EXPECT_TRUE(report.accounting_exact);
    fs::remove(m_layout.index());
    EXPECT_EQ(tier->usage().entries, 1U);
    tier->clear();
    EXPECT_EQ(read_file(shard + "/README"), "hello");
    EXPECT_EQ(tier->usage().entries, 0U);
}

TEST_F(InTheWay, nothing_outside_its_own_folder_is_touched)
{
    fs::create_directories(m_layout.directory() + "/v2/entries/ab");
    write_file(m_layout.directory() + "/v2/entries/ab/cd", "of a later version");
    write_file(m_layout.directory() + "/notes.txt", "not yours");
    write_file(m_scratch / "neighbour", "not yours either");
    const auto others = [&] {
        std::map<std::string, std::string> all = snapshot(m_scratch.path());
        std::erase_if(all, [&](const auto& item) { return item.first.starts_with(m_layout.root()); });
        return all;
    };
    const auto before = others();
    {
        const auto tier = open({.max_entries = 5});
        put_range(*tier, 0, 19, 100);
        use_everything(*tier);
        put_range(*tier, 0, 19, 100);
        fs::remove(m_layout.index());
        m_environment.boot[0] ^= 1;
        const auto rebooted = open();
        rebooted->maintain({});
        rebooted->verify(Repair::yes, {});
        rebooted->clear();
    }
    EXPECT_EQ(others(), before);
}

TEST_F(InTheWay, a_file_dated_beyond_what_we_can_count_is_just_a_file_of_the_far_future)
{
    const auto tier = open();
    put(*tier, 1, 100);
    const timespec beyond[2] = {{10'000'000'000, 0}, {10'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_of(1).c_str(), beyond, 0), 0);
    write_file(m_layout.temporaries() + "/0123456789abcdef-1-1", "");
    ASSERT_EQ(::utimensat(AT_FDCWD, (m_layout.temporaries() + "/0123456789abcdef-1-1").c_str(), beyond, 0), 0);
    fs::remove(m_layout.index());
    tier->maintain({});
    EXPECT_TRUE(holds(*tier, 1));
    put(*tier, 2, 100);
    expect_exact_accounting(*tier);
}

}  // namespace hearth::test
