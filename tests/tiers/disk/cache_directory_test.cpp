#include "tiers/disk/cache_directory.hpp"

#include "disk_fixture.hpp"
#include "support/faulty_files.hpp"

#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// 37 and 38: where a cache lives, and everything that can stand in its way there.

namespace hearth::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

using Directory = tiers::CacheDirectory;

class CacheDirectoryTest : public DiskTest {
protected:
    Directory directory(bool shared = false) const { return {m_layout.directory(), shared, m_environment}; }

    // A file beside the cache and one in it that is not Hearth's: neither may ever change.
    std::map<std::string, std::string> with_neighbours()
    {
        fs::create_directories(m_layout.directory());
        write_file(m_scratch / "neighbour", "not yours");
        write_file(m_layout.directory() + "/notes.txt", "not yours either");
        fs::create_directories(m_layout.directory() + "/v2/entries/ab");
        write_file(m_layout.directory() + "/v2/entries/ab/cd", "of a later version");
        return others();
    }
    std::map<std::string, std::string> others() const
    {
        std::map<std::string, std::string> all = snapshot(m_scratch.path());
        std::erase_if(all, [&](const auto& item) { return item.first.starts_with(m_layout.root()); });
        return all;
    }
};

constexpr unsigned k_somebody = 12345;

// The effective user for a while. Only root can become somebody.
class ActingAs {
public:
    explicit ActingAs(uid_t user) : m_before(::geteuid()), m_worked(::seteuid(user) == 0) {}
    ~ActingAs()
    {
        if (m_worked && ::seteuid(m_before) != 0)
            std::abort();
    }
    ActingAs(const ActingAs&) = delete;
    ActingAs& operator=(const ActingAs&) = delete;
    bool worked() const { return m_worked; }

private:
    uid_t m_before;
    bool m_worked;
};

unsigned mode_of(const std::string& path)
{
    struct stat found {};
    EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
    return found.st_mode & 07777U;
}

void set_modified(const std::string& path, WallTime time)
{
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
    const timespec both[2] = {{seconds.count(), 0}, {seconds.count(), 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), both, 0), 0) << path;
}

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
    EXPECT_TRUE(read_file(options.directory + "/v1/CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55"));
}

TEST_F(CacheDirectoryTest, one_that_is_shared_is_made_for_everyone)
{
    const mode_t before = ::umask(0);
    DiskOptions options;
    options.shared = true;
    const auto tier = open(options);
    put(*tier, 1, 100);
    ::umask(before);
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
    options.shared = true;
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
        const Result<StoreReport> report = tier->store(numbered_key(2), sample_entry(numbered_key(2), 10), Victims::discard);
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
        ::mount("tmpfs", m_layout.directory().c_str(), "tmpfs", 0, "size=1m") != 0)
        GTEST_SKIP() << "this user may not mount a file system of 1 MB";
    {
        const auto tier = open();
        std::uint64_t stored = 0;
        Code last = Code::io;
        for (std::uint64_t number = 0; number < 40; ++number) {
            const Key key = numbered_key(number);
            const Result<StoreReport> report = tier->store(key, sample_entry(key, 50'000), Victims::discard);
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

TEST_F(CacheDirectoryTest, a_link_in_place_of_an_entry_is_a_miss_and_only_the_link_is_removed)
{
    const auto tier = open();
    put(*tier, 1, 100);
    put(*tier, 2, 100);
    write_file(m_scratch / "outside", "precious");
    for (const std::string& target : {m_scratch / "outside", path_of(2), std::string("/dev/zero"), m_scratch / "nowhere"}) {
        put(*tier, 1, 100);
        fs::remove(path_of(1));
        fs::create_symlink(target, path_of(1));
        EXPECT_FALSE(tier->contains(numbered_key(1)));
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

TEST_F(CacheDirectoryTest, a_directory_in_place_of_an_entry_is_a_miss_and_left_alone)
{
    const auto tier = open();
    put(*tier, 1, 100);
    put(*tier, 2, 100);
    fs::remove(path_of(1));
    fs::create_directories(path_of(1) + "/inner");
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::corrupt);
        EXPECT_FALSE(tier->contains(numbered_key(1)));
        EXPECT_FALSE(tier->store(numbered_key(1), sample_entry(numbered_key(1), 100), Victims::discard).ok());
        EXPECT_TRUE(holds(*tier, 2));
        expect_exact_accounting(*tier);
        // An index made anew does not count it.
        fs::remove(m_layout.index());
    }
    EXPECT_EQ(tier->verify(Repair::yes, {}).stray, 1U);
    EXPECT_TRUE(fs::exists(path_of(1) + "/inner"));
    // Nor does it stand in the way of evicting everything else.
    tier->set_limits({.max_bytes = 0, .max_entries = 1}, Victims::discard);
    for (std::uint64_t number = 10; number < 20; ++number)
        put(*tier, number, 100);
    EXPECT_EQ(tier->usage().entries, 1U);
    tier->clear();
    EXPECT_TRUE(fs::exists(path_of(1) + "/inner"));
    expect_exact_accounting(*tier);
}

TEST_F(CacheDirectoryTest, an_entry_whose_file_has_become_a_directory_can_be_evicted)
{
    const auto tier = open({.directory = {}, .max_entries = 2});
    put(*tier, 1, 100);
    put(*tier, 2, 100);
    fs::remove(path_of(1));
    fs::create_directory(path_of(1));
    put(*tier, 3, 100);
    put(*tier, 4, 100);
    EXPECT_TRUE(holds(*tier, 3));
    EXPECT_TRUE(holds(*tier, 4));
    expect_exact_accounting(*tier);
}

TEST_F(CacheDirectoryTest, a_pipe_in_place_of_an_entry_does_not_hang_anybody)
{
    const auto tier = open();
    put(*tier, 1, 100);
    fs::remove(path_of(1));
    ASSERT_EQ(::mkfifo(path_of(1).c_str(), 0600), 0);
    EXPECT_FALSE(tier->info(numbered_key(1)));
    tier->for_each([](const EntryRow&) { return true; });
    EXPECT_EQ(tier->verify(Repair::no, {}).corrupt, 1U);
    EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::corrupt);
    EXPECT_FALSE(fs::exists(path_of(1)));
    expect_exact_accounting(*tier);
    ASSERT_EQ(::mkfifo((m_layout.temporaries() + "/pipe").c_str(), 0600), 0);
    tier->maintain({});
}

TEST_F(CacheDirectoryTest, files_that_are_no_entries_are_counted_as_strays_and_left_alone)
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

TEST_F(CacheDirectoryTest, nothing_outside_its_own_folder_is_touched)
{
    const auto before = with_neighbours();
    {
        const auto tier = open({.directory = {}, .max_entries = 5});
        for (std::uint64_t number = 0; number < 20; ++number)
            put(*tier, number, 100);
        holds(*tier, 19);
        tier->flush();
        tier->remove(numbered_key(19));
        tier->update_note("stats", [](ByteView) { return Bytes::copy_of("x"); });
        tier->try_flight(numbered_key(1));
        fs::remove(m_layout.index());
        m_environment.boot[0] ^= 1;
        const auto rebooted = open();
        rebooted->maintain({});
        rebooted->verify(Repair::yes, {});
        rebooted->clear();
    }
    EXPECT_EQ(others(), before);
}

// 42
TEST_F(CacheDirectoryTest, a_flight_has_one_holder_among_tiers_on_one_directory)
{
    const Directory first = directory();
    const Directory second = directory();
    FlightAttempt held = first.try_flight(numbered_key(1));
    ASSERT_EQ(held.outcome, FlightAttempt::Outcome::held);
    EXPECT_EQ(second.try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::busy);
    EXPECT_EQ(first.try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::busy);
    held.flight.reset();
    EXPECT_TRUE(files_in(m_layout.flights()).empty());
    EXPECT_EQ(second.try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::held);
}

TEST_F(CacheDirectoryTest, a_stale_flight_file_holds_nobody_up_and_is_swept)
{
    const Directory files = directory();
    ASSERT_EQ(files.prepare(), 0);
    write_file(m_layout.flight(numbered_key(1)), "");
    EXPECT_EQ(files.try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::held);
    write_file(m_layout.flight(numbered_key(2)), "");
    follow_the_machine();
    EXPECT_EQ(files.sweep_abandoned(m_layout.flights(), m_clock.now()), 0U) << "young: somebody may be about to lock it";
    EXPECT_EQ(files.sweep_abandoned(m_layout.flights(), m_clock.now() + 2min), 1U);
    EXPECT_TRUE(files_in(m_layout.flights()).empty());
}

TEST_F(CacheDirectoryTest, a_killed_holder_gives_its_flight_up)
{
    const Directory files = directory();
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const FlightAttempt held = files.try_flight(numbered_key(1));
        const char answer = held.outcome == FlightAttempt::Outcome::held ? 'y' : 'n';
        if (::write(ready[1], &answer, 1) != 1)
            ::_exit(1);
        for (;;)
            ::pause();
    }
    char answer = 0;
    ASSERT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    EXPECT_EQ(files.try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::busy);
    // A long make is not mistaken for an abandoned one.
    follow_the_machine();
    EXPECT_EQ(files.sweep_abandoned(m_layout.flights(), m_clock.now() + 1h), 0U);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    EXPECT_EQ(files.try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::held);
}

// 26
TEST_F(CacheDirectoryTest, abandoned_temporaries_are_swept_and_live_ones_left)
{
    Directory files = directory();
    int error = 0;
    const auto live = files.write_temporary(as_bytes("being written"), error);
    ASSERT_TRUE(live);
    const std::string live_path = m_layout.temporaries() + "/" + files_in(m_layout.temporaries()).front();
    for (const char* const name : {"stale", "young", "future"})
        write_file(m_layout.temporaries() + "/" + name, "left behind");
    fs::create_directory(m_layout.temporaries() + "/folder");
    fs::create_symlink("/etc/passwd", m_layout.temporaries() + "/link");
    follow_the_machine();
    const WallTime now = m_clock.now();
    set_modified(live_path, now - 24h);
    set_modified(m_layout.temporaries() + "/stale", now - 2min);
    set_modified(m_layout.temporaries() + "/young", now - 30s);
    set_modified(m_layout.temporaries() + "/future", now + 24h * 365 * 200);
    EXPECT_EQ(files.sweep_abandoned(m_layout.temporaries(), now), 1U);
    EXPECT_TRUE(fs::exists(live_path));
    EXPECT_FALSE(fs::exists(m_layout.temporaries() + "/stale"));
    EXPECT_TRUE(fs::exists(m_layout.temporaries() + "/young"));
    EXPECT_TRUE(fs::exists(m_layout.temporaries() + "/future"));
    EXPECT_TRUE(fs::exists(m_layout.temporaries() + "/folder"));
}

TEST_F(CacheDirectoryTest, a_file_dated_beyond_what_we_can_count_is_just_a_file_of_the_far_future)
{
    const auto tier = open();
    put(*tier, 1, 100);
    const timespec beyond[2] = {{10'000'000'000, 0}, {10'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_of(1).c_str(), beyond, 0), 0);
    write_file(m_layout.temporaries() + "/later", "");
    ASSERT_EQ(::utimensat(AT_FDCWD, (m_layout.temporaries() + "/later").c_str(), beyond, 0), 0);
    fs::remove(m_layout.index());
    tier->maintain({});
    EXPECT_TRUE(holds(*tier, 1));
    put(*tier, 2, 100);
    expect_exact_accounting(*tier);
}

TEST_F(CacheDirectoryTest, temporaries_have_names_of_their_own_and_vanish_unless_published)
{
    Directory first = directory();
    Directory second = directory();  // the same seed, as after a fork
    int error = 0;
    {
        const auto a = first.write_temporary(as_bytes("a"), error);
        const auto b = first.write_temporary(as_bytes("b"), error);
        ASSERT_TRUE(a && b);
        EXPECT_EQ(files_in(m_layout.temporaries()).size(), 2U);
        ASSERT_EQ(a->publish(numbered_key(1)), 0);
    }
    EXPECT_TRUE(files_in(m_layout.temporaries()).empty());
    EXPECT_EQ(read_file(path_of(1)), "a");
    EXPECT_EQ(second.stat_entry(numbered_key(1)), 1);
    EXPECT_EQ(second.unlink_entry(numbered_key(1)), 0);
    EXPECT_EQ(second.unlink_entry(numbered_key(1)), 0) << "gone is gone";
    EXPECT_EQ(second.stat_entry(numbered_key(1)), -ENOENT);
}

// 70
TEST_F(CacheDirectoryTest, a_note_is_whole_whatever_fails_while_it_is_updated)
{
    const Directory healthy = directory();
    for (std::uint64_t first = 0;; ++first) {
        ASSERT_TRUE(healthy.update_note("stats", [](ByteView) { return Bytes::copy_of("before"); }));
        FaultyFiles faulty({.error = EIO, .first = first});
        tiers::DiskEnvironment environment = m_environment;
        environment.files = &faulty;
        const bool updated = Directory(m_layout.directory(), false, environment).update_note("stats", [](ByteView) {
            return Bytes::copy_of("after");
        });
        if (faulty.strikable() <= first)
            break;
        const Bytes now = healthy.read_note("stats");
        ASSERT_TRUE(now.text() == "after" || (!updated && now.text() == "before"))
            << "operation " << first << ": " << now.text();
    }
}

}  // namespace hearth::test
