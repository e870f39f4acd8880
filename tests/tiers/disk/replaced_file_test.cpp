#include "disk_fixture.hpp"
#include "format/signature.hpp"
#include "support/forks.hpp"
#include "tiers/disk/index.hpp"

#include <csignal>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>

// Where several users share a directory, any of them can put anything in the place of any file in it. Whatever it is,
// every operation ends, and what is left whole is served.

namespace hearth::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

namespace {

constexpr std::uint64_t k_huge = std::uint64_t{15} << 40U;

enum class Form : std::uint8_t { pipe, folder, link, huge };

class Replacing : public DiskTest {
protected:
    void SetUp() override
    {
        SKIP_FORKS_WITH_THREADS();
        write_file(m_scratch / "outside", "precious");
        const auto tier = open_shared();
        put_range(*tier, 1, 2, 100);
        tier->update_note("stats", [](ByteView) { return Bytes::copy_of("x"); });
    }

    std::unique_ptr<Tier> open_shared() { return open({.users = Users::many}); }

    void replace(const std::string& path, Form form) const
    {
        fs::remove_all(path);
        fs::create_directories(fs::path(path).parent_path());
        switch (form) {
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

    void work(bool may_lose_first)
    {
        const auto tier = open_shared();
        EXPECT_TRUE(holds(*tier, 1) || may_lose_first);
        EXPECT_TRUE(holds(*tier, 2));
        const auto stored = store_in(*tier, numbered_key(3), sample_entry(numbered_key(3), 100));
        EXPECT_EQ(holds(*tier, 3), stored.ok());
        use_everything(*tier);
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
        EXPECT_TRUE(child_was_right(child)) << what << " (with " << SIGALRM << ": it waited for ever)";
    }
};

constexpr const char* k_forms[] = {"pipe", "folder", "link", "huge_file"};

struct Place {
    const char* name;
    std::string (*path)(const tiers::Layout& in);
    bool may_lose_first = false;  // the first entry goes with it
};

void PrintTo(const Place& place, std::ostream* out)
{
    *out << place.name;
}

using In = const tiers::Layout&;

const Place k_places[] = {
    {"index", [](In in) { return in.index(); }},
    {"index_that_is_being_made", [](In in) { return fs::remove(in.index()), in.index() + ".new"; }},
    {"lock", [](In in) { return in.lock(); }},
    {"entry", [](In in) { return in.entry(numbered_key(1)); }, true},
    {"folder_of_entries", [](In in) { return in.shard(numbered_key(1)); }, true},
    {"temporary", [](In in) { return in.temporaries() + "/0123456789abcdef-1-1"; }},
    {"note", [](In in) { return in.notes() + "/stats.slots"; }},
    {"lock_of_a_note", [](In in) { return in.notes() + "/stats.lock"; }},
    {"flight", [](In in) { return in.flight(numbered_key(1)); }},
    {"tag", [](In in) { return in.root() + "/" + tiers::Layout::k_tag; }},
    {"copy_in_quarantine", [](In in) { return in.quarantine() + "/" + numbered_key(1).hex(); }},
    {"quarantine", [](In in) { return in.quarantine(); }},
    {"notes", [](In in) { return in.notes(); }},
    {"flights", [](In in) { return in.flights(); }},
    {"temporaries", [](In in) { return in.temporaries(); }},
};

class ReplacedFile : public Replacing, public testing::WithParamInterface<std::tuple<Place, Form>> {};
class ReplacedIndex : public Replacing, public testing::WithParamInterface<Form> {};

}  // namespace

TEST_P(ReplacedFile, keeps_nobody_waiting)
{
    const auto& [place, form] = GetParam();
    const std::string path = place.path(m_layout);
    replace(path, form);
    if (IsSkipped() || HasFatalFailure())
        return;
    expect_to_end(path, [&, may_lose_first = place.may_lose_first] { work(may_lose_first); });
    EXPECT_EQ(read_file(m_scratch / "outside"), "precious");
}

// A directory is not ours to remove. Everything else is replaced by an index made from the entries.
TEST_P(ReplacedIndex, is_made_anew_unless_it_is_a_folder)
{
    replace(m_layout.index(), GetParam());
    expect_to_end("store", [&] {
        const auto tier = open_shared();
        const auto stored = store_in(*tier, numbered_key(3), sample_entry(numbered_key(3), 100));
        EXPECT_EQ(stored.ok(), GetParam() != Form::folder);
        EXPECT_EQ(tier->usage().entries, on_disk().entries);
    });
    EXPECT_EQ(fs::is_regular_file(fs::symlink_status(m_layout.index())), GetParam() != Form::folder);
}

const auto k_all_forms = testing::Values(Form::pipe, Form::folder, Form::link, Form::huge);
INSTANTIATE_TEST_SUITE_P(of, ReplacedFile, testing::Combine(testing::ValuesIn(k_places), k_all_forms),
                         [](const auto& one) {
                             return std::get<0>(one.param).name + std::string("_by_") +
                                    k_forms[static_cast<std::size_t>(std::get<1>(one.param))];
                         });
INSTANTIATE_TEST_SUITE_P(by, ReplacedIndex, k_all_forms,
                         [](const auto& one) { return k_forms[static_cast<std::size_t>(one.param)]; });

namespace {

// An index whose header is right and counts as many buckets as a file of 15 TiB has room for; nearly all are holes.
class ClaimingIndex : public Replacing {
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

TEST_F(ClaimingIndex, is_made_anew_whatever_it_claims_to_count)
{
    for (const std::uint64_t entries : {std::uint64_t{5}, k_huge / 200})
        for (const char* const first : {"store", "list", "everything"}) {
            put_range(*open_shared(), 1, 2, 100);
            claim(entries);
            if (IsSkipped())
                return;
            expect_to_end(first, [&] {
                const auto tier = open_shared();
                std::uint64_t listed = 0;
                if (first == "store"sv)
                    put(*tier, 3, 100);
                if (first == "everything"sv)
                    return work(false);
                tier->for_each([&](const EntryRow&) { return ++listed != 0; });
                EXPECT_EQ(listed, 3U);
                EXPECT_TRUE(holds(*tier, 1));
                expect_exact_accounting(*tier);
            });
        }
}

namespace {

// A link where one of the folders was. Nothing behind it is ever changed.
class LinkedFolder : public DiskTest, public testing::WithParamInterface<const char*> {
protected:
    // A folder of somebody's, with old files; most have names that are ours in some folder.
    std::string elsewhere() const
    {
        std::string folder = m_scratch / "elsewhere";
        const std::string hex = numbered_key(1).hex();
        const std::string shard = folder + "/" + hex.substr(0, 2);
        for (const std::string& inner : {shard, folder + "/entries/" + hex.substr(0, 2), folder + "/tmp"})
            fs::create_directories(inner);
        for (const std::string& name : std::initializer_list<std::string>{
                 "thesis.tex", "0123456789abcdef-1-1", hex, hex.substr(2), hex.substr(0, 2) + "/" + hex.substr(2),
                 "entries/" + hex.substr(0, 2) + "/" + hex.substr(2), "tmp/0123456789abcdef-1-1", "stats.slots",
                 "stats.lock", "index", "index.new"}) {
            write_file(folder + "/" + name, "precious");
            set_modified(folder + "/" + name, WallTime(1'000'000'000s));
        }
        return folder;
    }

    void replace_by_link(const std::string& target) const
    {
        std::string name = GetParam();
        if (name == "shard")
            name = "v1/entries/" + numbered_key(1).hex().substr(0, 2);
        const std::string path = m_layout.directory() + "/" + name;
        if (fs::exists(path))
            fs::rename(path, m_scratch / "moved");
        fs::create_directory_symlink(target, path);
    }
};

}  // namespace

TEST_P(LinkedFolder, leads_nobody_out_of_the_cache_directory)
{
    const std::string folder = elsewhere();
    const auto before = snapshot(folder);
    const SigningKey signer = SigningKey::generate().value();
    const auto plain = open();
    // What plain stores, this one moves to quarantine.
    const auto strict = open({.trust = {Signatures::demanded, {signer.public_key()}, {}}});
    put_range(*plain, 1, 2, 100);
    replace_by_link(folder);
    follow_the_machine();
    m_clock.advance(1h);
    strict->find(numbered_key(2));
    use_everything(*plain);
    use_everything(*strict);
    EXPECT_EQ(snapshot(folder), before);
}

// Whoever put the link there may not be able to read what it leads to, and must not have it read for him.
TEST_P(LinkedFolder, in_a_shared_directory_is_not_read_through_either)
{
    const auto tier = open({.users = Users::many});
    put(*tier, 1, 100);
    tier->update_note("stats", [](ByteView) { return Bytes::copy_of("x"); });
    ASSERT_TRUE(tier->find(numbered_key(1)));
    ASSERT_FALSE(tier->read_note("stats").empty());
    replace_by_link(m_scratch / "moved");  // to what was there
    const std::string folder = GetParam();
    const bool leads_to_entries = folder == "v1" || folder == "v1/entries" || folder == "shard";
    EXPECT_EQ(tier->contains(numbered_key(1)), !leads_to_entries);
    EXPECT_EQ(static_cast<bool>(tier->find(numbered_key(1))), !leads_to_entries);
    EXPECT_EQ(tier->read_note("stats").empty(), folder == "v1" || folder == "v1/notes");
}

INSTANTIATE_TEST_SUITE_P(of, LinkedFolder,
                         testing::Values("v1", "v1/tmp", "v1/flight", "v1/notes", "v1/entries", "shard", "quarantine"),
                         [](const auto& folder) {
                             const std::string path = folder.param;
                             return path.substr(path.rfind('/') + 1);
                         });

}  // namespace hearth::test
