#include "disk_fixture.hpp"
#include "support/recording_files.hpp"
#include "support/seed.hpp"

#include <cerrno>
#include <random>

// DiskOptions::durable: what a store has reported is on the disk, whatever becomes of what was not synced.

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Durable : public DiskTest {
protected:
    Durable() { fs::create_directory(m_layout.directory()); }

    std::unique_ptr<Tier> open_with(base::Files& files, Switch durable)
    {
        m_environment.files = &files;
        return open({.durable = durable});
    }
};

TEST_F(Durable, entries_outlive_a_power_cut_right_after_the_store_and_at_any_time_while_one_is_replaced)
{
    RecordingFiles files(m_layout.directory());
    const auto tier = open_with(files, Switch::on);
    put_range(*tier, 1, 3, 1000);
    const std::size_t stored = files.changes().size();
    put(*tier, 1, 1000, 1);
    const std::vector<RecordingFiles::Change> changes = files.changes();
    std::mt19937_64 random(seed());
    m_environment.files = &base::system_files();
    m_environment.boot[0] ^= 0xff;
    const std::string after = m_scratch / "after";
    for (std::size_t count = stored; count <= changes.size(); ++count)
        for (const PowerCut cut : k_power_cuts) {
            for (int turn = 0; turn < 5; ++turn) {
                fs::create_directory(after);
                fs::permissions(after, fs::perms::owner_all);
                power_cut(changes, count, cut, random, after);
                const auto rebooted = open({.directory = after});
                for (const std::uint64_t number : {1, 2, 3})
                    EXPECT_TRUE(holds(*rebooted, number));
                EXPECT_TRUE(count < changes.size() || holds(*rebooted, 1, 1000, 1));
                ASSERT_FALSE(HasFailure())
                    << "after " << count << " of " << changes.size() << ", " << static_cast<int>(cut);
                fs::remove_all(after);
            }
        }
}

TEST_F(Durable, is_off_by_default_and_then_nothing_is_synced)
{
    RecordingFiles files(m_layout.directory());
    const auto tier = open_with(files, DiskOptions{}.durable);
    put(*tier, 1, 1000);
    for (const RecordingFiles::Change& one : files.changes())
        EXPECT_NE(one.kind, RecordingFiles::Change::Kind::sync);
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
