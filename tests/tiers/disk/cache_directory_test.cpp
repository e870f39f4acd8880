#include "disk_fixture.hpp"
#include "support/acting_as.hpp"
#include "support/storing.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

// 37 and 38: where a cache lives, and a directory that is not what it should be.

namespace hearth::test {

namespace fs = std::filesystem;

namespace {

using CacheDirectoryTest = DiskTest;

constexpr unsigned k_somebody = 12345;

}  // namespace

TEST_F(CacheDirectoryTest, it_is_created_on_demand_with_its_parents_for_its_owner_only)
{
    DiskOptions options;
    options.directory = m_layout.directory() + "/a/b/c";
    const auto tier = open(options);
    EXPECT_FALSE(fs::exists(m_layout.directory())) << "looking creates nothing";
    EXPECT_FALSE(tier->find(numbered_key(1)));
    EXPECT_EQ(tier->usage().entries, 0U);
    EXPECT_FALSE(tier->contains(numbered_key(1)));
    EXPECT_FALSE(tier->remove(numbered_key(1)));
    tier->for_each([](const EntryRow&) { return true; });
    tier->maintain({});
    tier->verify(Repair::yes, {});
    tier->set_limits({.max_bytes = 1_MiB}, Victims::discard);
    EXPECT_FALSE(fs::exists(m_layout.directory())) << "nor does looking closely";
    put(*tier, 1, 100);
    EXPECT_TRUE(holds(*tier, 1));
    for (const auto& item : fs::recursive_directory_iterator(m_layout.directory()))
        EXPECT_EQ(mode_of(item.path().string()) & 077U, 0U) << item.path();
    EXPECT_TRUE(
        read_file(options.directory + "/v1/CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55"));
}

TEST_F(CacheDirectoryTest, one_that_is_shared_is_made_for_everyone)
{
    const WithUmask mask(077);
    DiskOptions options;
    options.users = Users::many;
    const auto tier = open(options);
    put(*tier, 1, 100);
    EXPECT_EQ(mode_of(m_layout.directory()), 0777U);
    EXPECT_EQ(mode_of(m_layout.root()), 0777U);
    EXPECT_EQ(mode_of(m_layout.shard(numbered_key(1))), 0777U);
    EXPECT_EQ(mode_of(path_of(1)), 0666U);
    EXPECT_EQ(mode_of(m_layout.lock()), 0666U);
}

TEST_F(CacheDirectoryTest, a_relative_directory_stays_where_it_was_when_the_program_moves)
{
    const fs::path before = fs::current_path();
    fs::current_path(m_scratch.path());
    DiskOptions options;
    options.directory = "cache///";
    const auto tier = open(options);
    fs::current_path("/");
    put(*tier, 1, 100);
    fs::current_path(before);
    EXPECT_TRUE(fs::exists(path_of(1)));
}

TEST_F(CacheDirectoryTest, no_directory_at_all_is_an_error_that_says_what_to_set)
{
    DiskOptions options;
    const Result<std::unique_ptr<Tier>> tier = disk(options).open({&m_clock, {}, lru()});
    ASSERT_FALSE(tier.ok());
    EXPECT_EQ(tier.error().code, Code::invalid_argument);
    EXPECT_NE(tier.error().message.find("HEARTH_DIR"), std::string::npos);
}

TEST_F(CacheDirectoryTest, a_file_in_its_place_is_an_error_that_names_it_and_is_left_alone)
{
    write_file(m_layout.directory(), "precious");
    const Open in_the_way = try_open();
    ASSERT_FALSE(in_the_way.ok());
    EXPECT_EQ(in_the_way.error().code, Code::io);
    EXPECT_NE(in_the_way.error().message.find(m_layout.directory() + " is in the way"), std::string::npos)
        << in_the_way.error().message;
    EXPECT_EQ(read_file(m_layout.directory()), "precious");

    fs::remove(m_layout.directory());
    fs::create_directory(m_layout.directory());
    write_file(m_layout.root(), "precious");
    EXPECT_FALSE(try_open().ok());
    EXPECT_EQ(read_file(m_layout.root()), "precious");
}

TEST_F(CacheDirectoryTest, a_link_in_place_of_its_inner_folder_is_not_followed)
{
    fs::create_directory(m_layout.directory());
    fs::create_directory(m_scratch / "elsewhere");
    fs::create_directory_symlink(m_scratch / "elsewhere", m_layout.root());
    EXPECT_FALSE(try_open().ok());
    EXPECT_TRUE(fs::is_empty(m_scratch / "elsewhere"));
}

TEST_F(CacheDirectoryTest, the_directory_itself_may_be_a_link_of_the_users)
{
    fs::create_directory(m_scratch / "big-disk");
    fs::create_directory_symlink(m_scratch / "big-disk", m_layout.directory());
    const auto tier = open();
    put(*tier, 1, 100);
    EXPECT_TRUE(holds(*tier, 1));
    EXPECT_TRUE(fs::exists(m_scratch / "big-disk/v1/entries"));
}

// Without a home it is in /tmp, where a neighbour may put a link to any directory of the user's.
TEST_F(CacheDirectoryTest, the_directory_itself_may_be_no_link_of_anothers)
{
    fs::create_directory(m_scratch / "private");
    fs::create_directory_symlink(m_scratch / "private", m_layout.directory());
    if (::lchown(m_layout.directory().c_str(), k_somebody, k_somebody) != 0)
        GTEST_SKIP() << "only root can give a link away";
    const Open foreign = try_open();
    ASSERT_FALSE(foreign.ok());
    EXPECT_EQ(foreign.error().code, Code::unavailable);
    EXPECT_NE(foreign.error().message.find("link of another user"), std::string::npos) << foreign.error().message;
    EXPECT_TRUE(fs::is_empty(m_scratch / "private"));
}

TEST_F(CacheDirectoryTest, one_that_belongs_to_another_is_refused_unless_it_is_shared)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give a directory away";
    fs::create_directory(m_layout.directory());
    ASSERT_EQ(::chown(m_layout.directory().c_str(), k_somebody, k_somebody), 0);
    const Open foreign = try_open();
    ASSERT_FALSE(foreign.ok());
    EXPECT_EQ(foreign.error().code, Code::unavailable);
    for (const char* const part : {"12345", "HEARTH_SHARED=1", "HEARTH_DIR"})
        EXPECT_NE(foreign.error().message.find(part), std::string::npos) << foreign.error().message;
    EXPECT_TRUE(fs::is_empty(m_layout.directory()));
    DiskOptions options;
    options.users = Users::many;
    const auto tier = open(options);
    put(*tier, 1, 100);
    EXPECT_TRUE(holds(*tier, 1));
}

TEST_F(CacheDirectoryTest, one_that_cannot_be_written_still_answers_and_reports_what_it_could_not_do)
{
    put(*open(), 1, 100);
    const bool is_root = ::geteuid() == 0;
    fs::permissions(m_scratch.path(), fs::perms(0755));
    for (const auto& item : fs::recursive_directory_iterator(m_layout.directory())) {
        ASSERT_EQ(is_root ? ::chown(item.path().c_str(), k_somebody, k_somebody) : 0, 0);
        fs::permissions(item.path(), item.is_directory() ? fs::perms(0555) : fs::perms(0444));
    }
    ASSERT_EQ(is_root ? ::chown(m_layout.directory().c_str(), k_somebody, k_somebody) : 0, 0);
    fs::permissions(m_layout.directory(), fs::perms(0555));
    const auto before = snapshot(m_layout.directory());
    {
        const ActingAs somebody(is_root ? k_somebody : ::geteuid());
        ASSERT_TRUE(somebody.worked());
        const auto tier = open();
        EXPECT_TRUE(holds(*tier, 1));
        EXPECT_EQ(tier->find(numbered_key(2)).why, Miss::absent);
        const Result<Stored> report = store_in(*tier, numbered_key(2), sample_entry(numbered_key(2), 10));
        ASSERT_FALSE(report.ok());
        EXPECT_EQ(report.error().code, Code::io);
        EXPECT_NE(report.error().message.find(m_layout.directory()), std::string::npos);
        EXPECT_FALSE(tier->remove(numbered_key(1)));
        tier->clear();
        tier->maintain({});
        EXPECT_EQ(tier->try_flight(numbered_key(2)).outcome, FlightAttempt::Outcome::unsupported);
        EXPECT_FALSE(tier->update_note("stats", [](ByteView) { return Bytes::copy_of("x"); }));
        EXPECT_EQ(tier->usage().entries, 1U);
        std::uint64_t visited = 0;
        tier->for_each([&](const EntryRow&) { return ++visited > 0; });
        EXPECT_EQ(visited, 1U);
        EXPECT_EQ(tier->verify(Repair::yes, {}).intact, 1U);
        EXPECT_TRUE(tier->info(numbered_key(1)));
        EXPECT_TRUE(holds(*tier, 1));
    }
    fs::permissions(m_layout.directory(), fs::perms(0755));
    EXPECT_EQ(snapshot(m_layout.directory()), before);
    for (const auto& item : fs::recursive_directory_iterator(m_layout.directory()))
        fs::permissions(item.path(), fs::perms(0755));
}

TEST_F(CacheDirectoryTest, one_that_is_deleted_underneath_is_a_miss_and_is_made_again)
{
    const auto tier = open();
    put(*tier, 1, 100);
    EXPECT_TRUE(holds(*tier, 1));
    fs::remove_all(m_layout.directory());
    EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::absent);
    EXPECT_FALSE(tier->remove(numbered_key(1)));
    EXPECT_EQ(tier->usage().entries, 0U);
    tier->flush();
    tier->maintain({});
    EXPECT_FALSE(fs::exists(m_layout.directory()));
    put(*tier, 2, 100);
    EXPECT_TRUE(holds(*tier, 2));
    expect_exact_accounting(*tier);
    for (const std::string& part : {m_layout.temporaries(), m_layout.index(), m_layout.lock(), m_layout.entries()}) {
        fs::remove_all(part);
        put(*tier, 3, 100);
        EXPECT_TRUE(holds(*tier, 3)) << "without " << part;
        // Entries that others removed behind our back are noticed when somebody looks.
        EXPECT_EQ(tier->verify(Repair::yes, {}).accounting_exact, part != m_layout.entries());
        expect_exact_accounting(*tier);
    }
    fs::remove_all(m_layout.flights());
    EXPECT_EQ(tier->try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::held);
    fs::remove_all(m_layout.notes());
    EXPECT_TRUE(tier->update_note("stats", [](ByteView) { return Bytes::copy_of("x"); }));
}

TEST_F(CacheDirectoryTest, a_full_disk_refuses_a_store_and_loses_nothing)
{
    fs::create_directory(m_layout.directory());
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", m_layout.directory().c_str(), "tmpfs", 0, "size=1m,mode=700") != 0)
        GTEST_SKIP() << "this user may not mount a file system of 1 MB";
    {
        const auto tier = open();
        std::uint64_t stored = 0;
        Code last = Code::io;
        for (std::uint64_t number = 0; number < 40; ++number) {
            const Key key = numbered_key(number);
            const Result<Stored> report = store_in(*tier, key, sample_entry(key, 50'000));
            if (report.ok()) {
                EXPECT_EQ(stored++, number);
                continue;
            }
            last = report.error().code;
            EXPECT_NE(report.error().message.find("Free some space"), std::string::npos) << report.error().message;
        }
        EXPECT_GT(stored, 5U);
        EXPECT_LT(stored, 25U);
        EXPECT_EQ(last, Code::no_space);
        for (std::uint64_t number = 0; number < 40; ++number)
            EXPECT_EQ(holds(*tier, number), number < stored);
        EXPECT_TRUE(files_in(m_layout.temporaries()).empty());
        expect_exact_accounting(*tier);
        // Room is made by what is evicted, and the disk serves on.
        tier->set_limits({.max_bytes = 500'000}, Victims::discard);
        put(*tier, 100, 50'000);
        EXPECT_TRUE(holds(*tier, 100));
        expect_exact_accounting(*tier);
    }
    EXPECT_EQ(::umount(m_layout.directory().c_str()), 0);
}

}  // namespace hearth::test
