// ls, show and rm: metadata survives (30), search by pattern, list and remove (33).
#include "command.hpp"
#include "hearth/api.hpp"
#include "hearth/cache.hpp"

#include <algorithm>
#include <regex>
#include <set>

namespace hearth::test {

namespace {

std::set<std::string> labels(const std::vector<nlohmann::json>& rows)
{
    std::set<std::string> result;
    for (const auto& row : rows)
        result.insert(row.at("label").get<std::string>());
    return result;
}

bool holds_control_characters(const std::string& text)
{
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\n') || byte == 0x7F;
    });
}

}  // namespace

using List = Command;
using Show = Command;
using Remove = Command;

TEST_F(List, json_has_an_object_a_line_with_every_field)
{
    const std::string key = put("saxpy", std::string(50000, 'x'), {"--cost", "1.5s"});
    const auto rows = json_lines_of({"ls", "--json"});
    ASSERT_EQ(rows.size(), 1U);
    const auto& row = rows.front();
    EXPECT_EQ(row.at("key"), key);
    EXPECT_EQ(row.at("label"), "saxpy");
    EXPECT_EQ(row.at("bytes"), 50000);
    EXPECT_GT(row.at("stored_bytes").get<int>(), 0);
    EXPECT_LT(row.at("stored_bytes").get<int>(), 50000) << "50000 equal bytes are compressed";
    EXPECT_TRUE(std::regex_match(row.at("created").get<std::string>(),
                                 std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)")));
    EXPECT_TRUE(row.at("last_used").is_null()) << "never used";
    EXPECT_EQ(row.at("uses"), 0);
    EXPECT_DOUBLE_EQ(row.at("cost_seconds").get<double>(), 1.5);
    EXPECT_EQ(row.at("tier"), "disk");
}

TEST_F(List, metadata_survives_and_uses_are_counted_across_processes)
{
    put("saxpy", "bytes", {"--label", "a kernel", "--target", "sm_90", "--compiler", "nvrtc 13.0"});
    hearth({"get", "saxpy"});
    hearth({"get", "saxpy"});
    const auto rows = json_lines_of({"ls", "--json"});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows.front().at("label"), "a kernel");
    EXPECT_EQ(rows.front().at("target"), "sm_90");
    EXPECT_EQ(rows.front().at("compiler"), "nvrtc 13.0");
    EXPECT_EQ(rows.front().at("uses"), 2);
    EXPECT_FALSE(rows.front().at("last_used").is_null());
}

TEST_F(List, an_entry_tells_which_version_wrote_it)
{
    put("saxpy", "1");
    EXPECT_EQ(json_of({"show", "saxpy", "--json"}).at("writer"), HEARTH_VERSION);
    const std::string shown = hearth({"show", "saxpy"}).out;
    EXPECT_NE(shown.find("Hearth " HEARTH_VERSION), std::string::npos) << shown;
}

TEST_F(List, patterns_match_labels_as_globs_and_keys_by_their_beginning)
{
    const std::string key = put("saxpy", "1");
    put("saxpy_f64", "2");
    put("gemm", "3");
    put("größe", "4");
    put("a[1]", "5");
    EXPECT_EQ(labels(json_lines_of({"ls", "--json", "saxpy*"})), (std::set<std::string>{"saxpy", "saxpy_f64"}));
    EXPECT_EQ(labels(json_lines_of({"ls", "--json", "?emm"})), (std::set<std::string>{"gemm"}));
    EXPECT_EQ(labels(json_lines_of({"ls", "--json", "[f-h]emm"})), (std::set<std::string>{"gemm"}));
    EXPECT_EQ(labels(json_lines_of({"ls", "--json", "[!a-f]emm"})), (std::set<std::string>{"gemm"}));
    EXPECT_EQ(labels(json_lines_of({"ls", "--json", "gr??e"})), (std::set<std::string>{"größe"}))
        << "a question mark is a character, not a byte";
    EXPECT_EQ(labels(json_lines_of({"ls", "--json", "a[1]"})), (std::set<std::string>{"a[1]"}))
        << "a label is found by its own spelling";
    EXPECT_EQ(labels(json_lines_of({"ls", "--json", key.substr(0, 10)})), (std::set<std::string>{"saxpy"}));
    EXPECT_EQ(labels(json_lines_of({"ls", "--json", "*"})).size(), 5U);
    EXPECT_EQ(hearth({"ls", "sax"}).exit_code, 1) << "a pattern matches the whole label";
}

TEST_F(List, options_beside_the_pattern_choose_among_its_matches)
{
    put("a", "1", {"--target", "sm_80", "--compiler", "nvrtc 12.9"});
    put("b", "2", {"--target", "sm_90", "--compiler", "nvrtc 13.0"});
    put("c", "3", {"--target", "sm_90", "--compiler", "clang"});
    const auto shown = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"ls", "--json"});
        return labels(json_lines_of(words));
    };
    EXPECT_EQ(shown({"--target", "sm_90"}), (std::set<std::string>{"b", "c"}));
    EXPECT_EQ(shown({"--compiler", "nvrtc"}), (std::set<std::string>{"a", "b"}));
    EXPECT_EQ(shown({"--compiler", "nvrtc 13.*"}), (std::set<std::string>{"b"}));
    EXPECT_EQ(shown({"[ab]", "--target", "sm_90"}), (std::set<std::string>{"b"}));
    EXPECT_EQ(shown({"--older-than", "0s"}).size(), 3U);
    EXPECT_EQ(shown({"--older-than", "1h"}).size(), 0U);
    EXPECT_EQ(hearth({"ls", "--failed"}).exit_code, 1);
    EXPECT_EQ(hearth({"ls", "--failed"}).err, "hearth: Nothing matches --failed.\n");
    EXPECT_EQ(json_of({"export", "some", "--target", "sm_90", "--json"}).at("entries"), 2);
    EXPECT_EQ(json_of({"bundle", "create", "other", "--compiler", "clang", "--json"}).at("entries"), 1);
    EXPECT_EQ(json_of({"rm", "--target", "sm_90", "--json"}).at("removed_entries"), 2);
}

// By which people tell the entries of one file apart.
TEST_F(List, shows_people_target_options_and_status)
{
    {
        Cache opened = Cache::open({.directory = cache.string()}).value();
        Artifact artifact("bytes");
        artifact.metadata = {.label = "k.cu", .target = "sm_90", .options = {"-O3", "-DN=2"}};
        ASSERT_TRUE(opened.insert(Key::of("good"), artifact).ok());
        artifact.status = 6;
        ASSERT_TRUE(opened.insert(Key::of("bad"), artifact).ok());
    }
    const std::string table = hearth({"ls"}).out;
    for (const char* const row : {" TARGET  STATUS  LABEL, OPTIONS\n", "  sm_90   ok      k.cu  -O3 -DN=2\n",
                                  "  sm_90   failed  k.cu  -O3 -DN=2\n"})
        EXPECT_NE(table.find(row), std::string::npos) << table;
}

TEST_F(List, what_hearth_keeps_for_itself_is_shown_only_with_all)
{
    put("k", "1");
    {
        CacheOptions options;
        options.directory = cache.string();
        Artifact fact("2");
        fact.metadata.label = "digest";
        Cache opened = Cache::open(options).value();
        ASSERT_TRUE(opened.insert(Key::of("digest"), std::move(fact), {.kind = EntryKind::derived}).ok());
    }
    EXPECT_EQ(labels(json_lines_of({"ls", "--json"})), (std::set<std::string>{"k"}));
    EXPECT_EQ(labels(json_lines_of({"ls", "--json", "--all"})), (std::set<std::string>{"digest", "k"}));
    EXPECT_TRUE(ends_saying(hearth({"ls", "digest"}), 1, "--all"));
}

TEST_F(List, a_label_that_it_shows_can_be_given_to_show_and_get)
{
    const std::string first = put("key 1", "1", {"--label", "k.cu", "--target", "sm_80"});
    EXPECT_EQ(hearth({"get", "k.cu"}).out, "1");
    EXPECT_EQ(json_of({"show", "k.cu", "--json"}).at("key"), first);
    const std::string second = put("key 2", "2", {"--label", "k.cu", "--target", "sm_90"});
    for (const char* command : {"show", "get"}) {
        const ProcessResult several = hearth({command, "k.cu"});
        EXPECT_TRUE(ends_saying(several, 2, first.substr(0, 12) + " (k.cu, sm_80)"));
        EXPECT_NE(several.err.find(second.substr(0, 12) + " (k.cu, sm_90)"), std::string::npos) << several.err;
    }
    EXPECT_EQ(hearth({"get", "k.cu", "--target", "sm_90"}).out, "2");
    put("k.cu", "3");
    EXPECT_EQ(hearth({"get", "k.cu"}).out, "3") << "the key comes first";
}

TEST_F(List, nothing_that_matches_exits_1_and_an_empty_cache_0)
{
    EXPECT_EQ(hearth({"ls"}).exit_code, 0);
    EXPECT_EQ(hearth({"ls", "--json"}).out, "");
    EXPECT_EQ(hearth({"ls", "no*"}).exit_code, 1);
}

TEST_F(List, sorts_by_what_is_asked_and_stops_at_the_limit)
{
    put("cheap", std::string(10, 'x'), {"--cost", "1ms"});
    put("dear", std::string(10, 'y'), {"--cost", "9s"});
    put("middling", std::string(10, 'z'), {"--cost", "2s"});
    const auto rows = json_lines_of({"ls", "--json", "--sort", "cost", "--limit", "2"});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].at("label"), "dear");
    EXPECT_EQ(rows[1].at("label"), "middling");
    EXPECT_EQ(json_lines_of({"ls", "--json", "--limit", "1"}).size(), 1U);
}

TEST_F(List, labels_of_any_bytes_are_valid_json_and_harmless_on_a_terminal)
{
    const std::string hostile = "evil\x1b]0;owned\x07\x1b[2J\r\n\x7f\xc2\x9b\xff\xe2\x80\xae"
                                "txt.exe";
    put("k", "bytes", {"--label", hostile});
    const auto rows = json_lines_of({"ls", "--json"});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_NE(rows.front().at("label").get<std::string>().find("txt.exe"), std::string::npos);

    for (const auto& words :
         {std::vector<std::string>{"ls"}, {"show", "k"}, {"ls", "--json"}, {"rm", "--dry-run", "*"}}) {
        const std::string shown = hearth(words).out;
        EXPECT_FALSE(holds_control_characters(shown)) << shown;
        EXPECT_EQ(shown.find("\xe2\x80\xae"), std::string::npos) << "turns the writing direction";
        EXPECT_NE(shown.find("txt.exe"), std::string::npos);
    }
    const ProcessResult missed = hearth({"get", hostile});
    EXPECT_FALSE(holds_control_characters(missed.err)) << "an error repeats what was given";
}

TEST_F(List, unicode_labels_are_shown_as_they_are)
{
    put("größe 漢字", "bytes");
    EXPECT_NE(hearth({"ls"}).out.find("größe 漢字"), std::string::npos);
}

TEST_F(List, listing_and_showing_are_not_lookups)
{
    put("k", "bytes");
    hearth({"ls"});
    hearth({"ls", "--json", "k*"});
    hearth({"show", "k"});
    hearth({"show", "absent"});
    EXPECT_EQ(json_of({"stats", "--json"}).at("lookups"), 0);
    EXPECT_EQ(json_lines_of({"ls", "--json"}).at(0).at("uses"), 0);
}

TEST_F(Show, has_metadata_sections_and_request_fields)
{
    const std::string key = put("saxpy", "12345", {"--target", "sm_90", "--cost", "20ms"});
    const auto shown = json_of({"show", "saxpy", "--json"});
    EXPECT_EQ(shown.at("key"), key);
    EXPECT_EQ(shown.at("label"), "saxpy");
    EXPECT_EQ(shown.at("target"), "sm_90");
    EXPECT_EQ(shown.at("bytes"), 5);
    EXPECT_EQ(shown.at("status"), 0);
    EXPECT_EQ(shown.at("tiers"), nlohmann::json({"disk"}));
    ASSERT_EQ(shown.at("sections").size(), 1U);
    EXPECT_EQ(shown.at("sections").at(0).at("bytes"), 5);
    bool explained = false;
    for (const auto& field : shown.at("request"))
        explained = explained || field.at("value") == "saxpy";
    EXPECT_TRUE(explained) << shown.dump(2);

    const ProcessResult people = hearth({"show", key.substr(0, 12)});
    EXPECT_EQ(people.exit_code, 0);
    for (const char* text : {"sm_90", "saxpy", "20 ms", "(unnamed)"})
        EXPECT_NE(people.out.find(text), std::string::npos) << text << " in\n" << people.out;
}

TEST_F(Show, a_bare_key_says_that_its_request_is_not_known)
{
    const std::string key(64, 'b');
    put(key, "bytes");
    EXPECT_EQ(json_of({"show", key, "--json"}).at("request"), nlohmann::json::array());
    EXPECT_EQ(hearth({"show", key}).exit_code, 0);
}

TEST_F(Show, an_absent_entry_exits_1)
{
    EXPECT_TRUE(ends_saying(hearth({"show", "nope"}), 1, "absent"));
}

TEST_F(Remove, removes_what_matches_and_says_how_many)
{
    put("test_a", "1");
    put("test_b", "2");
    put("kept", "3");
    const auto answer = json_of({"rm", "test_*", "--json"});
    EXPECT_EQ(answer.at("removed_entries"), 2);
    EXPECT_EQ(hearth({"get", "test_a"}).exit_code, 1);
    EXPECT_EQ(hearth({"get", "kept"}).exit_code, 0);
    EXPECT_TRUE(ends_printing(hearth({"rm", "kept"}), 0, "1 entry"));
}

TEST_F(Remove, a_dry_run_removes_nothing)
{
    put("k", "bytes");
    EXPECT_TRUE(ends_printing(hearth({"rm", "--dry-run", "*"}), 0, "k"));
    EXPECT_EQ(hearth({"get", "k"}).exit_code, 0);
}

TEST_F(Remove, takes_the_key_itself_whatever_its_label)
{
    put("a[1]*", "bytes", {"--label", "something else"});
    put("a1", "other");
    EXPECT_EQ(json_of({"rm", "a[1]*", "--json"}).at("removed_entries"), 2)
        << "the key by its spelling, the label by the glob";
}

TEST_F(Remove, an_empty_pattern_does_not_take_everything_without_a_label)
{
    put(std::string(64, 'c'), "bytes");
    EXPECT_EQ(hearth({"rm", ""}).exit_code, 1);
    EXPECT_EQ(json_lines_of({"ls", "--json"}).size(), 1U);
}

TEST_F(Remove, nothing_that_matches_exits_1)
{
    EXPECT_EQ(hearth({"rm", "nothing*"}).exit_code, 1);
}

TEST_F(Show, options_beside_an_exact_key_hold_for_get_and_show)
{
    const std::string key = put("k", "bytes", {"--target", "sm_80", "--compiler", "nvrtc 13.0"});
    for (const std::string& name : {std::string("k"), key}) {
        for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
                 {"--target", "sm_90"}, {"--compiler", "clang"}, {"--failed"}, {"--older-than", "30d"}})
            for (const char* command : {"get", "show"}) {
                std::vector<std::string> words{command, name};
                words.insert(words.end(), options.begin(), options.end());
                const ProcessResult result = hearth(words);
                EXPECT_EQ(result.exit_code, 1) << command << options[0];
                EXPECT_EQ(result.out, "");
                EXPECT_NE(result.err.find("Nothing matches"), std::string::npos) << result.err;
            }
        EXPECT_EQ(hearth({"get", name, "--target", "sm_80", "--compiler", "nvrtc"}).out, "bytes");
    }
    EXPECT_EQ(nlohmann::json::parse(hearth({"get", "k", "--failed", "--json", "-o", "out"}).out).at("hit"), false);

    put("other", "of another", {"--label", "k", "--target", "sm_90"});
    EXPECT_EQ(hearth({"get", "k"}).out, "bytes");
    EXPECT_EQ(hearth({"get", "k", "--target", "sm_90"}).out, "of another");
}

}  // namespace hearth::test
