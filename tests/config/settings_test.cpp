#include "hearth/options.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <ostream>
#include <set>

// Which source a setting comes from: options in code, then the environment, then the file, then the preset, then the
// default; and what happens to values that cannot be used.

namespace hearth::test {

namespace {

using namespace std::chrono_literals;

class Sources : public testing::Test {
protected:
    void file(const std::string& text)
    {
        write_file(m_scratch / "config.json", text);
        m_environment.set("HEARTH_CONFIG", m_scratch / "config.json");
    }
    std::string file_source() const { return "file " + (m_scratch / "config.json"); }

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
};

std::string value_of(const Settings& settings, const std::string& name)
{
    return settings.find(name)->value;
}

std::string source_of(const Settings& settings, const std::string& name)
{
    return settings.find(name)->source;
}

// One setting: a value from each source, as it is written there and as it is shown.
struct SettingCase {
    std::string name;
    std::string environment;
    std::string by_default;
    std::string in_file;  // JSON
    std::string from_file;
    std::string in_environment;
    std::string from_environment;
    std::function<void(CacheOptions&)> set_option;
    std::string from_option;
};

// Of every setting, in the order in which they are shown.
const std::vector<SettingCase>& all_settings()
{
    using Options = CacheOptions;
    static const std::vector<SettingCase> k_all = {
        {"preset", "HEARTH_PRESET", "production", R"("development")", "development", "high-performance",
         "high_performance", [](Options& options) { options.preset = Preset::development; }, "development"},
        {"disabled", "HEARTH_DISABLE", "false", "true", "true", "0", "false",
         [](Options& options) { options.caching = Switch::off; }, "true"},
        {"directory", "HEARTH_DIR", "/home/someone/.cache/hearth", R"("/in/file")", "/in/file", "relative/one",
         "relative/one", [](Options& options) { options.directory = "/in/code"; }, "/in/code"},
        {"memory_bytes", "HEARTH_MEMORY_BYTES", "256 MiB", "1048576", "1 MiB", "0", "0 B",
         [](Options& options) { options.memory_bytes = 1000; }, "1000 B"},
        {"vram", "HEARTH_VRAM", "0 B", R"("512M")", "512 MiB", "auto", "auto",
         [](Options& options) { options.vram_bytes = 3_GiB; }, "3 GiB"},
        {"vram_backend", "HEARTH_VRAM_BACKEND", "auto", R"("cuda")", "cuda", "webgpu", "webgpu",
         [](Options& options) { options.vram_backend = "host"; }, "host"},
        {"max_bytes", "HEARTH_MAX_BYTES", "10 GiB", R"("5G")", "5 GiB", "none", "none",
         [](Options& options) { options.disk_bytes = 3_GiB; }, "3 GiB"},
        {"max_entries", "HEARTH_MAX_ENTRIES", "none", "1000", "1000", "70", "70",
         [](Options& options) { options.disk_entries = 5; }, "5"},
        {"max_entry_bytes", "HEARTH_MAX_ENTRY_BYTES", "256 MiB", R"("1G")", "1 GiB", "2M", "2 MiB",
         [](Options& options) { options.max_entry_bytes = 3_MiB; }, "3 MiB"},
        {"max_age", "HEARTH_MAX_AGE", "none", R"("30d")", "30d", "12h", "12h",
         [](Options& options) { options.max_age = 90s; }, "90s"},
        {"compression", "HEARTH_COMPRESSION", "1", "19", "19", "0", "0",
         [](Options& options) { options.compression = 3; }, "3"},
        {"read_only", "HEARTH_READ_ONLY", "false", "true", "true", "no", "false",
         [](Options& options) { options.access = Access::read_only; }, "true"},
        {"shared", "HEARTH_SHARED", "false", "true", "true", "off", "false",
         [](Options& options) { options.users = Users::many; }, "true"},
        {"durable", "HEARTH_DURABLE", "false", "true", "true", "0", "false",
         [](Options& options) { options.durable = Switch::on; }, "true"},
        {"bundles", "HEARTH_BUNDLES", "none", R"(["/a", "b"])", "/a b", "c d", "c d",
         [](Options& options) { options.bundles = {{"/e"}}; }, "/e"},
        {"remote", "HEARTH_REMOTE", "none", R"(["redis://a:secret@h", "s3://b"])", "redis://h s3://b", "http://x/y",
         "http://x/y", [](Options& options) { options.remotes = {{"redis://u:p@k:1"}}; }, "redis://k:1"},
        {"sign_with", "HEARTH_SIGN_WITH", "none", R"("/k")", "/k", "l", "l",
         [](Options& options) { options.sign_with = "/m"; }, "/m"},
        {"trusted_keys", "HEARTH_TRUSTED_KEYS", "none", R"(["a", "b"])", "a b", "c", "c",
         [](Options& options) {
             options.trusted_keys = {{"d", "e"}};
         },
         "d e"},
        {"demand_signatures", "HEARTH_DEMAND_SIGNATURES", "none", R"("remotes")", "remotes", "disk redis", "disk redis",
         [](Options& options) { options.demand_signatures = {{"s3"}}; }, "s3"},
        {"policy", "HEARTH_POLICY", "gdsf", R"("lru")", "lru", "gdsf", "gdsf",
         [](Options& options) { options.policy_name = "lru"; }, "lru"},
        {"promote_after", "HEARTH_PROMOTE_AFTER", "3", "5", "5", "7", "7",
         [](Options& options) { options.promote_after = 9; }, "9"},
        {"forbid_compile", "HEARTH_FORBID_COMPILE", "false", R"("after-ready")", "after-ready", "0", "false",
         [](Options& options) { options.compiling = Compiling::forbidden; }, "true"},
        {"max_parallel_compiles", "HEARTH_MAX_PARALLEL_COMPILES", "0", "4", "4", "8", "8",
         [](Options& options) { options.max_parallel_compiles = 16; }, "16"},
        {"compile_time_limit", "HEARTH_COMPILE_TIME_LIMIT", "0", R"("5m")", "5m", "90s", "90s",
         [](Options& options) { options.compile_time_limit = 1s; }, "1s"},
        {"flight_wait", "HEARTH_FLIGHT_WAIT", "1m", R"("5s")", "5s", "250ms", "250ms",
         [](Options& options) { options.flight_wait = 2h; }, "2h"},
        {"race_under", "HEARTH_RACE_UNDER", "0", R"("5ms")", "5ms", "50ms", "50ms",
         [](Options& options) { options.race_under = 1s; }, "1s"},
        {"stable_paths", "HEARTH_STABLE_PATHS", "false", "true", "true", "0", "false",
         [](Options& options) { options.stable_paths = Switch::on; }, "true"},
        {"variants_after", "HEARTH_VARIANTS_AFTER", "100", "5", "5", "0", "0",
         [](Options& options) { options.variants_after = 9; }, "9"},
        {"failure_ttl", "HEARTH_FAILURE_TTL", "1m", "30", "30s", "0", "0",
         [](Options& options) { options.failure_ttl = 1ms; }, "1ms"},
        {"maintenance", "HEARTH_MAINTENANCE", "background", R"("by_hand")", "by_hand", "background", "background",
         [](Options& options) { options.maintenance = Maintenance::by_hand; }, "by_hand"},
        {"maintenance_interval", "HEARTH_MAINTENANCE_INTERVAL", "1m", R"("1h")", "1h", "90s", "90s",
         [](Options& options) { options.maintenance_interval = 5min; }, "5m"},
        {"record", "HEARTH_RECORD", "none", R"("/r")", "/r", "s", "s",
         [](Options& options) { options.record_to = "/t"; }, "/t"},
        {"log", "HEARTH_LOG", "off", R"("stderr")", "stderr", "/tmp/hearth.log", "/tmp/hearth.log",
         [](Options& options) { options.log_to = "off"; }, "off"}};
    return k_all;
}

void PrintTo(const SettingCase& setting, std::ostream* out)
{
    *out << setting.name;
}

class EachSetting : public Sources, public testing::WithParamInterface<SettingCase> {
protected:
    static std::string default_source(const SettingCase& setting)
    {
        return setting.name == "directory" ? "environment HOME" : "default";
    }
    // To pass over a wrong value of these would open a door.
    static bool is_careful(const SettingCase& setting)
    {
        return setting.name == "demand_signatures" || setting.name == "forbid_compile" || setting.name == "read_only";
    }
};

TEST_P(EachSetting, comes_from_the_options_then_the_environment_then_the_file_then_the_default)
{
    const SettingCase& setting = GetParam();
    const auto expect = [&](const Settings& settings, const std::string& value, const std::string& source) {
        const Setting* shown = settings.find(setting.name);
        ASSERT_NE(shown, nullptr);
        EXPECT_EQ(shown->value, value);
        EXPECT_EQ(shown->source, source);
        EXPECT_EQ(shown->environment, setting.environment);
        EXPECT_FALSE(shown->meaning.empty());
        EXPECT_TRUE(settings.problems.empty()) << settings.problems[0];
    };
    m_environment.set("HOME", "/home/someone");
    expect(resolve(), setting.by_default, default_source(setting));
    file("{\"" + setting.name + "\": " + setting.in_file + "}");
    expect(resolve(), setting.from_file, file_source());
    m_environment.set(setting.environment, setting.in_environment);
    expect(resolve(), setting.from_environment, "environment " + setting.environment);
    CacheOptions options;
    setting.set_option(options);
    expect(resolve(options), setting.from_option, "option");
    m_environment.set(setting.environment, "");
    expect(resolve(), setting.from_file, file_source());
}

TEST_P(EachSetting, that_cannot_be_used_is_told_and_the_next_source_counts)
{
    const SettingCase& setting = GetParam();
    m_environment.set("HOME", "/home/someone");
    // Any text is a path, a key's or a tier's name; and an address is not repeated.
    const std::set<std::string> take_any{"directory", "log",    "sign_with", "trusted_keys",
                                         "remote",    "record", "bundles"};
    if (!take_any.contains(setting.name) && !is_careful(setting)) {
        m_environment.set(setting.environment, "nonsense");
        file("{\"" + setting.name + "\": " + setting.in_file + "}");
        const Settings settings = resolve();
        EXPECT_EQ(value_of(settings, setting.name), setting.from_file);
        EXPECT_EQ(source_of(settings, setting.name), file_source());
        ASSERT_EQ(settings.problems.size(), 1U);
        EXPECT_TRUE(
            settings.problems[0].starts_with("environment " + setting.environment + ": " + setting.name + " takes "));
        EXPECT_NE(settings.problems[0].find("not \"nonsense\""), std::string::npos) << settings.problems[0];
        m_environment.unset(setting.environment);
    }
    for (const std::string text : {"[1]", "{}", "null", R"("")", R"("zero\u0000byte")"}) {
        file("{\"" + setting.name + "\": " + text + "}");
        const Settings settings = resolve();
        EXPECT_EQ(value_of(settings, setting.name) == setting.by_default, !is_careful(setting)) << text;
        EXPECT_EQ(source_of(settings, setting.name), is_careful(setting) ? file_source() : default_source(setting));
        ASSERT_EQ(settings.problems.size(), 1U) << text;
        EXPECT_TRUE(settings.problems[0].starts_with(file_source() + ", line 1: " + setting.name + " takes "))
            << settings.problems[0];
    }
}

INSTANTIATE_TEST_SUITE_P(all, EachSetting, testing::ValuesIn(all_settings()), testing::PrintToStringParamName());

TEST_F(Sources, a_variable_that_is_misspelt_is_told_and_counts_where_it_may_have_asked_for_care)
{
    m_environment.set("HEARTH_MAXBYTES", "1G");
    m_environment.set("HEARTH_DEMAND_SIGNATURE", "disk");
    m_environment.set("HEARTH_COMPRESION", "3");
    m_environment.set("HEARTH_NVRTC", "/opt/libnvrtc.so");  // no setting, and like none
    const Settings settings = resolve();
    EXPECT_EQ(settings.problems.size(), 3U);
    const auto told = [&](const std::string& sentence) {
        return std::count(settings.problems.begin(), settings.problems.end(), sentence) == 1;
    };
    EXPECT_TRUE(told("environment HEARTH_MAXBYTES: Hearth does not know it. Did you mean HEARTH_MAX_BYTES?"));
    EXPECT_TRUE(told("environment HEARTH_COMPRESION: Hearth does not know it. Did you mean HEARTH_COMPRESSION?"));
    EXPECT_EQ(value_of(settings, "demand_signatures"), "all");
    EXPECT_EQ(value_of(settings, "max_bytes"), "10 GiB");
}

TEST_F(Sources, an_address_that_is_none_is_told_of_without_its_password_and_leaves_the_others)
{
    m_environment.set("HOME", "/home/someone");
    const std::pair<std::string, std::string> cases[] = {
        {"redis://ann:hunter2@cache:6379x", "none"},
        {"redis://ann:hunter2@cache:6379x redis://good:1", "redis://good:1"}};
    for (const auto& [addresses, used] : cases) {
        m_environment.set("HEARTH_REMOTE", addresses);
        const Settings settings = resolve();
        EXPECT_EQ(value_of(settings, "remote"), used);
        ASSERT_EQ(settings.problems.size(), 1U);
        EXPECT_NE(settings.problems[0].find("HEARTH_REMOTE"), std::string::npos);
        EXPECT_NE(settings.problems[0].find("port"), std::string::npos) << settings.problems[0];
        EXPECT_EQ(settings.problems[0].find("hunter2"), std::string::npos) << settings.problems[0];
        EXPECT_EQ(settings.problems[0].find("; the others count. ") != std::string::npos, used != "none");
    }
}

// Where a file was meant, or another setting.
TEST_F(Sources, a_secret_in_a_setting_that_takes_none_is_not_shown)
{
    m_environment.set("HOME", "/home/someone");
    for (const char* name : {"HEARTH_SIGN_WITH", "HEARTH_TRUSTED_KEYS", "HEARTH_BUNDLES", "HEARTH_MAX_BYTES"})
        for (const char* text : {"ed25519-secret:hunter2", "https://ann:hunter2@cache/kernels"}) {
            m_environment.set(name, text);
            const Settings settings = resolve();
            for (const Setting& setting : settings.values)
                EXPECT_EQ(setting.value.find("hunter2"), std::string::npos) << name << ": " << setting.value;
            for (const std::string& problem : settings.problems)
                EXPECT_EQ(problem.find("hunter2"), std::string::npos) << problem;
        }
}

TEST_F(Sources, are_all_named_once_and_every_one_is_tested)
{
    std::vector<std::string> named;
    for (const Setting& setting : resolve().values)
        named.push_back(setting.name);
    std::vector<std::string> tested;
    for (const SettingCase& setting : all_settings())
        tested.push_back(setting.name);
    tested.emplace_back("config");
    EXPECT_EQ(named, tested) << "a new setting needs a row in this file";
    EXPECT_EQ(resolve().find("no such setting"), nullptr);
}

TEST_F(Sources, options_keep_exactly_what_was_given)
{
    CacheOptions options;
    options.memory_bytes = 1'234'567'891;
    options.disk_bytes = 9'876'543'210'123;
    options.flight_wait = 1234567ms;
    const CacheOptions resolved = resolve(options).options;
    EXPECT_EQ(resolved.memory_bytes, options.memory_bytes) << "not what a person is shown of it";
    EXPECT_EQ(resolved.disk_bytes, options.disk_bytes);
    EXPECT_EQ(resolved.flight_wait, options.flight_wait);
}

TEST_F(Sources, wrong_values_are_told_with_what_is_taken)
{
    m_environment.set("HEARTH_COMPRESSION", "20");
    m_environment.set("HEARTH_MAX_ENTRIES", "-5");
    m_environment.set("HEARTH_MAX_BYTES", "10 parsecs");
    m_environment.set("HEARTH_MAX_AGE", "-1d");
    m_environment.set("HEARTH_PROMOTE_AFTER", "4294967296");
    const Settings settings = resolve();
    EXPECT_EQ(
        settings.problems,
        (std::vector<std::string>{
            "environment HEARTH_MAX_BYTES: max_bytes takes a size with a unit, such as 512M or 10GiB, or none, not "
            "\"10 parsecs\"; it was passed over.",
            "environment HEARTH_MAX_ENTRIES: max_entries takes a whole number from 1, or none, not \"-5\"; it was "
            "passed over.",
            "environment HEARTH_MAX_AGE: max_age takes a duration such as 250ms, 12h or 30d, or none, not \"-1d\"; it "
            "was passed over.",
            "environment HEARTH_COMPRESSION: compression takes a number from 0 to 19, not \"20\"; it was passed over.",
            "environment HEARTH_PROMOTE_AFTER: promote_after takes a whole number, not \"4294967296\"; it was passed "
            "over."}));
    EXPECT_EQ(value_of(settings, "compression"), "1");
    EXPECT_EQ(value_of(settings, "max_entries"), "none");
}

TEST_F(Sources, what_cannot_be_read_closes_a_door_and_opens_none)
{
    for (const char* text : {"remote", "Remotes", "All", "remotes,bundles", "disk dsik", "bundle2"}) {
        m_environment.set("HEARTH_DEMAND_SIGNATURES", text);
        const Settings settings = resolve();
        EXPECT_EQ(value_of(settings, "demand_signatures"), "all") << text;
        ASSERT_EQ(settings.problems.size(), 1U) << text;
        EXPECT_NE(settings.problems[0].find("all have to be signed"), std::string::npos) << settings.problems[0];
    }
    m_environment.unset("HEARTH_DEMAND_SIGNATURES");
    CacheOptions options;
    options.demand_signatures = {{"Remotes"}};
    EXPECT_EQ(value_of(resolve(options), "demand_signatures"), "all");
    m_environment.set("HEARTH_REMOTE", "redis://a:1?name=fast");
    options.demand_signatures = {{"fast"}};
    EXPECT_EQ(value_of(resolve(options), "demand_signatures"), "fast");
    for (const char* text : {"True", "YES", "1", "maybe", "2"}) {
        m_environment.set("HEARTH_FORBID_COMPILE", text);
        EXPECT_EQ(value_of(resolve(), "forbid_compile"), "true") << text;
    }
    m_environment.set("HEARTH_FORBID_COMPILE", "Off");
    EXPECT_EQ(value_of(resolve(), "forbid_compile"), "false");
}

TEST_F(Sources, a_limit_of_nothing_is_no_way_to_say_none_and_half_a_second_of_age_is_no_missing_limit)
{
    m_environment.set("HEARTH_MAX_AGE", "500ms");
    EXPECT_EQ(value_of(resolve(), "max_age"), "1s");
    m_environment.unset("HEARTH_MAX_AGE");
    for (const char* name : {"MAX_BYTES", "MAX_ENTRIES", "MAX_AGE"}) {
        m_environment.set(std::string("HEARTH_") + name, "0");
        const Settings settings = resolve();
        ASSERT_EQ(settings.problems.size(), 1U) << name;
        EXPECT_NE(settings.problems[0].find(", or none, not \"0\""), std::string::npos) << settings.problems[0];
        m_environment.unset(std::string("HEARTH_") + name);
    }
}

TEST_F(Sources, a_size_needs_a_unit_unless_it_can_only_be_of_bytes)
{
    const auto max_bytes = [&](const char* in_environment, const std::string& in_file) {
        file("{\"max_bytes\": " + in_file + "}");
        m_environment.set("HEARTH_MAX_BYTES", in_environment);
        return resolve().options.disk_bytes;
    };
    EXPECT_EQ(max_bytes("2147483648", "\"7G\""), 2_GiB);
    EXPECT_EQ(max_bytes("", "2147483648"), 2_GiB);
    EXPECT_EQ(max_bytes("1048576", "\"7G\""), 1_MiB);
    EXPECT_EQ(max_bytes("1048575B", "\"7G\""), 1_MiB - 1);
    for (const char* text : {"1", "10", "1048575", "1.5"}) {
        EXPECT_EQ(max_bytes(text, "\"7G\""), 7_GiB) << text;
        EXPECT_EQ(max_bytes("", text), 10_GiB) << text << " would empty the cache";
        ASSERT_EQ(resolve().problems.size(), 1U) << text;
        EXPECT_NE(resolve().problems[0].find(", line 1: max_bytes takes a size with a unit"), std::string::npos)
            << resolve().problems[0];
    }
}

TEST_F(Sources, a_mistake_in_the_file_is_told_with_its_line)
{
    file("{\n  // \"policy\": 1\n  \"max_age\": {\"policy\": 3},\n  \"policy\":\n  \"fifo\",\n"
         "  \"max_parallel_makes\": \"many\",\n  \"polcy\": 5\n}\n");
    const Settings settings = resolve();
    std::set<std::string> places;
    for (const std::string& problem : settings.problems)
        places.insert(problem.substr(0, problem.find(": ")));
    EXPECT_EQ(places, (std::set<std::string>{file_source() + ", line 3", file_source() + ", line 4",
                                             file_source() + ", line 6", file_source() + ", line 7"}));
    EXPECT_EQ(settings.problems.size(), 4U);
    file("\n  [1]\n");
    EXPECT_NE(resolve().problems[0].find(" (line 2, column 3);"), std::string::npos) << resolve().problems[0];
    file("{\n  \"max_bytes\": \"1G\"\n  \"log\": \"stderr\"\n}\n");
    EXPECT_NE(resolve().problems[0].find("(line 3, column 7)"), std::string::npos) << resolve().problems[0];
}

TEST_F(Sources, old_names_go_on_working_and_the_new_ones_are_shown)
{
    m_environment.set("HEARTH_FORBID_MAKE", "1");
    file(R"({"max_parallel_makes": 3})");
    const Settings settings = resolve();
    EXPECT_EQ(settings.problems, std::vector<std::string>{});
    EXPECT_EQ(value_of(settings, "forbid_compile"), "true");
    EXPECT_EQ(source_of(settings, "forbid_compile"), "environment HEARTH_FORBID_MAKE, now HEARTH_FORBID_COMPILE");
    EXPECT_EQ(value_of(settings, "max_parallel_compiles"), "3");

    m_environment.set("HEARTH_FORBID_COMPILE", "0");
    EXPECT_EQ(value_of(resolve(), "forbid_compile"), "false");
}

TEST_F(Sources, a_broken_file_is_told_and_passed_over)
{
    for (const std::string text : {"{\"max_bytes\": ", "[1, 2]", "", "max_bytes = 5G", "\"5G\"", "\xFF\xFE\x00"}) {
        file(text);
        const Settings settings = resolve();
        ASSERT_EQ(settings.problems.size(), 1U) << text;
        EXPECT_NE(settings.problems[0].find(m_scratch / "config.json"), std::string::npos);
        EXPECT_NE(settings.problems[0].find("passed over"), std::string::npos);
        EXPECT_EQ(source_of(settings, "max_bytes"), "default");
        EXPECT_EQ(value_of(settings, "forbid_compile"), "false") << "the program goes on";
        EXPECT_EQ(value_of(settings, "demand_signatures"), "all") << "it may have demanded some, and nobody can tell";
        EXPECT_NE(settings.problems[0].find("demand_signatures is \"all\""), std::string::npos) << settings.problems[0];
    }
    m_environment.set("HEARTH_DEMAND_SIGNATURES", "remotes");
    EXPECT_EQ(value_of(resolve(), "demand_signatures"), "remotes") << "which counts before a file";
}

TEST_F(Sources, a_demand_whose_name_is_nearly_right_counts_and_is_told)
{
    for (const std::string name : {"demand_signature", "demandSignatures", "DEMAND-SIGNATURES"}) {
        file("{\"" + name + "\": \"redis\", \"max_entries\": 7}");
        const Settings settings = resolve();
        ASSERT_EQ(settings.problems.size(), 1U) << name;
        EXPECT_NE(settings.problems[0].find("looks like demand_signatures"), std::string::npos) << settings.problems[0];
        EXPECT_EQ(value_of(settings, "demand_signatures"), "all");
        EXPECT_EQ(value_of(settings, "max_entries"), "7");
    }
}

TEST_F(Sources, what_is_unknown_or_no_value_in_the_file_is_told_and_comments_are_not_and_the_rest_counts)
{
    const std::string too_deep = std::string(400'000, '[') + std::string(400'000, ']');  // for any stack
    file("{\n  // shared by the whole team\n  \"max_bites\": \"5G\",\n  \"max_bytes\": " + too_deep +
         ",\n  \"max_entries\": 7 /* seven */\n}\n");
    const Settings settings = resolve();
    ASSERT_EQ(settings.problems.size(), 2U);
    EXPECT_NE(settings.problems[0].find("\"max_bites\""), std::string::npos) << settings.problems[0];
    EXPECT_EQ(settings.problems[1], file_source() + ", line 4: max_bytes takes a size with a unit, such as 512M or "
                                                    "10GiB, or none, not a JSON array; it was passed over.");
    EXPECT_EQ(value_of(settings, "max_entries"), "7");
}

TEST_F(Sources, a_file_that_was_pointed_to_must_be_there_and_none_in_the_usual_place_is_nothing_to_tell)
{
    m_environment.set("HOME", m_scratch.path());
    m_environment.set("XDG_CONFIG_HOME", m_scratch / "config");
    EXPECT_TRUE(resolve().problems.empty());
    m_environment.set("HEARTH_CONFIG", m_scratch / "missing.json");
    ASSERT_EQ(resolve().problems.size(), 1U);
    EXPECT_NE(resolve().problems[0].find(m_scratch / "missing.json"), std::string::npos);
    m_environment.set("HEARTH_CONFIG", m_scratch.path());
    EXPECT_EQ(resolve().problems.size(), 1U) << "a folder is no file";
    EXPECT_EQ(value_of(resolve(), "demand_signatures"), "all");
}

}  // namespace

}  // namespace hearth::test
