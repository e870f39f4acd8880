#include "tiers/disk/disk_tier.hpp"

#include "disk_fixture.hpp"
#include "support/faulty_files.hpp"
#include "support/forks.hpp"
#include "support/forwarding_files.hpp"
#include "support/in_threads.hpp"

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <future>
#include <stop_token>
#include <thread>
#include <unistd.h>

// What is special about the disk; what every tier promises is in tier_conformance.cpp, damage in
// damaged_entry_test.cpp.

namespace hearth::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

using DiskTierTest = DiskTest;

// The first listing stops until it is let go.
class HeldListing final : public ForwardingFiles {
public:
    HeldListing() : ForwardingFiles(base::system_files()) {}
    int list(base::At at, std::vector<std::string>& names) override
    {
        if (m_held && !m_reached.exchange(true)) {
            m_there.set_value();
            m_let_go.get_future().wait();
        }
        return ForwardingFiles::list(at, names);
    }

    std::atomic<bool> m_held{false};
    std::promise<void> m_there;
    std::promise<void> m_let_go;

private:
    std::atomic<bool> m_reached{false};
};

}  // namespace

// 25, 30
TEST_F(DiskTierTest, entries_uses_and_metadata_survive_reopening)
{
    const Key key = numbered_key(1);
    const std::shared_ptr<Artifact> artifact = sample_artifact(key, 3000);
    artifact->metadata = {
        .label = "saxpy", .compiler = "nvrtc 13.0", .target = "sm_90a", .options = {"-O3", "-lineinfo"}};
    artifact->cost = 1234ms;
    {
        const auto tier = open();
        ASSERT_TRUE(store_in(*tier, key, Entry(artifact)).ok());
        m_clock.advance(10s);
        EXPECT_EQ(tier->find(key).uses, 1U);
        EXPECT_EQ(tier->find(key).uses, 2U);
    }
    m_clock.advance(10s);
    const auto tier = open();
    const std::optional<EntryRow> row = tier->info(key);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->metadata, artifact->metadata);
    EXPECT_EQ(row->cost, artifact->cost);
    EXPECT_EQ(row->created, artifact->created);
    EXPECT_EQ(row->bytes, 3000U);
    EXPECT_EQ(row->uses, 2U);
    EXPECT_EQ(row->last_used, ManualClock::k_start + 10s);
    const Found found = tier->find(key);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found.artifact, *artifact);
    EXPECT_EQ(found.uses, 1U) << "of this process";
    EXPECT_EQ(found.cost, artifact->cost);
}

TEST_F(DiskTierTest, the_order_of_use_survives_reopening_and_a_lower_limit_then_holds_from_the_first_store)
{
    for (const std::uint64_t number : {1, 2, 3, 4, 5}) {
        put(*open(), number, 100);
        m_clock.advance(1ms);
    }
    EXPECT_TRUE(holds(*open(), 1));
    const auto tier = open({.max_entries = 3});
    put(*tier, 6, 100);
    for (const std::uint64_t number : {1, 2, 3, 4, 5, 6})
        EXPECT_EQ(tier->contains(numbered_key(number)), number == 1 || number >= 5) << number;
    expect_exact_accounting(*tier);
}

// 28
TEST_F(DiskTierTest, compression_can_be_toggled_and_old_entries_load)
{
    const Artifact compressible{std::string(100'000, 'x') + "end"};
    const auto stored = [&](int level, std::uint64_t number) {
        const auto tier = open({.compression = level});
        return store_in(*tier, numbered_key(number), Entry(std::make_shared<Artifact>(compressible)))->bytes;
    };
    const std::uint64_t plain = stored(0, 1);
    const std::uint64_t quick = stored(1, 2);
    const std::uint64_t hard = stored(19, 3);
    EXPECT_GT(plain, 100'000U);
    EXPECT_LT(quick, 1'000U);
    EXPECT_LE(hard, quick);
    const auto tier = open();
    for (const std::uint64_t number : {1, 2, 3}) {
        EXPECT_EQ(*tier->find(numbered_key(number)).artifact, compressible);
        // The ratio can be read off.
        EXPECT_EQ(tier->info(numbered_key(number))->bytes, compressible.size());
    }
    EXPECT_EQ(tier->info(numbered_key(2))->stored_bytes, quick);
}

// 35
TEST_F(DiskTierTest, a_directory_of_an_older_format_is_a_clean_miss_and_the_new_one_grows_beside_it)
{
    follow_the_machine();
    put_range(*open(), 0, 4, 100);
    // Every file as Hearth wrote it, in the folder of the format before, with that format's version in the entries.
    const std::string old = m_layout.directory() + "/v0";
    fs::rename(m_layout.root(), old);
    for (const fs::directory_entry& item : fs::recursive_directory_iterator(old + "/entries"))
        if (item.is_regular_file()) {
            std::string bytes = read_file(item.path());
            bytes[8] = 0;
            write_file(item.path(), bytes);
        }
    const auto before = snapshot(old);
    const auto tier = open();
    for (std::uint64_t number = 0; number < 5; ++number)
        EXPECT_EQ(tier->find(numbered_key(number)).why, Miss::absent);
    EXPECT_EQ(tier->usage().entries, 0U);
    EXPECT_GT(tier->usage().aside_bytes, 500U);
    put_range(*tier, 0, 4, 100);
    tier->maintain({});
    tier->verify(Repair::yes, {});
    EXPECT_EQ(snapshot(old), before) << "a program of that version may still use it";
    for (std::uint64_t number = 0; number < 5; ++number)
        EXPECT_TRUE(holds(*tier, number));
    // An entry of that format that somebody copied over is left alone too.
    fs::copy_file(old + path_of(1).substr(m_layout.root().size()), path_of(1), fs::copy_options::overwrite_existing);
    EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::other_version);
    const VerifyReport report = tier->verify(Repair::yes, {});
    EXPECT_EQ(report.other_version, 1U);
    EXPECT_EQ(report.corrupt + report.removed, 0U);
    EXPECT_TRUE(report.accounting_exact);
    tier->maintain({});
    EXPECT_EQ(read_file(path_of(1))[8], 0);
}

// 26
TEST_F(DiskTierTest, maintenance_sweeps_what_killed_processes_left)
{
    const auto tier = open();
    put(*tier, 1, 100);
    write_file(m_layout.temporaries() + "/0123456789abcdef-1-1", "half an ent");
    write_file(m_layout.flight(numbered_key(2)), "");
    write_file(m_layout.flight(numbered_key(3)), "");
    EXPECT_EQ(tier->try_flight(numbered_key(3)).outcome, FlightAttempt::Outcome::held) << "it holds nobody up";
    follow_the_machine();
    tier->maintain({});
    EXPECT_EQ(files_in(m_layout.temporaries()).size(), 1U) << "young: it may be somebody's";
    EXPECT_EQ(files_in(m_layout.flights()).size(), 1U) << "somebody may be about to lock it";
    m_clock.advance(2min);
    tier->maintain({});
    EXPECT_TRUE(files_in(m_layout.temporaries()).empty());
    EXPECT_TRUE(files_in(m_layout.flights()).empty());
    EXPECT_TRUE(holds(*tier, 1));
}

// 33
TEST_F(DiskTierTest, verifying_with_repair_removes_damaged_entries_and_abandoned_temporaries)
{
    const auto tier = open();
    put_range(*tier, 0, 9, 100);
    write_file(path_of(3), "damaged");
    write_file(path_of(4), "");
    write_file(m_layout.temporaries() + "/0123456789abcdef-1-1", "");
    follow_the_machine();
    m_clock.advance(2min);
    const VerifyReport seen = tier->verify(Repair::no, {});
    EXPECT_EQ(seen.checked, 10U);
    EXPECT_EQ(seen.intact, 8U);
    EXPECT_EQ(seen.corrupt, 2U);
    EXPECT_EQ(seen.removed, 0U);
    EXPECT_EQ(seen.problems.size(), 3U) << "two entries and the accounting";
    std::uint64_t last = 0;
    const VerifyReport repaired = tier->verify(Repair::yes, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_EQ(done, last + 1);
        EXPECT_EQ(total, 10U);
        last = done;
        return true;
    });
    EXPECT_EQ(repaired.corrupt, 2U);
    EXPECT_EQ(repaired.removed, 3U);
    const VerifyReport after = tier->verify(Repair::no, {});
    EXPECT_EQ(after.intact, 8U);
    EXPECT_TRUE(after.problems.empty());
    expect_exact_accounting(*tier);
}

// 70
TEST_F(DiskTierTest, notes_are_updated_by_one_at_a_time)
{
    const auto count_up = [](ByteView before) {
        const std::string text(as_text(before));
        return Bytes::copy_of(std::to_string((text.empty() ? 0 : std::stoi(text)) + 1));
    };
    std::atomic<int> updated{0};
    in_threads(4, [&](std::uint64_t) {
        const auto tier = open();
        for (int step = 0; step < 50; ++step)
            updated += tier->update_note("stats", count_up) ? 1 : 0;
    });
    EXPECT_GT(updated, 0);
    EXPECT_EQ(open()->read_note("stats").text(), std::to_string(updated));
}

TEST_F(DiskTierTest, two_tiers_on_one_directory_share_entries_and_budget)
{
    const auto first = open({.max_entries = 4});
    const auto second = open({.max_entries = 4});
    for (std::uint64_t number = 0; number < 10; ++number) {
        put(number % 2 == 0 ? *first : *second, number, 100);
        EXPECT_TRUE(holds(number % 2 == 0 ? *second : *first, number));
        EXPECT_LE(on_disk().entries, 4U);
        EXPECT_EQ(first->usage().entries, second->usage().entries);
    }
    EXPECT_TRUE(first->remove(numbered_key(9)));
    EXPECT_FALSE(second->contains(numbered_key(9)));
    expect_exact_accounting(*first);
    expect_exact_accounting(*second);
}

// 25
TEST_F(DiskTierTest, a_tier_goes_on_in_a_forked_child_and_in_its_parent)
{
    const auto tier = open();
    put(*tier, 1, 100);
    EXPECT_TRUE(holds(*tier, 1));
    const pid_t child = ::fork();
    if (child == 0) {
        put(*tier, 2, 100);
        ::_exit(holds(*tier, 1) && holds(*tier, 2) && tier->remove(numbered_key(1)) ? 0 : 1);
    }
    EXPECT_TRUE(child_was_right(child));
    EXPECT_TRUE(holds(*tier, 2));
    EXPECT_FALSE(holds(*tier, 1));
    put(*tier, 3, 100);
    expect_exact_accounting(*tier);
    EXPECT_TRUE(files_in(m_layout.temporaries()).empty());
}

// While another thread works on the directory's files.
TEST_F(DiskTierTest, a_fork_does_not_wait_for_a_rebuild_and_the_child_finds_and_stores)
{
    SKIP_FORKS_WITH_THREADS();
    HeldListing files;
    m_environment.files = &files;
    const auto tier = open();
    put(*tier, 1, 100);
    fs::remove(m_layout.index());
    files.m_held = true;
    ::alarm(60);  // what waits here would wait for ever
    std::thread rebuilding([&] { put(*tier, 2, 100); });
    files.m_there.get_future().wait();

    int go[2];
    ASSERT_EQ(::pipe(go), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        bool right = holds(*tier, 1);
        char byte = 0;
        right &= ::read(go[0], &byte, 1) == 1;
        put(*tier, 3, 100);
        right &= holds(*tier, 3);
        ::_exit(right ? 0 : 1);
    }
    ::alarm(0);
    files.m_let_go.set_value();
    rebuilding.join();
    // The child has no copy of the lock that was held when it was forked.
    put(*tier, 4, 100);
    EXPECT_TRUE(holds(*tier, 4));
    ASSERT_EQ(::write(go[1], "x", 1), 1);
    EXPECT_TRUE(child_was_right(child));
    EXPECT_TRUE(holds(*tier, 3));
    expect_exact_accounting(*tier);
    ::close(go[0]);
    ::close(go[1]);
}

// 36
TEST_F(DiskTierTest, a_lock_held_by_another_stops_stores_and_neither_hits_nor_closing)
{
    auto tier = open();
    put(*tier, 1, 100);
    const int holder = ::open(m_layout.lock().c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(base::system_files().try_lock(holder), 0);
    EXPECT_TRUE(holds(*tier, 1)) << "a use that closing would write down";
    EXPECT_TRUE(tier->contains(numbered_key(1)));
    EXPECT_EQ(tier->usage().entries, 1U);
    const Result<Stored> report = store_in(*tier, numbered_key(2), sample_entry(numbered_key(2), 10));
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, Code::timeout);
    tier.reset();  // returns though nobody gives up the lock
    ::close(holder);
    tier = open();
    EXPECT_EQ(tier->usage().entries, 1U);
    put(*tier, 2, 10);
    EXPECT_TRUE(files_in(m_layout.temporaries()).empty());
}

// 18, 33
TEST_F(DiskTierTest, what_it_would_evict_is_what_it_evicts_and_saying_so_changes_nothing)
{
    for (const PolicyFactory& policy : {lru(), gdsf()}) {
        const auto tier = open({}, policy);
        tier->clear();
        for (std::uint64_t number = 0; number < 1000; ++number) {
            const Key key = numbered_key(number);
            const std::shared_ptr<Artifact> artifact = sample_artifact(key, 10 + number % 90);
            artifact->cost = std::chrono::milliseconds(1 + number * 7 % 100);
            if (number < 5)
                artifact->expires = m_clock.now() + 1h;
            ASSERT_TRUE(store_in(*tier, key, Entry(artifact)).ok());
        }
        for (std::uint64_t number = 100; number < 200; ++number)
            EXPECT_TRUE(tier->find(numbered_key(number)));
        m_clock.advance(2h);
        for (std::uint64_t number = 150; number < 1000; ++number)
            EXPECT_TRUE(tier->find(numbered_key(number)));
        const EvictTo goal{.max_entries = 300, .unused_for = 1h};
        const auto keys_of = [](const std::vector<Victim>& victims) {
            std::vector<Key> keys;
            for (const Victim& victim : victims)
                keys.push_back(victim.key);
            return keys;
        };
        const std::vector<Victim> would_go = tier->would_evict(goal);
        ASSERT_EQ(would_go.size(), 700U);
        EXPECT_EQ(tier->usage().entries, 1000U);
        EXPECT_EQ(keys_of(tier->would_evict(goal)), keys_of(would_go)) << "it is asked twice";
        EXPECT_EQ(tier->would_evict({}).size(), 5U) << "what has expired";

        std::vector<Victim> gone = tier->maintain({});
        ASSERT_EQ(gone.size(), 5U);
        for (Victim& victim : tier->evict_to(goal, {}))
            gone.push_back(std::move(victim));
        ASSERT_EQ(gone.size(), 700U);
        // 150 go by age, in no order; of the other 850, 550 are too many, and go worst first.
        const std::vector<Key> expected = keys_of(would_go);
        const std::vector<Key> found = keys_of(gone);
        EXPECT_TRUE(std::equal(expected.begin() + 150, expected.end(), found.begin() + 150));
        EXPECT_TRUE(std::is_permutation(expected.begin(), expected.begin() + 150, found.begin()));
        expect_exact_accounting(*tier);
    }
}

// 36
TEST_F(DiskTierTest, maintenance_that_is_told_to_stop_does_the_same_few_things_whatever_there_is_to_do)
{
    std::vector<std::uint64_t> operations;
    for (const std::uint64_t count : {100, 3000}) {
        put_range(*open(), 1, count, 10);
        m_environment.boot[0] ^= 1U;  // after a restart of the machine, all entries have to be looked at
        FaultyFiles counting;
        m_environment.files = &counting;
        {
            const auto tier = open();
            std::stop_source stop;
            stop.request_stop();
            tier->maintain(stop.get_token());
            operations.push_back(counting.count());
        }
        m_environment.files = &base::system_files();
    }
    EXPECT_LT(operations.back(), 1000U) << "not even one for each three entries";
    EXPECT_LT(operations.back(), operations.front() + 400) << "folders are listed, entries are not looked at";
}

TEST_F(DiskTierTest, times_at_the_ends_of_the_clock_are_just_times)
{
    const auto tier = open({.max_age = 60s});
    for (const WallTime created : {WallTime::min(), WallTime{}, WallTime::max()}) {
        const Key key = numbered_key(1);
        const std::shared_ptr<Artifact> artifact = sample_artifact(key, 10);
        artifact->created = created;
        ASSERT_TRUE(store_in(*tier, key, Entry(artifact)).ok());
        EXPECT_EQ(static_cast<bool>(tier->find(key)), created == WallTime::max());
        tier->maintain({});
        EXPECT_EQ(tier->contains(key), created == WallTime::max());
    }
    EXPECT_TRUE(tier->evict_to({.unused_for = std::chrono::seconds::max()}, {}).empty());
}

}  // namespace hearth::test
