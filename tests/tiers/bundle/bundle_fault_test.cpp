#include "bundle_fixture.hpp"

#include "support/faulty_files.hpp"

#include <cerrno>
#include <filesystem>

// The n-th file operation fails, for every n, in every way it can, once and from then on.

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

// A disk that is never waited for: that a sync fails is what matters here, not that one is done a thousand times.
class Hasty final : public ForwardingFiles {
public:
    Hasty() : ForwardingFiles(base::system_files()) {}
    int sync(int /*fd*/) override { return 0; }
};

class BundleFault : public BundleTest, public testing::WithParamInterface<FaultCase> {
protected:
    // A short read or write is gone on with, an interrupted one is made again; a sync or a close is not.
    bool harmless() const { return GetParam().error == Fault::k_short; }
    bool interrupted() const { return GetParam().error == EINTR; }

    Hasty m_disk;
    const Entries m_entries = sample_entries(1, 20, 40);
};

}  // namespace

TEST_P(BundleFault, while_writing_leaves_the_old_file_or_the_new_one_whole_and_nothing_else)
{
    const std::string whole = bundle_bytes(m_entries);
    std::uint64_t first = 0;
    for (bool struck = true; struck; ++first) {
        write_file(path(), "the old one");
        FaultyFiles files(GetParam().at(first), m_disk);
        const std::size_t descriptors = open_descriptors();
        bool finished = false;
        {
            // Fewer are announced than come, so that they are moved too.
            format::BundleWriter writer(files, path(), 1);
            for (const auto& [key, bytes] : m_entries)
                (void)writer.add(as_bytes(bytes));
            const auto written = writer.finish({}, nullptr);
            finished = written.ok();
            ASSERT_TRUE(finished || GetParam().error != ENOSPC || written.error().code == Code::no_space);
        }
        struck = files.strikable() > first;
        ASSERT_EQ(open_descriptors(), descriptors) << "operation " << first;
        ASSERT_EQ(read_file(path()), finished ? whole : "the old one") << "operation " << first;
        ASSERT_TRUE(finished == (harmless() || !struck) || interrupted()) << "operation " << first;
        // What could not even be unlinked stays, when nothing can be from then on.
        if (GetParam().times == Fault::k_once || GetParam().error != EIO) {
            ASSERT_EQ(snapshot(m_scratch.path()).size(), 1U) << "operation " << first;
        }
        for (const auto& item : fs::directory_iterator(m_scratch.path()))
            fs::remove(item.path());
    }
    EXPECT_GT(first, 20U) << "something was written";
}

TEST_P(BundleFault, while_reading_is_an_entry_as_it_was_or_a_miss)
{
    make(m_entries);
    std::uint64_t first = 0;
    for (bool struck = true; struck; ++first) {
        FaultyFiles files(GetParam().at(first));
        const std::size_t descriptors = open_descriptors();
        {
            const Open opened = try_open(path(), {}, files);
            for (std::uint64_t number = 1; opened.ok() && number <= 10; ++number) {
                const Found found = (*opened)->find(numbered_key(number));
                ASSERT_TRUE(!found || is_sample_of(*found.artifact, numbered_key(number)));
                ASSERT_TRUE(found || found.why == Miss::outage) << "operation " << first;
                ASSERT_TRUE(found || !(harmless() || interrupted())) << "operation " << first;
                (void)(*opened)->info(numbered_key(number));
            }
            ASSERT_TRUE(opened.ok() || !harmless()) << "operation " << first;
        }
        struck = files.strikable() > first;
        ASSERT_EQ(open_descriptors(), descriptors) << "operation " << first;
    }
    EXPECT_GT(first, GetParam().error == ENOSPC ? 0U : 10U) << "something was read";
}

INSTANTIATE_TEST_SUITE_P(once, BundleFault,
                         testing::Values(FaultCase{"EIO", EIO, 1}, FaultCase{"ENOSPC", ENOSPC, 1},
                                         FaultCase{"EINTR", EINTR, 1}, FaultCase{"short", Fault::k_short, 1}),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(from_then_on, BundleFault,
                         testing::Values(FaultCase{"EIO", EIO, Fault::k_forever},
                                         FaultCase{"ENOSPC", ENOSPC, Fault::k_forever}, FaultCase{"EINTR", EINTR, 5},
                                         FaultCase{"short", Fault::k_short, Fault::k_forever}),
                         testing::PrintToStringParamName());

}  // namespace hearth::test
