#include "header_tree.hpp"
#include "watch/source_file.hpp"

#include <atomic>
#include <fstream>
#include <thread>

namespace hearth::test {

namespace {

using headers::check;
using headers::find_headers;
using headers::ManifestState;

// What a manifest must notice, and what it must not mind.
class ManifestChecks : public HeaderTree {
protected:
    void SetUp() override
    {
        write("inc/a.h", "#include <b.h>\n");
        write("later/b.h", "int b;\n");
        m_manifest = find_headers(sources("#include <a.h>", {"inc", "later"}));
        ASSERT_EQ(m_manifest.files.size(), 2U);
    }
    ManifestState now()
    {
        format::Manifest copy = m_manifest;
        return check(copy);
    }
    format::Manifest m_manifest;
};

TEST_F(ManifestChecks, nothing_changed)
{
    EXPECT_NE(now(), ManifestState::changed);
    let_settle(m_manifest);
    EXPECT_EQ(now(), ManifestState::unchanged);
}

TEST_F(ManifestChecks, an_edited_header_is_a_change)
{
    let_settle(m_manifest);
    write("later/b.h", "int c;\n");
    EXPECT_EQ(now(), ManifestState::changed);
}

TEST_F(ManifestChecks, an_edit_that_keeps_size_and_time_is_a_change_too)
{
    let_settle(m_manifest);
    const auto before = std::filesystem::last_write_time(path("later/b.h"));
    wait_for_the_file_clock(path("later/b.h"));  // ctime tells only what is a tick apart
    write("later/b.h", "int x;\n");
    std::filesystem::last_write_time(path("later/b.h"), before);
    EXPECT_EQ(now(), ManifestState::changed);
}

TEST_F(ManifestChecks, a_header_written_with_what_it_held_is_no_change)
{
    let_settle(m_manifest);
    write("later/b.h", "int b;\n");
    EXPECT_NE(now(), ManifestState::changed);
}

TEST_F(ManifestChecks, a_header_too_young_to_trust_is_read_again)
{
    // Not settled: even with every time stamp the same, its bytes decide.
    ASSERT_FALSE(m_manifest.files[1].settled);
    m_manifest.files[1].digest[0] ^= 1U;
    EXPECT_EQ(now(), ManifestState::changed);
}

TEST_F(ManifestChecks, a_removed_header_is_a_change)
{
    std::filesystem::remove(path("later/b.h"));
    EXPECT_EQ(now(), ManifestState::changed);
}

TEST_F(ManifestChecks, a_header_that_would_now_be_found_first_is_a_change)
{
    write("inc/b.h", "int b;\n");
    EXPECT_EQ(now(), ManifestState::changed);
}

TEST_F(ManifestChecks, files_that_nobody_asks_for_do_not_matter)
{
    write("inc/unrelated.h", "int u;");
    write("later/a.h", "behind the first");
    EXPECT_NE(now(), ManifestState::changed);
}

TEST_F(ManifestChecks, a_link_turned_to_another_file_is_a_change)
{
    write("real/one.h", "int one;");
    write("real/two.h", "int two;");
    std::filesystem::create_symlink(path("real/one.h"), path("inc/l.h"));
    format::Manifest manifest = find_headers(sources("#include <l.h>", {"inc"}));
    let_settle(manifest);
    std::filesystem::remove(path("inc/l.h"));
    std::filesystem::create_symlink(path("real/two.h"), path("inc/l.h"));
    EXPECT_EQ(check(manifest), ManifestState::changed);
}

TEST_F(ManifestChecks, a_file_that_is_being_written_is_never_trusted_for_its_time_stamps)
{
    const std::string busy = write("inc/busy.h", std::string(1 << 20, 'a'));
    std::atomic<bool> done{false};
    std::thread writer([&] {
        for (char c = 'b'; !done; c = static_cast<char>(c == 'z' ? 'a' : c + 1)) {
            std::fstream file(busy, std::ios::in | std::ios::out | std::ios::binary);
            file << std::string(1 << 20, c);
        }
    });
    for (int i = 0; i < 20; ++i) {
        const auto source = watch::read_source(busy);
        EXPECT_FALSE(source && source->settled);
    }
    done = true;
    writer.join();
}

}  // namespace

}  // namespace hearth::test
