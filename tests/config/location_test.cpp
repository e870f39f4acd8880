#include "hearth/admin.hpp"
#include "hearth/cache.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <filesystem>
#include <gtest/gtest.h>

#include <unistd.h>

// Where entries are kept, and where the configuration file is looked for (37).

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Location : public testing::Test {
protected:
    static std::string directory(const CacheOptions& options = {}) { return *resolve(options).options.directory; }
    static std::string source(const CacheOptions& options = {}) { return resolve(options).find("directory")->source; }

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
};

TEST_F(Location, is_the_option_then_hearth_dir_then_xdg_then_home_then_temporary)
{
    CacheOptions explicitly;
    explicitly.directory = m_scratch / "explicit";
    m_environment.set("HEARTH_DIR", m_scratch / "variable");
    m_environment.set("XDG_CACHE_HOME", m_scratch / "xdg");
    m_environment.set("HOME", m_scratch / "home");
    m_environment.set("TMPDIR", m_scratch / "temporary");

    EXPECT_EQ(directory(explicitly), m_scratch / "explicit");
    EXPECT_EQ(source(explicitly), "option");
    EXPECT_EQ(directory(), m_scratch / "variable");
    EXPECT_EQ(source(), "environment HEARTH_DIR");
    m_environment.unset("HEARTH_DIR");
    EXPECT_EQ(directory(), m_scratch / "xdg/hearth");
    EXPECT_EQ(source(), "environment XDG_CACHE_HOME");
    m_environment.unset("XDG_CACHE_HOME");
    EXPECT_EQ(directory(), m_scratch / "home/.cache/hearth");
    EXPECT_EQ(source(), "environment HOME");
    m_environment.unset("HOME");
    EXPECT_EQ(directory(), m_scratch / "temporary/hearth-" + std::to_string(::geteuid()));
    EXPECT_TRUE(source().starts_with("default")) << source();
    m_environment.unset("TMPDIR");
    EXPECT_EQ(directory(), "/tmp/hearth-" + std::to_string(::geteuid()));
}

TEST_F(Location, relative_and_empty_variables_are_ignored)
{
    m_environment.set("HEARTH_DIR", "");
    m_environment.set("XDG_CACHE_HOME", "relative/cache");
    m_environment.set("HOME", m_scratch / "home");
    EXPECT_EQ(directory(), m_scratch / "home/.cache/hearth") << "XDG says that a relative path is to be ignored";
    m_environment.set("XDG_CACHE_HOME", "");
    EXPECT_EQ(directory(), m_scratch / "home/.cache/hearth");
    m_environment.set("HOME", "somewhere");
    m_environment.set("TMPDIR", "tmp");
    EXPECT_EQ(directory(), "/tmp/hearth-" + std::to_string(::geteuid()));
}

TEST_F(Location, may_stand_in_the_configuration_file)
{
    m_environment.set("HOME", m_scratch.path());
    fs::create_directories(m_scratch / ".config/hearth");
    write_file(m_scratch / "dotfiles.json", R"({"directory": "/from/home"})");
    fs::create_symlink(m_scratch / "dotfiles.json", m_scratch / ".config/hearth/config.json");
    EXPECT_EQ(directory(), "/from/home") << "which may be a link";
    EXPECT_EQ(source(), "file " + (m_scratch / ".config/hearth/config.json"));

    m_environment.set("XDG_CONFIG_HOME", m_scratch / "xdg");
    EXPECT_EQ(source(), "environment HOME") << "one place is looked at, not two";
    fs::create_directories(m_scratch / "xdg/hearth");
    write_file(m_scratch / "xdg/hearth/config.json", R"({"directory": "/from/xdg"})");
    EXPECT_EQ(directory(), "/from/xdg");

    write_file(m_scratch / "named.json", R"({"directory": "/from/named"})");
    m_environment.set("HEARTH_CONFIG", m_scratch / "named.json");
    EXPECT_EQ(directory(), "/from/named");
    m_environment.set("HEARTH_DIR", "/from/variable");
    EXPECT_EQ(directory(), "/from/variable");
}

TEST_F(Location, is_created_on_demand_for_its_owner_only)
{
    m_environment.set("XDG_CACHE_HOME", m_scratch / "deep/below");
    Cache cache = Cache::open().value();
    EXPECT_FALSE(cache.find(Key::of("test", 1)).hit());
    EXPECT_FALSE(fs::exists(m_scratch / "deep")) << "looking makes nothing";
    ASSERT_TRUE(cache.insert(Key::of("test", 1), Artifact("x")).ok());
    EXPECT_EQ(admin::where(cache, Key::of("test", 1)), (std::vector<std::string>{"memory", "disk"}));
    for (const std::string path : {"deep/below/hearth", "deep/below/hearth/v1", "deep/below/hearth/v1/entries"})
        EXPECT_EQ(fs::status(m_scratch / path).permissions(), fs::perms::owner_all) << path;
    for (const auto& item : fs::recursive_directory_iterator(m_scratch / "deep/below/hearth"))
        if (item.is_regular_file()) {
            EXPECT_EQ(item.status().permissions() & (fs::perms::group_all | fs::perms::others_all), fs::perms::none)
                << item.path();
        }
}

TEST_F(Location, a_relative_directory_does_not_follow_the_working_directory_and_may_be_a_link_the_user_made)
{
    const fs::path before = fs::current_path();
    fs::create_directory(m_scratch / "a");
    fs::create_directory(m_scratch / "b");
    fs::create_directory(m_scratch / "large_disk");
    fs::create_directory_symlink(m_scratch / "large_disk", m_scratch / "a/cache");
    fs::current_path(m_scratch / "a");
    m_environment.set("HEARTH_DIR", "cache");
    Cache cache = Cache::open().value();
    fs::current_path(m_scratch / "b");
    ASSERT_TRUE(cache.insert(Key::of("test", 1), Artifact("x")).ok());
    fs::current_path(before);
    EXPECT_TRUE(fs::exists(m_scratch / "large_disk/v1"));
    EXPECT_FALSE(fs::exists(m_scratch / "b/cache"));
}

}  // namespace

}  // namespace hearth::test
