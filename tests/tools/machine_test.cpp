// doctor and config: what is found on this machine, what is set, and by whom (37, 71).
#include "command.hpp"

#include <algorithm>

namespace hearth::test {

namespace {

nlohmann::json setting(const nlohmann::json& config, const std::string& name)
{
    for (const auto& candidate : config.at("settings"))
        if (candidate.at("name") == name)
            return candidate;
    return nlohmann::json::object();
}

}  // namespace

using Doctor = Command;
using Configuration = Command;

TEST_F(Doctor, looks_without_making_the_directory_and_recommends_sizes_from_what_the_machine_has)
{
    const auto report = json_of({"doctor", "--json"});
    const auto& directory = report.at("directory");
    EXPECT_TRUE(holds(directory, {{"path", cache.string()}, {"exists", false}, {"writable", true}}));
    EXPECT_NE(directory.at("source").get<std::string>().find("HEARTH_DIR"), std::string::npos);
    EXPECT_NE(directory.at("file_system"), "");
    EXPECT_FALSE(std::filesystem::exists(cache));

    const auto free_bytes = directory.at("free_bytes").get<std::uint64_t>();
    EXPECT_GT(free_bytes, 0U);
    const std::uint64_t gib = 1ULL << 30U;
    EXPECT_EQ(report.at("recommended").at("disk_bytes"), std::clamp(free_bytes / 10, gib, 50 * gib));
    ASSERT_EQ(report.at("device_memory").size(), 4U);
    for (const auto& backend : report.at("device_memory"))
        EXPECT_NE(backend.at("devices").empty(), backend.at("missing").get<std::string>().empty()) << backend;
    EXPECT_EQ(report.at("device_memory").back().at("backend"), "host");
    EXPECT_GT(report.at("device_memory").back().at("devices").at(0).at("recommended_bytes").get<std::uint64_t>(), 0U);
    const auto memory = report.at("recommended").at("memory_bytes").get<std::uint64_t>();
    EXPECT_GE(memory, gib / 16);
    EXPECT_LE(memory, gib);
}

// 59
TEST_F(Doctor, a_gpu_that_is_hidden_is_not_used_and_the_host_stands_in)
{
    const ProcessOptions hidden{.environment = {{"CUDA_VISIBLE_DEVICES", ""},
                                                {"HEARTH_VRAM", "16M"},
                                                {"HEARTH_VRAM_BACKEND", "auto"},
                                                {"OCL_ICD_VENDORS", "/nonexistent"}}};
    const auto report = object_of(hearth({"doctor", "--json"}, hidden));
    for (const auto& backend : report.at("device_memory"))
        if (backend.at("backend") == "cuda") {
            EXPECT_TRUE(backend.at("devices").empty());
            EXPECT_NE(backend.at("missing"), "") << "and it says why";
        }
    put("k", "bytes");
    EXPECT_EQ(hearth({"get", "k"}, hidden).out, "bytes");
    const auto tiers = object_of(hearth({"stats", "--json"}, hidden)).at("tiers");
    const auto vram = std::find_if(tiers.begin(), tiers.end(), [](const auto& tier) { return tier["name"] == "vram"; });
    ASSERT_NE(vram, tiers.end()) << tiers;
    EXPECT_EQ(vram->at("note").get<std::string>().find("cuda"), std::string::npos) << *vram;
}

TEST_F(Doctor, notices_another_projects_distribution_called_hearth)
{
    const auto packages = scratch / "venv/lib/python3.11/site-packages";
    for (const char* folder : {"hearth", "hearth_cache-0.2.1.dist-info"})
        std::filesystem::create_directories(packages / folder);
    write("venv/lib/python3.11/site-packages/hearth/__init__.py", "");
    write("venv/lib/python3.11/site-packages/hearth/_library.py", "");
    write("venv/lib/python3.11/site-packages/hearth_cache-0.2.1.dist-info/METADATA", "Name: hearth-cache\n");
    given["VIRTUAL_ENV"] = (scratch / "venv").string();
    const auto strangers = [&] {
        std::vector<std::string> sentences;
        const auto report = json_of({"doctor", "--json"});
        for (const auto& sentence : report.at("advice"))
            if (const auto text = sentence.get<std::string>(); text.find("pip uninstall hearth;") != std::string::npos)
                sentences.push_back(text);
        return sentences;
    };
    EXPECT_EQ(strangers(), std::vector<std::string>{}) << "ours is no stranger";

    std::filesystem::create_directory(packages / "hearth-4.1.0.dist-info");
    write("venv/lib/python3.11/site-packages/hearth-4.1.0.dist-info/METADATA", "Name: hearth\n");
    ASSERT_EQ(strangers().size(), 1U);
    EXPECT_NE(strangers().front().find((packages / "hearth-4.1.0.dist-info").string()), std::string::npos);

    std::filesystem::remove_all(packages / "hearth-4.1.0.dist-info");
    std::filesystem::remove(packages / "hearth/_library.py");
    ASSERT_EQ(strangers().size(), 1U);
    EXPECT_NE(strangers().front().find((packages / "hearth").string()), std::string::npos);
}

TEST_F(Doctor, finds_compilers_by_looking_not_by_loading)
{
    const auto root = scratch / "cuda";
    std::filesystem::create_directories(root / "lib64");
    write("cuda/lib64/libnvrtc.so.99", "not a library at all");
    const auto report = object_of(hearth({"doctor", "--json"}, {.environment = {{"CUDA_HOME", root.string()}}}));
    EXPECT_EQ(report.at("exit"), 0);
    const auto& compilers = report.at("compilers");
    EXPECT_TRUE(std::any_of(compilers.begin(), compilers.end(), [&](const nlohmann::json& compiler) {
        return compiler.at("kind") == "NVRTC" && compiler.contains("why_not_watched") &&
               compiler.at("path") == std::filesystem::canonical(root / "lib64/libnvrtc.so.99").string();
    })) << report.dump(2);
}

TEST_F(Doctor, exits_3_for_a_library_that_is_named_and_not_there_and_for_an_unusable_directory)
{
    const auto report =
        object_of(hearth({"doctor", "--json"}, {.environment = {{"HEARTH_NVRTC", scratch / "libnvrtc.so.13"}}}));
    EXPECT_EQ(report.at("exit"), 3);
    ASSERT_EQ(report.at("problems").size(), 1U);
    EXPECT_NE(report.at("problems")[0].get<std::string>().find("HEARTH_NVRTC names"), std::string::npos);

    write("cache", "a file");
    const auto unusable = object_of(hearth({"doctor", "--json"}));
    EXPECT_TRUE(holds(unusable, {{"exit", 3}, {"usable", false}}));
    EXPECT_EQ(unusable.at("problems").size(), 1U);
}

TEST_F(Doctor, says_what_is_in_use_and_that_the_cache_works)
{
    put("k", "bytes");
    const auto report = json_of({"doctor", "--json"});
    EXPECT_EQ(report.at("usable"), true);
    EXPECT_EQ(report.at("problems"), nlohmann::json::array());
    EXPECT_EQ(report.at("tiers").back().at("entries"), 1);
    EXPECT_TRUE(
        ends_printing(hearth({"doctor"}), 0, "directory", "file system", "recommended", "The cache can be used."));
}

TEST_F(Configuration, says_where_each_value_came_from)
{
    const auto config = json_of({"config", "--json"});
    EXPECT_TRUE(holds(setting(config, "directory"), {{"value", cache.string()}, {"source", "environment HEARTH_DIR"}}));
    for (const auto& entry : config.at("settings"))
        for (const char* field : {"name", "value", "source"})
            EXPECT_TRUE(entry.at(field).is_string()) << entry;

    const auto elsewhere = json_of({"--dir", "/elsewhere", "config", "--json"});
    EXPECT_TRUE(holds(setting(elsewhere, "directory"), {{"value", "/elsewhere"}, {"source", "option"}}));
    EXPECT_FALSE(std::filesystem::exists(cache)) << "showing settings makes nothing";
}

TEST_F(Configuration, a_preset_sets_what_it_says)
{
    const auto config = json_of({"config", "--preset", "high_performance", "--json"});
    EXPECT_EQ(setting(config, "preset").at("value"), "high_performance");
    EXPECT_EQ(setting(config, "memory_bytes").at("value"), "1 GiB");
    EXPECT_EQ(setting(config, "max_bytes").at("value"), "50 GiB");
    EXPECT_EQ(hearth({"config"}).exit_code, 0);
}

TEST_F(Configuration, a_value_that_cannot_be_used_is_a_warning_not_a_failure)
{
    const ProcessOptions options{.environment = {{"HEARTH_MAX_BYTES", "bogus"}}};
    const ProcessResult result = hearth({"config", "--json"}, options);
    EXPECT_TRUE(ends_saying(result, 0, "warning", "bogus"));
    EXPECT_EQ(object_of(result).at("problems").size(), 1U);
    EXPECT_EQ(hearth({"ls"}, options).exit_code, 0);
}

TEST_F(Configuration, names_the_file_that_it_is_read_from)
{
    EXPECT_TRUE(
        holds(setting(json_of({"config", "--json"}), "config"),
              {{"value", (scratch / "home/.config/hearth/config.json").string()}, {"environment", "HEARTH_CONFIG"}}));
    const std::string mine = write("mine.json", "{\"max_bytes\": \"3G\"}").string();
    const auto named = json_of({"config", "--json"}, {.environment = {{"HEARTH_CONFIG", mine}}});
    EXPECT_EQ(setting(named, "config").at("value"), mine);
    EXPECT_EQ(setting(named, "max_bytes").at("value"), "3 GiB");
}

TEST_F(Doctor, says_that_a_disk_of_signed_entries_needs_keys)
{
    ProcessOptions options{.environment = {{"HEARTH_DEMAND_SIGNATURES", "disk"}}};
    const auto expect_unusable = [&] {
        const ProcessResult result = hearth({"doctor"}, options);
        EXPECT_TRUE(ends_printing(result, 3, "no key is trusted"));
        EXPECT_EQ(result.out.find("The cache can be used"), std::string::npos) << result.out;
    };
    expect_unusable();
    put("k", "bytes");
    expect_unusable();

    const std::string key = (scratch / "build.key").string();
    std::string trusted = hearth({"keygen", key}).out;
    trusted.pop_back();
    options.environment["HEARTH_TRUSTED_KEYS"] = trusted;
    EXPECT_TRUE(ends_printing(hearth({"doctor"}, options), 0, "what is compiled is not kept"));
    options.environment["HEARTH_SIGN_WITH"] = key;
    EXPECT_EQ(hearth({"doctor"}, options).out.find("is not kept"), std::string::npos);
}

}  // namespace hearth::test
