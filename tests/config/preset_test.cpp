#include "hearth/admin.hpp"
#include "hearth/cache.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>
#include <map>

// Each preset sets what it says (71).

namespace hearth::test {

namespace {

using namespace std::chrono_literals;

class Presets : public testing::Test {
protected:
    CacheOptions with(Preset preset) const
    {
        CacheOptions options;
        options.preset = preset;
        options.directory = m_scratch / "cache";
        return options;
    }
    // What differs from the default, by name.
    static std::map<std::string, std::string> set_by(Preset preset)
    {
        CacheOptions options;
        options.preset = preset;
        std::map<std::string, std::string> differing;
        const Settings defaults = resolve();
        for (const Setting& setting : resolve(options).values)
            if (setting.value != defaults.find(setting.name)->value && setting.name != "preset")
                differing[setting.name] = setting.value;
        return differing;
    }
    // Of memory, of the disk, and the age there.
    void expect_limits(Preset preset, std::uint64_t in_memory, std::uint64_t on_disk, std::chrono::seconds age) const
    {
        Cache cache = Cache::open(with(preset)).value();
        const auto tiers = admin::tiers(cache);
        EXPECT_EQ(tiers.at(0).limits.max_bytes, in_memory);
        EXPECT_EQ(tiers.at(1).limits.max_bytes, on_disk);
        EXPECT_EQ(tiers.at(1).limits.max_age, age);
    }

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
};

using Values = std::map<std::string, std::string>;

TEST_F(Presets, development_is_small_short_lived_and_talks)
{
    const Values values{{"memory_bytes", "64 MiB"},
                        {"max_bytes", "1 GiB"},
                        {"max_age", "7d"},
                        {"failure_ttl", "5s"},
                        {"log", "stderr"}};
    EXPECT_EQ(set_by(Preset::development), values);
    expect_limits(Preset::development, 64_MiB, 1_GiB, 24h * 7);
}

TEST_F(Presets, production_is_bounded_and_quiet_and_the_default)
{
    EXPECT_EQ(set_by(Preset::production), Values{});
    EXPECT_EQ(resolve().options.preset, Preset::production);
    EXPECT_EQ(resolve().options.log_to, "off");
    expect_limits(Preset::production, 256_MiB, 10_GiB, 0s);
}

TEST_F(Presets, high_performance_has_room_moves_up_at_once_and_does_not_compress)
{
    EXPECT_EQ(
        set_by(Preset::high_performance),
        (Values{{"memory_bytes", "1 GiB"}, {"max_bytes", "50 GiB"}, {"compression", "0"}, {"promote_after", "1"}}));
    expect_limits(Preset::high_performance, 1_GiB, 50_GiB, 0s);
    Cache cache = Cache::open(with(Preset::high_performance)).value();
    const Key key = Key::of("test", 1);
    ASSERT_TRUE(cache.insert(key, Artifact(std::string(100'000, 'x'))).ok());
    EXPECT_GE(admin::tiers(cache)[1].usage.bytes, 100'000U);
    admin::clear_memory(cache);
    EXPECT_EQ(cache.find(key).promoted_to(), "memory");
}

TEST_F(Presets, give_way_to_every_other_source)
{
    m_environment.set("HEARTH_MEMORY_BYTES", "1M");
    CacheOptions options = with(Preset::high_performance);
    options.promote_after = 5;
    const Settings settings = resolve(options);
    EXPECT_EQ(settings.find("memory_bytes")->value, "1 MiB");
    EXPECT_EQ(settings.find("promote_after")->value, "5");
    EXPECT_EQ(settings.find("max_bytes")->value, "50 GiB");
    EXPECT_EQ(settings.find("max_bytes")->source, "preset high_performance");
}

TEST_F(Presets, can_be_chosen_in_the_environment_and_in_the_file)
{
    m_environment.set("HEARTH_CONFIG", m_scratch / "config.json");
    write_file(m_scratch / "config.json", R"({"memory_bytes": "32M", "preset": "high_performance"})");
    EXPECT_EQ(resolve().find("max_bytes")->value, "50 GiB");
    EXPECT_EQ(resolve().find("memory_bytes")->value, "32 MiB") << "and gives way to what stands there";
    m_environment.set("HEARTH_PRESET", "development");
    EXPECT_EQ(resolve().find("max_bytes")->value, "1 GiB");
    EXPECT_EQ(resolve().find("max_bytes")->source, "preset development");
}

}  // namespace

}  // namespace hearth::test
