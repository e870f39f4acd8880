#include "disk_fixture.hpp"
#include "support/recording_files.hpp"
#include "support/seed.hpp"
#include "support/storing.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <random>

// DiskOptions::durable: what a store has reported is on the disk, whatever becomes of what was not synced.

namespace hearth::test {

namespace {

namespace fs = std::filesystem;
using Change = RecordingFiles::Change;

class Durable : public DiskTest {
protected:
    Durable() { fs::create_directory(m_layout.directory()); }

    std::unique_ptr<Tier> open_with(base::Files& files, Switch durable)
    {
        m_environment.files = &files;
        DiskOptions options;
        options.durable = durable;
        return open(options);
    }
    // Of the changes, the place of the first that is like this, from `first` on.
    static std::size_t place_of(const std::vector<Change>& changes, std::size_t first, Change::Kind kind,
                                std::uint64_t file)
    {
        const auto found = std::find_if(changes.begin() + static_cast<std::ptrdiff_t>(first), changes.end(),
                                        [&](const Change& one) { return one.kind == kind && one.file == file; });
        return static_cast<std::size_t>(found - changes.begin());
    }
};

TEST_F(Durable, syncs_the_file_before_it_is_renamed_and_the_folders_after)
{
    RecordingFiles files(m_layout.directory());
    const auto tier = open_with(files, Switch::on);
    for (std::uint64_t number = 1; number <= 2; ++number) {
        const std::size_t before = files.changes().size();
        put(*tier, number, 1000);
        const std::vector<Change> changes = files.changes();
        const auto renamed =
            std::find_if(changes.begin() + static_cast<std::ptrdiff_t>(before), changes.end(), [&](const Change& one) {
                return one.kind == Change::Kind::rename && m_layout.directory() + "/" + one.to == path_of(number);
            });
        ASSERT_NE(renamed, changes.end());
        const auto at = static_cast<std::size_t>(renamed - changes.begin());
        const std::size_t synced = place_of(changes, before, Change::Kind::sync, renamed->file);
        EXPECT_LT(place_of(changes, before, Change::Kind::write, renamed->file), synced);
        EXPECT_EQ(place_of(changes, synced, Change::Kind::write, renamed->file), changes.size());
        EXPECT_LT(synced, at);
        EXPECT_LT(place_of(changes, at, Change::Kind::sync, 0), changes.size());
    }
}

TEST_F(Durable, entries_outlive_a_power_cut_right_after_the_store)
{
    RecordingFiles files(m_layout.directory());
    const auto tier = open_with(files, Switch::on);
    for (std::uint64_t number = 1; number <= 3; ++number)
        put(*tier, number, 1000);
    const std::vector<Change> changes = files.changes();
    std::mt19937_64 random(seed());
    m_environment.files = &base::system_files();
    m_environment.boot[0] ^= 0xff;
    for (const PowerCut cut : k_power_cuts) {
        for (int turn = 0; turn < 5; ++turn) {
            DiskOptions after;
            after.directory = m_scratch / ("after-" + std::to_string(static_cast<int>(cut)) + std::to_string(turn));
            fs::create_directory(after.directory);
            fs::permissions(after.directory, fs::perms::owner_all);
            power_cut(changes, changes.size(), cut, random, after.directory);
            const auto rebooted = open(after);
            for (std::uint64_t number = 1; number <= 3; ++number)
                EXPECT_TRUE(holds(*rebooted, number)) << number << " after " << static_cast<int>(cut);
        }
    }
}

TEST_F(Durable, is_off_by_default_and_then_nothing_is_synced)
{
    RecordingFiles files(m_layout.directory());
    const auto tier = open_with(files, DiskOptions{}.durable);
    put(*tier, 1, 1000);
    for (const Change& one : files.changes())
        EXPECT_NE(one.kind, Change::Kind::sync);
}

// The n-th sync fails.
class NoSync final : public ForwardingFiles {
public:
    explicit NoSync(int which, int error) : ForwardingFiles(base::system_files()), m_left(which), m_error(error) {}
    int sync(int fd) override { return m_left-- == 0 ? -m_error : ForwardingFiles::sync(fd); }

private:
    int m_left;
    const int m_error;
};

TEST_F(Durable, what_could_not_be_synced_was_not_stored)
{
    // The file; its shard; the folders above.
    for (int which = 0; which < 5; ++which) {
        NoSync files(which, EIO);
        const auto tier = open_with(files, Switch::on);
        const Key key = numbered_key(static_cast<std::uint64_t>(which));
        const Result<Stored> stored = store_in(*tier, key, sample_entry(key, 100));
        ASSERT_FALSE(stored.ok()) << which;
        EXPECT_EQ(stored.error().code, Code::io);
        EXPECT_FALSE(tier->contains(key)) << which;
        expect_exact_accounting(*tier);
        put(*tier, 7, 100);
    }
}

TEST_F(Durable, file_systems_that_cannot_sync_folders_do_without)
{
    NoSync files(1, EINVAL);
    const auto tier = open_with(files, Switch::on);
    put(*tier, 1, 100);
    EXPECT_TRUE(holds(*tier, 1));
}

}  // namespace

}  // namespace hearth::test
