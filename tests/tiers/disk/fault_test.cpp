#include "disk_fixture.hpp"
#include "support/faulty_files.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

// The n-th file operation fails, for every n, in every way it can, once and from then on.

namespace hearth::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

// A program that uses the cache for a while. It knows which versions of a key it may be answered with: after a store
// that succeeded only that one, after one that failed the old or the new.
class Program {
public:
    static constexpr std::uint64_t k_keys = 8;

    Program(const std::string& directory, const tiers::DiskEnvironment& environment, const Clock& clock)
        : m_directory(directory), m_environment(environment), m_clock(clock)
    {
    }

    void run()
    {
        if (!open())
            return;
        store(1, 0);
        store(2, 0);
        find(1);
        store(2, 1);
        store(3, 0);
        m_tier->touch(numbered_key(3), 2);
        m_tier->flush();
        store(4, 0);
        store(5, 0);  // one more than fits
        find(2);
        remove(3);
        m_tier->update_note("stats",
                            [](ByteView before) { return Bytes::copy_of(std::string(as_text(before)) + "x"); });
        m_tier->try_flight(numbered_key(6));
        m_tier->info(numbered_key(4));
        m_tier->for_each([](const EntryRow&) { return true; });
        m_tier->maintain({});
        if (!open())
            return;
        for (std::uint64_t number = 0; number < k_keys; ++number)
            find(number);
        store(6, 0, Victims::keep);
        m_tier->set_limits({.max_bytes = 0, .max_entries = 2}, Victims::keep);
        m_tier->verify(Repair::yes, {});
        m_tier->usage();
        m_tier->clear();
        store(7, 0);
        find(7);
        m_tier.reset();
    }

    // Everything that can be found is a version it may be.
    void check(Tier& tier) const
    {
        for (std::uint64_t number = 0; number < k_keys; ++number)
            check(number, tier.find(numbered_key(number)));
    }

private:
    bool open()
    {
        m_tier.reset();
        const DiskOptions options{.directory = m_directory, .max_entries = 4, .compression = 0};
        Result<std::unique_ptr<Tier>> tier = tiers::DiskTier::open(options, {&m_clock, {}, lru()}, m_environment);
        if (!tier)
            return false;
        m_tier = *std::move(tier);
        return true;
    }
    void store(std::uint64_t number, std::uint64_t version, Victims victims = Victims::discard)
    {
        const Key key = numbered_key(number);
        const std::set<std::uint64_t> before = there();
        std::vector<Victim> gone;
        if (m_tier->store(key, sample_entry(key, 50 + number, version), victims, gone).ok())
            m_versions[number] = {version};
        else
            m_versions[number].insert(version);
        // Whatever it evicted it reports, whether it succeeded or not.
        const std::set<std::uint64_t> after = there();
        for (const std::uint64_t other : before) {
            const bool is_reported = std::ranges::find(gone, numbered_key(other), &Victim::key) != gone.end();
            ASSERT_EQ(is_reported, !after.contains(other)) << "key " << other << ", as " << number << " was stored";
        }
    }
    // What is on the disk, looked at without the faults.
    std::set<std::uint64_t> there() const
    {
        std::set<std::uint64_t> numbers;
        for (std::uint64_t number = 0; number < k_keys; ++number)
            if (fs::exists(tiers::Layout(m_directory).entry(numbered_key(number))))
                numbers.insert(number);
        return numbers;
    }
    void find(std::uint64_t number) const { check(number, m_tier->find(numbered_key(number))); }
    void remove(std::uint64_t number)
    {
        if (m_tier->remove(numbered_key(number)))
            m_versions[number].clear();
    }
    void check(std::uint64_t number, const Found& found) const
    {
        if (!found)
            return;
        const Key key = numbered_key(number);
        const auto versions = m_versions.find(number);
        ASSERT_NE(versions, m_versions.end()) << "key " << number << " was never stored";
        bool right = false;
        for (const std::uint64_t version : versions->second)
            right |= found.artifact->text() == sample_bytes(key, 50 + number, version).text();
        ASSERT_TRUE(right) << "key " << number;
    }

    const std::string m_directory;
    const tiers::DiskEnvironment m_environment;
    const Clock& m_clock;
    std::unique_ptr<Tier> m_tier;
    std::map<std::uint64_t, std::set<std::uint64_t>> m_versions;
};

class FaultTest : public DiskTest, public testing::WithParamInterface<FaultCase> {
protected:
    // One run with the fault at that operation. False when the program ended before it came to it.
    bool run(std::uint64_t first)
    {
        fs::remove_all(m_layout.directory());
        FaultyFiles files(GetParam().at(first));
        tiers::DiskEnvironment faulty = m_environment;
        faulty.files = &files;
        const std::size_t descriptors = open_descriptors();
        Program program(m_layout.directory(), faulty, m_clock);
        program.run();
        EXPECT_EQ(open_descriptors(), descriptors) << "descriptors leak";

        // The disk is well again: everything is exact, without a repair.
        const auto tier = open({.max_entries = 4});
        program.check(*tier);
        expect_exact_accounting(*tier);
        EXPECT_TRUE(tier->verify(Repair::yes, {}).accounting_exact);
        put_range(*tier, 20, 24, 100);
        EXPECT_TRUE(holds(*tier, 24));
        EXPECT_EQ(on_disk().entries, 4U);
        expect_exact_accounting(*tier);
        follow_the_machine();
        m_clock.advance(2min);
        tier->maintain({});
        EXPECT_TRUE(files_in(m_layout.temporaries()).empty());
        m_clock.set(ManualClock::k_start);
        return files.strikable() > first;
    }
};

}  // namespace

TEST_P(FaultTest, at_every_operation_it_is_exact_or_a_miss_and_the_accounting_survives)
{
    std::uint64_t first = 0;
    for (bool struck = true; struck; ++first) {
        struck = run(first);
        ASSERT_FALSE(HasFailure()) << GetParam().name << " at operation " << first;
    }
    EXPECT_GT(first, 20U) << "the program did something";
}

INSTANTIATE_TEST_SUITE_P(once, FaultTest,
                         testing::Values(FaultCase{"EIO", EIO, 1}, FaultCase{"ENOSPC", ENOSPC, 1},
                                         FaultCase{"EMFILE", EMFILE, 1}, FaultCase{"EACCES", EACCES, 1},
                                         FaultCase{"EINTR", EINTR, 1}, FaultCase{"short", Fault::k_short, 1}),
                         testing::PrintToStringParamName());
// An interrupted call is made again, so that one is interrupted five times in a row, not for ever.
INSTANTIATE_TEST_SUITE_P(from_then_on, FaultTest,
                         testing::Values(FaultCase{"EIO", EIO, Fault::k_forever},
                                         FaultCase{"ENOSPC", ENOSPC, Fault::k_forever},
                                         FaultCase{"EMFILE", EMFILE, Fault::k_forever},
                                         FaultCase{"EACCES", EACCES, Fault::k_forever}, FaultCase{"EINTR", EINTR, 5},
                                         FaultCase{"short", Fault::k_short, Fault::k_forever}),
                         testing::PrintToStringParamName());

}  // namespace hearth::test
