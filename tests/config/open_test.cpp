#include "hearth/admin.hpp"
#include "hearth/bundle.hpp"
#include "hearth/cache.hpp"
#include "hearth/vram.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <tuple>

#include <sys/stat.h>

// From settings to a cache: tiers, the disabling switch, and where warnings go.

namespace hearth::test {

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class Opening : public testing::Test {
protected:
    Opening() { m_environment.set("HEARTH_DIR", m_scratch / "cache"); }

    static Names names_of_tiers(Cache& cache)
    {
        Names names;
        for (const TierStatus& tier : admin::tiers(cache))
            names.push_back(tier.name);
        return names;
    }
    static Names names_of_tiers()
    {
        Cache cache = Cache::open().value();
        return names_of_tiers(cache);
    }
    // The tiers of a cache that tells m_told what is wrong, which is nothing or one sentence with these words.
    Names names_and_problem(CacheOptions options, const std::string& words)
    {
        m_told.clear();
        options.log = [&](LogLevel, std::string_view message) { m_told.emplace_back(message); };
        Cache cache = Cache::open(options).value();
        EXPECT_EQ(m_told.size(), words.empty() ? 0U : 1U);
        EXPECT_TRUE(words.empty() || m_told.at(0).find(words) != std::string::npos) << m_told.at(0);
        return names_of_tiers(cache);
    }
    // So that a cache opens, and has something to tell.
    void put_a_file_in_the_directorys_place() const { write_file(m_scratch / "cache", "a file"); }

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
    Names m_told;
};

TEST_F(Opening, gives_memory_over_disk_or_the_disk_alone)
{
    EXPECT_EQ(names_of_tiers(), (Names{"memory", "disk"}));
    m_environment.set("HEARTH_MEMORY_BYTES", "0");
    EXPECT_EQ(names_of_tiers(), Names{"disk"});
}

TEST_F(Opening, with_device_memory_puts_it_between_the_two)
{
    m_environment.set("HEARTH_VRAM", "1M");
    m_environment.set("HEARTH_VRAM_BACKEND", "host");
    const Key key = Key::of("test", 1);
    {
        Cache cache = Cache::open().value();
        EXPECT_EQ(names_of_tiers(cache), (Names{"memory", "vram", "disk"}));
        EXPECT_EQ(admin::tiers(cache)[1].limits.max_bytes, 1_MiB);
        ASSERT_TRUE(cache.vram().insert(key, as_bytes("ir")).ok());
        EXPECT_TRUE(cache.vram().lease(key));
        EXPECT_EQ(cache.stats().tiers[1].note, "host: host memory");
    }
    // What it was is told by another process too.
    Cache other = Cache::open().value();
    EXPECT_EQ(other.stats(Scope::process).tiers[1].note, "");
    EXPECT_EQ(other.stats(Scope::directory).tiers[1].note, "host: host memory");
    EXPECT_EQ(other.stats(Scope::directory).tiers[1].hits, 1U);
}

TEST_F(Opening, puts_bundles_behind_the_disk_and_before_servers)
{
    const Names bundles{m_scratch / "one", m_scratch / "two"};
    {
        Cache cache = Cache::open().value();
        for (int number = 1; number <= 2; ++number) {
            ASSERT_TRUE(cache.insert(Key::of("test", number), Artifact("x")).ok());
            const auto this_one = [&](const EntryRow& row) { return row.key == Key::of("test", number); };
            ASSERT_TRUE(bundles::create(bundles[static_cast<std::size_t>(number) - 1], cache, this_one).ok());
        }
        admin::clear(cache);
    }
    m_environment.set("HEARTH_BUNDLES", bundles[0] + "  " + bundles[1]);
    m_environment.set("HEARTH_REMOTE", "redis://127.0.0.1:1");
    Cache cache = Cache::open().value();
    EXPECT_EQ(names_of_tiers(cache), (Names{"memory", "disk", "bundle", "bundle2", "redis"}));
    EXPECT_EQ(cache.find(Key::of("test", 1)).tier(), "bundle");
    EXPECT_EQ(cache.find(Key::of("test", 2)).tier(), "bundle2");
}

TEST_F(Opening, a_bundle_that_cannot_be_used_is_told_of_and_left_out)
{
    CacheOptions options;
    options.bundles = {{m_scratch / "missing"}};
    EXPECT_EQ(names_and_problem(options, m_scratch / "missing"), (Names{"memory", "disk"}));
}

TEST_F(Opening, signatures_are_demanded_of_bundles_by_name_or_all_at_once)
{
    const std::string file = m_scratch / "plain";
    {
        Cache cache = Cache::open().value();
        ASSERT_TRUE(bundles::create(file, cache).ok());
    }
    m_environment.set("HEARTH_BUNDLES", file);
    m_environment.set("HEARTH_TRUSTED_KEYS", SigningKey::generate()->public_key().text());
    for (const char* const word : {"bundles", "bundle", "all", "redis bundles"}) {
        m_environment.set("HEARTH_DEMAND_SIGNATURES", word);
        EXPECT_EQ(names_of_tiers(), (Names{"memory", "disk"})) << word;
    }
    for (const char* const word : {"remotes", "disk"}) {
        m_environment.set("HEARTH_DEMAND_SIGNATURES", word);
        Cache cache = Cache::open().value();
        EXPECT_EQ(names_of_tiers(cache), (Names{"memory", "disk", "bundle"})) << word;
        EXPECT_FALSE(admin::tiers(cache)[2].traits.demands_signatures);
    }
}

TEST_F(Opening, signatures_are_demanded_of_servers_as_their_addresses_name_them)
{
    m_environment.set("HEARTH_TRUSTED_KEYS", SigningKey::generate()->public_key().text());
    m_environment.set("HEARTH_REMOTE", "rediss://a:1 redis://b:2?name=prod");
    for (const char* const word : {"redis", "rediss", "remotes", "all"}) {
        m_environment.set("HEARTH_DEMAND_SIGNATURES", word);
        Cache cache = Cache::open().value();
        for (const TierStatus& tier : admin::tiers(cache))
            EXPECT_TRUE(tier.traits.demands_signatures || !tier.traits.remote) << word << ": " << tier.name;
    }
    m_environment.set("HEARTH_DEMAND_SIGNATURES", "prod");
    Cache cache = Cache::open().value();
    EXPECT_FALSE(admin::tiers(cache)[2].traits.demands_signatures);
    EXPECT_TRUE(admin::tiers(cache)[3].traits.demands_signatures);
}

TEST_F(Opening, a_server_called_like_another_tier_is_told_of_and_left_out)
{
    for (const char* const name : {"disk", "memory", "b", "not/a/name"}) {
        CacheOptions options;
        options.remotes = {{"redis://127.0.0.1:1?name=b", std::string("redis://127.0.0.1:2?name=") + name}};
        EXPECT_EQ(names_and_problem(options, name), (Names{"memory", "disk", "b"}));
    }
}

TEST_F(Opening, a_disk_of_signed_entries_without_a_trusted_key_is_told_of_and_left_out)
{
    m_environment.set("HEARTH_DEMAND_SIGNATURES", "disk");
    CacheOptions options;
    EXPECT_EQ(names_and_problem(options, "no key is trusted"), Names{"memory"});
    // What another one signs can be read; what is compiled here is not kept.
    const SigningKey key = SigningKey::generate().value();
    options.trusted_keys = {{key.public_key().text()}};
    EXPECT_EQ(names_and_problem(options, "is not kept there"), (Names{"memory", "disk"}));
    ASSERT_TRUE(key.save(m_scratch / "key").ok());
    options.sign_with = m_scratch / "key";
    options.trusted_keys = std::vector<std::string>{};
    EXPECT_EQ(names_and_problem(options, ""), (Names{"memory", "disk"})) << "who signs trusts his own key";
}

TEST_F(Opening, with_tiers_of_ones_own_uses_those)
{
    CacheOptions options;
    options.tiers = {memory({.name = "pinned", .max_bytes = 1_MiB}), memory({.name = "rest"})};
    Cache cache = Cache::open(options).value();
    EXPECT_EQ(names_of_tiers(cache), (Names{"pinned", "rest"}));
    ASSERT_TRUE(cache.insert(Key::of("test", 1), Artifact("x")).ok());
    EXPECT_FALSE(fs::exists(m_scratch / "cache"));
}

TEST_F(Opening, takes_limits_from_the_environment)
{
    m_environment.set("HEARTH_MAX_BYTES", "7M");
    m_environment.set("HEARTH_MAX_ENTRIES", "3");
    m_environment.set("HEARTH_MAX_AGE", "1h");
    Cache cache = Cache::open().value();
    EXPECT_EQ(admin::tiers(cache)[1].limits,
              (Limits{.max_bytes = 7_MiB, .max_entries = 3, .max_age = std::chrono::hours(1)}));
    for (int i = 0; i < 5; ++i)
        ASSERT_TRUE(cache.insert(Key::of("test", i), Artifact("x")).ok());
    EXPECT_EQ(admin::tiers(cache)[1].usage.entries, 3U);
}

TEST_F(Opening, read_only_by_the_environment_writes_nothing)
{
    m_environment.set("HEARTH_READ_ONLY", "1");
    Cache cache = Cache::open().value();
    EXPECT_FALSE(admin::tiers(cache)[1].traits.writable);
    ASSERT_TRUE(cache.insert(Key::of("test", 1), Artifact("x")).ok());
    EXPECT_EQ(admin::where(cache, Key::of("test", 1)), Names{"memory"});
    EXPECT_FALSE(fs::exists(m_scratch / "cache"));
}

TEST_F(Opening, hearth_disable_takes_every_tier_away)
{
    m_environment.set("HEARTH_DISABLE", "1");
    CacheOptions options;
    options.tiers = {memory(1_MiB)};
    Cache cache = Cache::open(options).value();
    EXPECT_TRUE(admin::tiers(cache).empty());
    int makes = 0;
    for (int i = 0; i < 2; ++i)
        EXPECT_TRUE(cache.get_or_compile(Key::of("test", 1), [&] { return std::to_string(++makes); }).ok());
    EXPECT_EQ(makes, 2);
    EXPECT_FALSE(fs::exists(m_scratch / "cache"));
}

TEST_F(Opening, hearth_forbid_make_forbids_making)
{
    m_environment.set("HEARTH_FORBID_COMPILE", "1");
    Cache cache = Cache::open().value();
    const Result<Lookup> got = cache.get_or_compile(Key::of("test", 1), [] { return "never"; });
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::compile_forbidden);
    EXPECT_NE(got.error().message.find("HEARTH_FORBID_COMPILE"), std::string::npos);
}

TEST_F(Opening, hearth_log_names_the_file_warnings_go_to)
{
    put_a_file_in_the_directorys_place();
    m_environment.set("HEARTH_LOG", m_scratch / "hearth.log");
    m_environment.set("HEARTH_MAX_BYTES", "lots");
    {
        Cache cache = Cache::open().value();
        for (int i = 0; i < 5; ++i)
            EXPECT_TRUE(cache.insert(Key::of("test", i), Artifact("x")).ok());
    }
    const std::string log = read_file(m_scratch / "hearth.log");
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
    EXPECT_TRUE(log.starts_with("hearth: warning: environment HEARTH_MAX_BYTES: ")) << log;
    EXPECT_NE(log.find("\nhearth: warning: " + (m_scratch / "cache") + " is in the way"), std::string::npos) << log;
    EXPECT_EQ(fs::status(m_scratch / "hearth.log").permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_TRUE(Cache::open().ok());
    EXPECT_TRUE(read_file(m_scratch / "hearth.log").starts_with(log)) << "appended to, never cut";
}

// A pipe that nobody reads would be waited at for ever.
TEST_F(Opening, a_log_that_cannot_be_written_is_no_harm)
{
    put_a_file_in_the_directorys_place();
    ASSERT_EQ(::mkfifo((m_scratch / "pipe").c_str(), 0600), 0);
    for (const char* log : {"no/such/folder/log", "pipe"}) {
        m_environment.set("HEARTH_LOG", m_scratch / log);
        Cache cache = Cache::open().value();
        EXPECT_TRUE(cache.insert(Key::of("test", 1), Artifact("x")).ok());
        EXPECT_FALSE(fs::exists(m_scratch / "no"));
    }
}

TEST_F(Opening, warnings_go_to_standard_error_only_where_asked_and_to_a_sink_of_ones_own_first)
{
    put_a_file_in_the_directorys_place();
    testing::internal::CaptureStderr();
    std::ignore = Cache::open().value().find(Key::of("test", 1)).hit();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "a guest is quiet";
    m_environment.set("HEARTH_LOG", "stderr");
    testing::internal::CaptureStderr();
    std::ignore = Cache::open().value().find(Key::of("test", 1)).hit();
    EXPECT_TRUE(testing::internal::GetCapturedStderr().starts_with("hearth: warning: "));
    m_environment.set("HEARTH_LOG", m_scratch / "hearth.log");
    names_and_problem({}, "is in the way");
    EXPECT_FALSE(fs::exists(m_scratch / "hearth.log"));
}

TEST_F(Opening, a_policy_of_the_environment_decides_who_goes_first)
{
    const auto survivors = [&](const std::string& policy) {
        m_environment.set("HEARTH_POLICY", policy);
        CacheOptions options;
        options.tiers = {memory(200)};
        Cache cache = Cache::open(options).value();
        Artifact dear(std::string(100, 'd'));
        dear.cost = std::chrono::seconds(60);
        Artifact cheap(std::string(100, 'c'));
        cheap.cost = std::chrono::milliseconds(1);
        EXPECT_TRUE(cache.insert(Key::of("test", "dear"), dear).ok());
        EXPECT_TRUE(cache.insert(Key::of("test", "cheap"), cheap).ok());
        EXPECT_TRUE(cache.insert(Key::of("test", "new"), Artifact(std::string(100, 'n'))).ok());
        return admin::where(cache, Key::of("test", "dear")).empty() ? "cheap" : "dear";
    };
    EXPECT_STREQ(survivors("lru"), "cheap") << "the older one goes";
    EXPECT_STREQ(survivors("gdsf"), "dear") << "the cheaper one goes";
}

}  // namespace

}  // namespace hearth::test
