#include "disk_fixture.hpp"
#include "support/recording_files.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <random>

// The power goes between any two changes. What was not synced is lost, torn or kept, in any order: the cache that comes
// up again is exact or misses, and once maintained its accounting is the sum of its files.

namespace hearth::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

class PowerCutTest : public DiskTest {
protected:
    static constexpr std::uint64_t k_keys = 10;

    // A while of use, recorded: stores, a replacement, evictions, removals, uses written down, a note.
    std::vector<RecordingFiles::Change> history()
    {
        RecordingFiles files(m_layout.directory());
        fs::create_directory(m_layout.directory());
        tiers::DiskEnvironment recorded = m_environment;
        recorded.files = &files;
        const DiskOptions options{.directory = m_layout.directory(), .max_entries = 5, .compression = 0};
        for (int session = 0; session < 2; ++session) {
            const auto tier = tiers::DiskTier::open(options, {&m_clock, {}, lru()}, recorded).value();
            for (std::uint64_t number = 0; number < 4; ++number)
                put(*tier, number, 100 * number);
            put(*tier, 1, 300, 1);
            holds(*tier, 0);
            tier->flush();
            put_range(*tier, 4, k_keys - 1, 50);
            tier->remove(numbered_key(8));
            tier->update_note("stats", [](ByteView) { return Bytes::copy_of("statistics"); });
            m_clock.advance(1s);
            if (session == 0)
                tier->clear();
        }
        return files.changes();
    }

    // The cache after the cut, in a directory of its own.
    void expect_usable(const std::string& directory)
    {
        tiers::DiskEnvironment rebooted = m_environment;
        rebooted.boot[0] ^= 0xff;
        const tiers::Layout layout(directory);
        follow_the_machine();
        m_clock.advance(2min);
        const auto tier =
            tiers::DiskTier::open({.directory = directory, .max_entries = 5}, {&m_clock, {}, lru()}, rebooted).value();
        for (std::uint64_t number = 0; number < k_keys; ++number)
            holds(*tier, number);
        tier->maintain({});
        expect_exact_accounting(*tier, layout);
        tier->update_note("stats", [](ByteView) { return Bytes::copy_of("new"); });
        EXPECT_EQ(tier->read_note("stats").text(), "new");

        put(*tier, 100, 100);
        EXPECT_TRUE(holds(*tier, 100));
        EXPECT_LE(tier->usage().entries, 5U);
        for (std::uint64_t number = 0; number < k_keys; ++number)
            holds(*tier, number);
        expect_exact_accounting(*tier, layout);
        EXPECT_TRUE(files_in(layout.temporaries()).empty());
    }
};

}  // namespace

TEST_F(PowerCutTest, at_every_change_it_is_exact_or_a_miss_and_the_accounting_is_right_after_maintenance)
{
    const std::vector<RecordingFiles::Change> changes = history();
    EXPECT_GT(changes.size(), 100U);
    std::mt19937_64 random(seed());
    const std::uint64_t step = scaled(100) < 100 ? 100 / scaled(100) : 1;  // under a sanitizer, every so many
    const std::uint64_t variants = 3 * soak_factor();
    for (std::size_t count = 0; count <= changes.size(); count += step) {
        for (const PowerCut kind : k_power_cuts) {
            for (std::uint64_t variant = 0; variant < (kind == PowerCut::keeps_all ? 1 : variants); ++variant) {
                const std::string directory = m_scratch / "after";
                fs::create_directory(directory);
                power_cut(changes, count, kind, random, directory);
                expect_usable(directory);
                ASSERT_FALSE(HasFailure()) << "power cut after change " << count << " of " << changes.size()
                                           << ", kind " << static_cast<int>(kind) << ", variant " << variant;
                fs::remove_all(directory);
            }
        }
    }
}

TEST_F(PowerCutTest, what_the_recorder_keeps_of_everything_is_what_was_there)
{
    const std::vector<RecordingFiles::Change> changes = history();
    const std::string directory = m_scratch / "after";
    fs::create_directory(directory);
    std::mt19937_64 random(seed());
    power_cut(changes, changes.size(), PowerCut::keeps_all, random, directory);
    const auto below = [](const std::string& folder) {
        std::map<std::string, std::string> contents;
        for (const auto& [path, content] : snapshot(folder))
            contents[path.substr(folder.size())] = content;
        return contents;
    };
    EXPECT_EQ(below(directory), below(m_layout.directory()));
}

}  // namespace hearth::test
