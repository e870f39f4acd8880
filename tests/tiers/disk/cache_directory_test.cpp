#include "disk_fixture.hpp"
#include "support/acting_as.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

// 37 and 38: where a cache lives, a directory that is not what it should be, and one that several users share or should
// not.

namespace hearth::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr uid_t k_somebody = 12345;
constexpr uid_t k_another = 23456;

class CacheDirectoryTest : public DiskTest {
protected:
    // With entry 1 in it, and this many that are in order or not.
    static void expect_answers_and_takes_nothing(Tier& tier, std::uint64_t entries, Code refusal)
    {
        EXPECT_TRUE(holds(tier, 1));
        const Result<Stored> report = store_in(tier, numbered_key(3), sample_entry(numbered_key(3), 10));
        ASSERT_FALSE(report.ok());
        EXPECT_EQ(report.error().code, refusal);
        EXPECT_FALSE(tier.remove(numbered_key(1)));
        EXPECT_TRUE(tier.set_limits({.max_bytes = 1}, Victims::discard).empty());
        use_everything(tier);
        EXPECT_TRUE(tier.evict_to({.max_bytes = 0, .unused_for = 0s}, {}).empty());
        EXPECT_EQ(tier.try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::unsupported);
        EXPECT_FALSE(tier.update_note("stats", [](ByteView) { return Bytes::copy_of("x"); }));
        EXPECT_EQ(tier.usage().entries, entries);
        std::uint64_t visited = 0;
        tier.for_each([&](const EntryRow&) { return ++visited > 0; });
        EXPECT_EQ(visited, entries);
        const VerifyReport verified = tier.verify(Repair::yes, {});
        EXPECT_EQ(verified.intact, 1U);
        EXPECT_EQ(verified.corrupt, entries - 1);
        EXPECT_EQ(tier.info(numbered_key(1))->bytes, 100U);
        EXPECT_TRUE(holds(tier, 1));
    }
};

// One that several users share.
class SharedDirectory : public DiskTest {
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "only root can act as two users";
        fs::permissions(m_scratch.path(), fs::perms(0777));
    }

    // What a user does all day: three stores where two fit, so that the other's entries are evicted.
    void work_as(uid_t user, std::uint64_t first_key)
    {
        const ActingAs somebody(user);
        ASSERT_TRUE(somebody.worked());
        const auto tier = open({.max_entries = 2, .users = Users::many});
        for (std::uint64_t number = first_key; number < first_key + 3; ++number) {
            put(*tier, number, 100);
            EXPECT_TRUE(holds(*tier, number));
        }
        EXPECT_EQ(tier->usage().entries, 2U);
        EXPECT_TRUE(tier->update_note("stats", [](ByteView) { return Bytes::copy_of("x"); }));
        EXPECT_EQ(tier->try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::held);
        tier->flush();
        EXPECT_TRUE(tier->verify(Repair::yes, {}).accounting_exact);
        tier->maintain({});
    }
};

using UnsharedDirectory = DiskTest;

}  // namespace

TEST_F(CacheDirectoryTest, it_is_created_on_demand_with_its_parents_for_its_owner_only)
{
    const std::string directory = m_layout.directory() + "/a/b/c";
    const auto tier = open({.directory = directory});
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
    EXPECT_TRUE(read_file(directory + "/v1/CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55"));
}

TEST_F(CacheDirectoryTest, one_that_is_shared_lets_in_whom_its_own_mode_lets_in_whatever_the_umask)
{
    for (const mode_t umask : {077U, 022U})
        for (const mode_t mode : {0777U, 02770U}) {
            const WithUmask mask(umask);
            fs::remove_all(m_layout.directory());
            if (mode != 0777U) {
                fs::create_directory(m_layout.directory());
                ASSERT_EQ(::chmod(m_layout.directory().c_str(), mode), 0);
            }
            const auto tier = open({.users = Users::many});
            put(*tier, 1, 100);
            tier->update_note("stats", [](ByteView) { return Bytes::copy_of("x"); });
            EXPECT_EQ(mode_of(m_layout.directory()), mode) << "made for everyone where nobody made it";
            EXPECT_TRUE(fs::exists(m_layout.lock()));
            for (const auto& item : fs::recursive_directory_iterator(m_layout.directory()))
                EXPECT_EQ(mode_of(item.path().string()), item.is_directory()         ? mode
                                                         : item.path() == path_of(1) ? mode & 0644U
                                                                                     : mode & 0666U)
                    << item.path();
        }
}

TEST_F(CacheDirectoryTest, a_relative_directory_stays_where_it_was_when_the_program_moves)
{
    const fs::path before = fs::current_path();
    fs::current_path(m_scratch.path());
    const auto tier = open({.directory = "cache///"});
    fs::current_path("/");
    put(*tier, 1, 100);
    fs::current_path(before);
    EXPECT_TRUE(fs::exists(path_of(1)));
}

TEST_F(CacheDirectoryTest, no_directory_at_all_is_an_error_that_says_what_to_set)
{
    const Result<std::unique_ptr<Tier>> tier = disk(DiskOptions{}).open({&m_clock, {}, lru()});
    ASSERT_FALSE(tier.ok());
    EXPECT_EQ(tier.error().code, Code::invalid_argument);
    EXPECT_NE(tier.error().message.find("HEARTH_DIR"), std::string::npos);
}

TEST_F(CacheDirectoryTest, a_file_or_a_link_in_its_place_is_an_error_that_names_it_and_is_left_alone)
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

    fs::remove(m_layout.root());
    fs::create_directory(m_scratch / "elsewhere");
    fs::create_directory_symlink(m_scratch / "elsewhere", m_layout.root());
    EXPECT_FALSE(try_open().ok());
    EXPECT_TRUE(fs::is_empty(m_scratch / "elsewhere"));
}

// Without a home it is in /tmp, where a neighbour may put a link to any directory of the user's.
TEST_F(CacheDirectoryTest, the_directory_itself_may_be_a_link_of_the_users_and_none_of_anothers)
{
    fs::create_directory(m_scratch / "big-disk");
    fs::create_directory_symlink(m_scratch / "big-disk", m_layout.directory());
    {
        const auto tier = open();
        put(*tier, 1, 100);
        EXPECT_TRUE(holds(*tier, 1));
    }
    EXPECT_TRUE(fs::exists(m_scratch / "big-disk/v1/entries"));
    if (::lchown(m_layout.directory().c_str(), k_somebody, k_somebody) != 0)
        GTEST_SKIP() << "only root can give a link away";
    const auto before = snapshot(m_scratch / "big-disk");
    const Open foreign = try_open();
    ASSERT_FALSE(foreign.ok());
    EXPECT_EQ(foreign.error().code, Code::unavailable);
    EXPECT_NE(foreign.error().message.find("link of another user"), std::string::npos) << foreign.error().message;
    EXPECT_EQ(snapshot(m_scratch / "big-disk"), before);
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
    const auto tier = open({.users = Users::many});
    put(*tier, 1, 100);
    EXPECT_TRUE(holds(*tier, 1));
}

// 27, 33
TEST_F(CacheDirectoryTest, one_that_is_opened_to_be_read_answers_and_nothing_is_changed)
{
    put_range(*open(), 1, 2, 100);
    write_file(path_of(2), "damaged");
    write_file(m_layout.shard(numbered_key(1)) + "/stray", "");
    const auto before = snapshot(m_layout.directory());
    {
        const auto tier = open({.access = Access::read_only});
        EXPECT_FALSE(tier->traits().writable);
        EXPECT_EQ(tier->find(numbered_key(2)).why, Miss::corrupt);
        expect_answers_and_takes_nothing(*tier, 2, Code::unavailable);
    }
    EXPECT_EQ(snapshot(m_layout.directory()), before);
}

TEST_F(CacheDirectoryTest, one_that_cannot_be_written_still_answers_and_reports_what_it_could_not_do)
{
    put(*open(), 1, 100);
    const bool is_root = ::geteuid() == 0;
    fs::permissions(m_scratch.path(), fs::perms(0755));
    const auto take_away = [&](const fs::path& path) {
        ASSERT_EQ(is_root ? ::chown(path.c_str(), k_somebody, k_somebody) : 0, 0);
        fs::permissions(path, fs::is_directory(path) ? fs::perms(0555) : fs::perms(0444));
    };
    for (const auto& item : fs::recursive_directory_iterator(m_layout.directory()))
        take_away(item.path());
    take_away(m_layout.directory());
    const auto before = snapshot(m_layout.directory());
    {
        const ActingAs somebody(is_root ? k_somebody : ::geteuid());
        ASSERT_TRUE(somebody.worked());
        const auto tier = open();
        EXPECT_EQ(tier->find(numbered_key(2)).why, Miss::absent);
        const Result<Stored> report = store_in(*tier, numbered_key(2), sample_entry(numbered_key(2), 10));
        ASSERT_FALSE(report.ok());
        EXPECT_NE(report.error().message.find(m_layout.directory()), std::string::npos);
        expect_answers_and_takes_nothing(*tier, 1, Code::io);
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
        for (std::uint64_t number = 0; number < 40; ++number) {
            const Result<Stored> report =
                store_in(*tier, numbered_key(number), sample_entry(numbered_key(number), 50'000));
            if (report.ok()) {
                EXPECT_EQ(stored++, number);
                continue;
            }
            EXPECT_EQ(report.error().code, Code::no_space);
            EXPECT_NE(report.error().message.find("Free some space"), std::string::npos) << report.error().message;
        }
        EXPECT_GT(stored, 5U);
        EXPECT_LT(stored, 25U);
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

TEST_F(SharedDirectory, serves_two_users_whatever_their_umask)
{
    for (const mode_t umask : {077U, 022U}) {
        SCOPED_TRACE(umask);
        fs::remove_all(m_layout.directory());
        const WithUmask mask(umask);
        for (std::uint64_t round = 0; round < 3; ++round) {
            work_as(k_somebody, round * 10);
            work_as(k_another, round * 10 + 5);
            fs::remove(m_layout.index());  // whose turn it is makes it again
        }
        const ActingAs second(k_another);
        open({.users = Users::many})->clear();
        EXPECT_EQ(on_disk().entries, 0U);
    }
}

TEST_F(UnsharedDirectory, in_which_everybody_can_write_is_refused)
{
    put(*open(), 1, 100);
    for (const std::string& path : {m_layout.directory(), m_layout.root()}) {
        ASSERT_EQ(::chmod(path.c_str(), 01707), 0);
        const Open refused = try_open();
        ASSERT_FALSE(refused.ok()) << path;
        EXPECT_EQ(refused.error().code, Code::unavailable);
        for (const std::string& part : {std::string("1707"), "chmod o-w " + path + "'", std::string("HEARTH_SHARED=1")})
            EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
        EXPECT_TRUE(holds(*open({.users = Users::many}), 1));
        ASSERT_EQ(::chmod(path.c_str(), 0770), 0);
        EXPECT_TRUE(holds(*open(), 1)) << "groups are the user's own business";
    }
}

// A compiler reads on from what is known of this machine, so a neighbour's word for it is not enough.
TEST_F(CacheDirectoryTest, one_that_is_shared_gives_neither_a_neighbours_facts_nor_his_failures)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give a file away";
    const auto tier = open({.users = Users::many});
    put(*tier, 1, 100);
    for (const auto& [number, compiler, status] : {std::tuple{2U, "hearth", 0}, std::tuple{3U, "nvcc", 1}}) {
        const auto artifact = sample_artifact(numbered_key(number), 100);
        artifact->metadata.compiler = compiler;
        artifact->status = status;
        ASSERT_TRUE(store_in(*tier, numbered_key(number), Entry(artifact)).ok());
        EXPECT_TRUE(tier->find(numbered_key(number)));
    }
    for (const std::uint64_t number : {1, 2, 3})
        ASSERT_EQ(::chown(path_of(number).c_str(), k_somebody, k_somebody), 0);
    EXPECT_TRUE(holds(*tier, 1));
    for (const std::uint64_t number : {2, 3})
        EXPECT_FALSE(tier->find(numbered_key(number)));
    EXPECT_EQ(::chown(path_of(2).c_str(), 0, 0), 0) << "it was left to the neighbour";
    EXPECT_TRUE(tier->find(numbered_key(2)));
    ASSERT_EQ(::chmod(path_of(2).c_str(), 0666), 0);
    EXPECT_FALSE(tier->find(numbered_key(2))) << "he may have written into it";
}

TEST_F(UnsharedDirectory, does_not_serve_what_another_user_put_there)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give a file away";
    const auto tier = open();
    put(*tier, 1, 100);
    ASSERT_EQ(::chown(path_of(1).c_str(), k_somebody, k_somebody), 0);
    EXPECT_EQ(tier->verify(Repair::no, {}).corrupt, 1U);
    EXPECT_EQ(tier->peek(numbered_key(1)).why, Miss::untrusted);
    EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::untrusted);
    EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::absent) << "it was removed";
    expect_exact_accounting(*tier);
    put(*tier, 1, 100);
    EXPECT_TRUE(holds(*tier, 1));
}

}  // namespace hearth::test
