#include "disk_fixture.hpp"
#include "support/recording_files.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <fcntl.h>
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
        DiskOptions options;
        options.directory = m_layout.directory();
        options.max_entries = 5;
        options.compression = 0;
        for (int session = 0; session < 2; ++session) {
            const auto tier = tiers::DiskTier::open(options, {&m_clock, {}, lru()}, recorded).value();
            for (std::uint64_t number = 0; number < 4; ++number)
                put(*tier, number, 100 * number);
            put(*tier, 1, 300, 1);
            holds(*tier, 0);
            tier->flush();
            for (std::uint64_t number = 4; number < k_keys; ++number)
                put(*tier, number, 50);
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
        DiskOptions options;
        options.directory = directory;
        options.max_entries = 5;
        tiers::DiskEnvironment rebooted = m_environment;
        rebooted.boot[0] ^= 0xff;
        const tiers::Layout layout(directory);
        follow_the_machine();
        m_clock.advance(2min);
        const auto tier = tiers::DiskTier::open(options, {&m_clock, {}, lru()}, rebooted).value();
        for (std::uint64_t number = 0; number < k_keys; ++number)
            holds(*tier, number);
        tier->maintain({});
        expect_sum_of_files(*tier, layout);
        tier->update_note("stats", [](ByteView) { return Bytes::copy_of("new"); });
        EXPECT_EQ(tier->read_note("stats").text(), "new");

        put(*tier, 100, 100);
        EXPECT_TRUE(holds(*tier, 100));
        EXPECT_LE(tier->usage().entries, 5U);
        for (std::uint64_t number = 0; number < k_keys; ++number)
            holds(*tier, number);
        expect_sum_of_files(*tier, layout);
        EXPECT_TRUE(files_in(layout.temporaries()).empty());
    }

    static void expect_sum_of_files(Tier& tier, const tiers::Layout& layout)
    {
        TierUsage sum;
        if (fs::exists(layout.entries())) {
            for (const fs::directory_entry& item : fs::recursive_directory_iterator(layout.entries())) {
                // An empty file takes nothing and is not counted; whoever asks for it removes it.
                if (item.is_regular_file() && item.file_size() > 0) {
                    sum.bytes += item.file_size();
                    ++sum.entries;
                }
            }
        }
        EXPECT_EQ(tier.usage().bytes, sum.bytes);
        EXPECT_EQ(tier.usage().entries, sum.entries);
        EXPECT_TRUE(tier.verify(Repair::no, {}).accounting_exact);
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
    std::map<std::string, std::string> before;
    for (const auto& [path, content] : snapshot(m_layout.directory()))
        before[path.substr(m_layout.directory().size())] = content;
    std::map<std::string, std::string> after;
    for (const auto& [path, content] : snapshot(directory))
        after[path.substr(directory.size())] = content;
    EXPECT_EQ(after, before);
}

TEST(RecordingFiles, what_was_synced_survives_every_power_cut)
{
    ScratchDirectory scratch;
    const std::string folder = scratch / "recorded";
    fs::create_directory(folder);
    RecordingFiles files(folder);
    {
        base::FileHandle file(files, files.open((folder + "/a").c_str(), O_RDWR | O_CREAT, 0600));
        ASSERT_EQ(base::write_all(files, file.fd(), as_bytes("synced"), 0), 0);
        ASSERT_EQ(files.sync(file.fd()), 0);
    }
    ASSERT_EQ(files.rename((folder + "/a").c_str(), (folder + "/b").c_str()), 0);
    std::mt19937_64 random(seed());
    for (int round = 0; round < 50; ++round) {
        for (const PowerCut kind : k_power_cuts) {
            const std::string into = scratch / "after";
            fs::create_directory(into);
            power_cut(files.changes(), files.changes().size(), kind, random, into);
            for (const auto& item : fs::directory_iterator(into))
                EXPECT_EQ(read_file(item.path().string()), "synced");
            fs::remove_all(into);
        }
    }
}

}  // namespace hearth::test
