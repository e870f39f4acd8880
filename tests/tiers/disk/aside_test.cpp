#include "tiers/disk/aside.hpp"

#include "disk_fixture.hpp"

#include <functional>

// What lies beside the entries: the quarantine, and folders of other formats.

namespace hearth::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

class Aside : public DiskTest {
protected:
    Aside() { follow_the_machine(); }

    void age(const std::string& path, std::chrono::hours by) const { set_modified(path, m_clock.now() - by); }
    std::string set_aside(std::uint64_t number, std::size_t bytes, std::chrono::hours age_of_it)
    {
        fs::create_directories(m_layout.quarantine());
        std::string path = m_layout.quarantine() + "/" + numbered_key(number).hex();
        write_file(path, std::string(bytes, 'x'));
        age(path, age_of_it);
        return path;
    }
    void make_format(const std::string& name, std::chrono::hours age_of_it)
    {
        const std::string folder = m_layout.directory() + "/" + name;
        fs::create_directories(folder + "/entries/ab");
        write_file(folder + "/entries/ab/cd", std::string(1000, 'x'));
        fs::create_symlink(m_scratch / "precious", folder + "/link");
        write_file(folder + "/CACHEDIR.TAG", "");
        for (const char* const part : {"/entries/ab/cd", "/entries/ab", "/entries", "/link", "/CACHEDIR.TAG", ""})
            age(folder + part, age_of_it);
    }
    bool has(const std::string& name) const { return fs::exists(m_layout.directory() + "/" + name); }
};

}  // namespace

TEST_F(Aside, the_quarantine_keeps_the_newest_copies_within_a_share_of_the_budget)
{
    const auto tier = open({.max_bytes = 160'000});  // a sixteenth: 10,000
    put(*tier, 1, 100);
    const std::string oldest = set_aside(1, 4000, 3h);
    const std::string older = set_aside(2, 4000, 2h);
    const std::string newest = set_aside(3, 4000, 1h);
    write_file(m_layout.quarantine() + "/README", std::string(20'000, 'x'));
    EXPECT_EQ(tier->usage().aside_bytes, 12'000U);
    tier->maintain({});
    EXPECT_FALSE(fs::exists(oldest));
    EXPECT_TRUE(fs::exists(older));
    EXPECT_TRUE(fs::exists(newest));
    EXPECT_TRUE(fs::exists(m_layout.quarantine() + "/README")) << "not ours";
    EXPECT_EQ(tier->usage().aside_bytes, 8'000U);
    tier->clear();
    EXPECT_EQ(tier->usage().aside_bytes, 0U);
    EXPECT_TRUE(fs::exists(m_layout.quarantine() + "/README"));
}

TEST_F(Aside, the_quarantine_keeps_a_copy_for_thirty_days)
{
    const auto tier = open({.max_bytes = 0});
    put(*tier, 1, 100);
    const std::string old = set_aside(1, 10, 31 * 24h);
    const std::string young = set_aside(2, 10, 29 * 24h);
    tier->maintain({});
    EXPECT_FALSE(fs::exists(old));
    EXPECT_TRUE(fs::exists(young));
}

// 35
TEST_F(Aside, an_older_format_that_nobody_uses_goes_and_newer_ones_stay)
{
    write_file(m_scratch / "precious", "not yours");
    for (const char* const name : {"v0", "v2", "v10", "v0-mine", "vx"})
        make_format(name, 31 * 24h);
    const auto tier = open();
    put(*tier, 1, 100);
    EXPECT_GE(tier->usage().aside_bytes, 1000U);
    tier->maintain({});
    EXPECT_FALSE(has("v0"));
    for (const char* const name : {"v1", "v2", "v10", "v0-mine", "vx"})
        EXPECT_TRUE(has(name)) << name;
    EXPECT_EQ(tier->usage().aside_bytes, 0U);
    EXPECT_EQ(read_file(m_scratch / "precious"), "not yours");
    EXPECT_TRUE(holds(*tier, 1));
}

TEST_F(Aside, an_older_format_in_which_something_changed_of_late_and_what_only_has_its_name_are_left_alone)
{
    const std::string old = m_layout.directory() + "/v0";
    make_format("elsewhere", 31 * 24h);
    const std::function<void()> kinds[] = {
        [&] {
            make_format("v0", 31 * 24h);
            age(old + "/entries/ab/cd", 29 * 24h);
        },
        // A folder of a user's.
        [&] {
            make_format("v0", 31 * 24h);
            fs::remove(old + "/CACHEDIR.TAG");
            age(old, 31 * 24h);
        },
        [&] {
            fs::create_directory_symlink(m_layout.directory() + "/elsewhere", old);
            age(old, 31 * 24h);
        },
    };
    for (const std::function<void()>& make : kinds) {
        SCOPED_TRACE(&make - kinds);
        fs::remove_all(old);
        make();
        const auto tier = open();
        put(*tier, 1, 100);
        EXPECT_EQ(tier->usage().aside_bytes >= 1000, &make == kinds);
        tier->maintain({});
        tier->clear();
        EXPECT_TRUE(has("v0/entries/ab/cd"));
        EXPECT_EQ(fs::is_symlink(old), &make == kinds + 2);
    }
}

}  // namespace hearth::test
