#include "disk_fixture.hpp"
#include "support/forks.hpp"
#include "tiers/disk/index.hpp"

#include <csignal>
#include <fcntl.h>
#include <functional>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Where several users share a directory, any of them can put anything in the place of any file in it. Whatever it is,
// every operation ends, and what is left whole is served.

namespace hearth::test {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t k_huge = std::uint64_t{15} << 40U;

enum class Form : std::uint8_t { pipe, folder, link, huge };

class ReplacedFile : public DiskTest, public testing::WithParamInterface<Form> {
protected:
    void SetUp() override
    {
        SKIP_FORKS_WITH_THREADS();
        write_file(m_scratch / "outside", "precious");
        const auto tier = open(shared());
        put(*tier, 1, 100);
        put(*tier, 2, 100);
        tier->update_note("stats", [](ByteView) { return Bytes::copy_of("x"); });
    }

    static DiskOptions shared()
    {
        DiskOptions options;
        options.users = Users::many;
        options.max_bytes = std::uint64_t{10} << 30U;
        return options;
    }

    void replace(const std::string& path) const
    {
        fs::remove_all(path);
        fs::create_directories(fs::path(path).parent_path());
        switch (GetParam()) {
        case Form::pipe:
            ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0);
            break;
        case Form::folder:
            fs::create_directories(path + "/inner");
            break;
        case Form::link:
            fs::create_symlink(m_scratch / "outside", path);
            break;
        case Form::huge:
            write_file(path, "");
            if (::truncate(path.c_str(), static_cast<off_t>(k_huge)) != 0)
                GTEST_SKIP() << "this file system has no files of 15 TiB";
            break;
        }
    }

    // Everything a tier does.
    void work(bool may_lose_first)
    {
        const auto tier = open(shared());
        EXPECT_TRUE(holds(*tier, 1) || may_lose_first);
        EXPECT_TRUE(holds(*tier, 2));
        tier->usage();
        const auto stored = store_in(*tier, numbered_key(3), sample_entry(numbered_key(3), 100));
        EXPECT_EQ(holds(*tier, 3), stored.ok());
        tier->try_flight(numbered_key(1));
        tier->read_note("stats");
        tier->update_note("stats", [](ByteView) { return Bytes::copy_of("y"); });
        tier->info(numbered_key(1));
        tier->flush();
        tier->for_each([](const EntryRow&) { return true; });
        tier->for_each_use([](const EntryUse&) { return true; });
        tier->verify(Repair::yes, {});
        tier->maintain({});
        tier->would_evict({.max_entries = 1});
        tier->evict_to({.max_entries = 1}, {});
        tier->remove(numbered_key(2));
        tier->clear();
    }

    // In a child with an alarm, so that what waits for ever fails the test.
    static void expect_to_end(const std::string& what, const std::function<void()>& work)
    {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(20);
            work();
            ::_exit(HasFailure() ? 1 : 0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_FALSE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) << what << ": waits for ever";
        EXPECT_EQ(status, 0) << what;
    }

    void expect_to_go_on_without(const std::string& path, bool may_lose_first = false)
    {
        replace(path);
        if (IsSkipped() || HasFatalFailure())
            return;
        expect_to_end(path, [&] { work(may_lose_first); });
        EXPECT_EQ(read_file(m_scratch / "outside"), "precious") << path;
    }
};

std::string name_of(const testing::TestParamInfo<Form>& form)
{
    static constexpr const char* k_names[] = {"pipe", "folder", "link", "huge_file"};
    return k_names[static_cast<std::size_t>(form.param)];
}

}  // namespace

TEST_P(ReplacedFile, the_index_keeps_nobody_waiting)
{
    expect_to_go_on_without(m_layout.index());
}

TEST_P(ReplacedFile, the_index_that_is_being_made_keeps_nobody_waiting)
{
    fs::remove(m_layout.index());
    expect_to_go_on_without(m_layout.index() + ".new");
}

TEST_P(ReplacedFile, the_lock_keeps_nobody_waiting)
{
    expect_to_go_on_without(m_layout.lock());
}

TEST_P(ReplacedFile, an_entry_keeps_nobody_waiting)
{
    expect_to_go_on_without(path_of(1), true);
}

TEST_P(ReplacedFile, a_folder_of_entries_keeps_nobody_waiting)
{
    expect_to_go_on_without(m_layout.shard(numbered_key(1)), true);
}

TEST_P(ReplacedFile, a_temporary_keeps_nobody_waiting)
{
    expect_to_go_on_without(m_layout.temporaries() + "/0123456789abcdef-1-1");
}

TEST_P(ReplacedFile, a_note_keeps_nobody_waiting)
{
    expect_to_go_on_without(m_layout.notes() + "/stats.slots");
}

TEST_P(ReplacedFile, the_lock_of_a_note_keeps_nobody_waiting)
{
    expect_to_go_on_without(m_layout.notes() + "/stats.lock");
}

TEST_P(ReplacedFile, a_flight_keeps_nobody_waiting)
{
    expect_to_go_on_without(m_layout.flight(numbered_key(1)));
}

TEST_P(ReplacedFile, the_tag_keeps_nobody_waiting)
{
    expect_to_go_on_without(m_layout.root() + "/" + tiers::Layout::k_tag);
}

TEST_P(ReplacedFile, a_copy_in_quarantine_keeps_nobody_waiting)
{
    expect_to_go_on_without(m_layout.quarantine() + "/" + numbered_key(1).hex());
}

TEST_P(ReplacedFile, the_folders_keep_nobody_waiting)
{
    for (const std::string& folder :
         {m_layout.quarantine(), m_layout.notes(), m_layout.flights(), m_layout.temporaries()}) {
        put(*open(shared()), 1, 100);
        put(*open(shared()), 2, 100);
        expect_to_go_on_without(folder);
    }
}

// A directory is not ours to remove. Everything else is replaced by an index made from the entries.
TEST_P(ReplacedFile, the_index_is_made_anew_unless_it_is_a_folder)
{
    replace(m_layout.index());
    expect_to_end("store", [&] {
        const auto tier = open(shared());
        const auto stored = store_in(*tier, numbered_key(3), sample_entry(numbered_key(3), 100));
        EXPECT_EQ(stored.ok(), GetParam() != Form::folder);
        EXPECT_EQ(tier->usage().entries, on_disk().entries);
    });
    EXPECT_EQ(fs::is_regular_file(fs::symlink_status(m_layout.index())), GetParam() != Form::folder);
}

INSTANTIATE_TEST_SUITE_P(by, ReplacedFile, testing::Values(Form::pipe, Form::folder, Form::link, Form::huge), name_of);

namespace {

// An index whose header is right and counts as many buckets as a file of 15 TiB has room for; nearly all are holes.
class ClaimingIndex : public ReplacedFile {
protected:
    void claim(std::uint64_t entries)
    {
        std::string index = read_file(m_layout.index());
        tiers::IndexHeader header;
        ASSERT_TRUE(tiers::decode_header(as_bytes(index).first(tiers::k_index_header_bytes), header));
        header.buckets = k_huge / tiers::Index::k_bucket_bytes - 2;
        header.totals = {std::uint64_t{11} << 30U, entries};
        index.replace(0, tiers::k_index_header_bytes, tiers::encode_header(header));
        write_file(m_layout.index(), index);
        if (::truncate(m_layout.index().c_str(), static_cast<off_t>(k_huge)) != 0)
            GTEST_SKIP() << "this file system has no files of 15 TiB";
    }
};

}  // namespace

TEST_P(ClaimingIndex, is_made_anew_whatever_it_claims_to_count)
{
    for (const std::uint64_t entries : {std::uint64_t{5}, k_huge / 200}) {
        for (const bool listing : {false, true}) {
            claim(entries);
            if (IsSkipped())
                return;
            expect_to_end(listing ? "list" : "store", [&] {
                const auto tier = open(shared());
                std::uint64_t listed = 0;
                if (listing)
                    tier->for_each([&](const EntryRow&) { return ++listed != 0; });
                else
                    put(*tier, 3, 100);
                EXPECT_EQ(listed, listing ? 3U : 0U);
                EXPECT_TRUE(holds(*tier, 1));
                expect_exact_accounting(*tier);
            });
        }
        claim(entries);
        expect_to_end("everything else", [&] { work(false); });
        const auto tier = open(shared());
        for (std::uint64_t number = 1; number < 4; ++number)
            put(*tier, number, 100);
    }
}

INSTANTIATE_TEST_SUITE_P(of, ClaimingIndex, testing::Values(Form::huge), name_of);

}  // namespace hearth::test
