#include "disk_fixture.hpp"
#include "support/faulty_files.hpp"
#include "tiers/disk/cache_directory.hpp"

#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

// Flights, temporaries and notes: the small files of a cache directory, and what becomes of them when their owner dies.

namespace hearth::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

using Directory = tiers::CacheDirectory;

class Leftovers : public DiskTest {
protected:
    Directory directory() const { return {m_layout.directory(), false, m_environment}; }
};

}  // namespace

// 42
TEST_F(Leftovers, a_flight_has_one_holder_among_processes_and_a_killed_one_gives_it_up)
{
    const Directory files = directory();
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        const FlightAttempt held = files.try_flight(numbered_key(1));
        const char answer = held.outcome == FlightAttempt::Outcome::held ? 'y' : 'n';
        if (::write(ready[1], &answer, 1) != 1)
            ::_exit(1);
        for (;;)
            ::pause();
    }
    ::close(ready[1]);  // so that a child that ends says nothing, and is not waited for
    char answer = 0;
    ASSERT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    EXPECT_EQ(files.try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::busy);
    // A long make is not mistaken for an abandoned one.
    follow_the_machine();
    EXPECT_EQ(files.sweep_flights(m_clock.now() + 1h), 0U);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    EXPECT_EQ(files.try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::held);
}

// 26
TEST_F(Leftovers, abandoned_temporaries_are_swept_and_live_ones_left)
{
    Directory files = directory();
    int error = 0;
    const auto live = files.write_temporary(as_bytes("being written"), error);
    ASSERT_TRUE(live);
    const std::string live_path = m_layout.temporaries() + "/" + files_in(m_layout.temporaries()).front();
    const auto path = [&](const std::string& name) { return m_layout.temporaries() + "/" + name; };
    const std::string stale = path("0123456789abcdef-12-0");
    const std::string young = path("0123456789abcdef-12-1");
    const std::string future = path("0123456789abcdef-12-2");
    for (const std::string& file : {stale, young, future})
        write_file(file, "left behind");
    fs::create_directory(path("0123456789abcdef-12-3"));
    fs::create_symlink("/etc/passwd", path("0123456789abcdef-12-4"));
    follow_the_machine();
    const WallTime now = m_clock.now();
    set_modified(live_path, now - 24h);
    set_modified(stale, now - 2min);
    set_modified(young, now - 30s);
    set_modified(future, now + 24h * 365 * 200);
    set_modified(path("0123456789abcdef-12-3"), now - 2min);
    EXPECT_EQ(files.sweep_temporaries(now), 1U);
    EXPECT_FALSE(fs::exists(stale));
    for (const std::string& left : {live_path, young, future, path("0123456789abcdef-12-3")})
        EXPECT_TRUE(fs::exists(left)) << left;
    EXPECT_TRUE(fs::is_symlink(path("0123456789abcdef-12-4")));
}

TEST_F(Leftovers, only_names_of_our_own_making_are_swept)
{
    const Directory files = directory();
    ASSERT_EQ(files.prepare(), 0);
    const std::string seed = "0123456789abcdef";
    const std::string digest = numbered_key(1).hex();
    const std::vector<std::string> names{
        "stale",      digest,       digest + "0",  std::string(64, 'A'),   seed + "-1-2-3",         seed + "-1",
        seed + "-1-", seed + "--1", seed + "-1-x", "0123456789ABCDEF-1-2", seed.substr(1) + "-1-2", seed + "1-1-2"};
    for (const std::string& folder : {m_layout.temporaries(), m_layout.flights()})
        for (const std::string& name : names)
            write_file(folder + "/" + name, "somebody's");
    follow_the_machine();
    EXPECT_EQ(files.sweep_temporaries(m_clock.now() + 1h), 0U);
    EXPECT_EQ(files_in(m_layout.temporaries()).size(), names.size());
    EXPECT_EQ(files.sweep_flights(m_clock.now() + 1h), 1U);
    EXPECT_EQ(files_in(m_layout.flights()).size(), names.size() - 1);
    EXPECT_FALSE(fs::exists(m_layout.flight(numbered_key(1))));
}

TEST_F(Leftovers, temporaries_have_names_of_their_own_and_vanish_unless_published)
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
TEST_F(Leftovers, a_note_is_whole_whatever_fails_while_it_is_updated)
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
