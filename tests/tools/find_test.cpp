// ls, show and rm: metadata survives (30), search by pattern, list and remove (33).
#include "command.hpp"
#include "hearth/api.hpp"
#include "hearth/cache.hpp"

#include <algorithm>
#include <regex>
#include <set>

namespace hearth::test {

namespace {

bool holds_control_characters(const std::string& text)
{
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\n') || byte == 0x7F;
    });
}

class List : public Command {
protected:
    // The labels that ls lists with these words.
    std::set<std::string> shown(const Words& words)
    {
        std::set<std::string> labels;
        for (const auto& row : json_lines_of(joined({"ls", "--json"}, words)))
            labels.insert(row.at("label").get<std::string>());
        return labels;
    }
};

}  // namespace

using Show = Command;
using Remove = Command;

TEST_F(List, json_has_an_object_a_line_with_every_field_and_uses_of_every_process)
{
    put("other", "bytes");
    const std::string key =
        put("saxpy", std::string(50000, 'x'),
            {"--label", "a kernel", "--target", "sm_90", "--compiler", "nvrtc 13.0", "--cost", "1.5s"});
    ASSERT_EQ(json_lines_of({"ls", "--json"}).size(), 2U);
    const auto row = json_of({"ls", "a kernel", "--json"});
    EXPECT_TRUE(holds(row, {{"key", key}, {"label", "a kernel"}, {"target", "sm_90"}, {"compiler", "nvrtc 13.0"}}));
    EXPECT_TRUE(holds(row, {{"bytes", 50000}, {"cost_seconds", 1.5}, {"uses", 0}, {"tier", "disk"}}));
    EXPECT_GT(row.at("stored_bytes").get<int>(), 0);
    EXPECT_LT(row.at("stored_bytes").get<int>(), 50000) << "50000 equal bytes are compressed";
    EXPECT_TRUE(std::regex_match(row.at("created").get<std::string>(),
                                 std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)")));
    EXPECT_TRUE(row.at("last_used").is_null()) << "never used";
    hearth({"get", "saxpy"});
    hearth({"get", "saxpy"});
    const auto used = json_of({"ls", "a kernel", "--json"});
    EXPECT_EQ(used.at("uses"), 2);
    EXPECT_FALSE(used.at("last_used").is_null());
}

TEST_F(List, patterns_match_labels_as_globs_and_keys_by_their_beginning)
{
    const std::string key = put("saxpy", "1");
    put("saxpy_f64", "2");
    put("gemm", "3");
    put("größe", "4");
    put("a[1]", "5");
    put("漢字 b", "6");
    EXPECT_EQ(shown({"saxpy*"}), (std::set<std::string>{"saxpy", "saxpy_f64"}));
    for (const char* pattern : {"?emm", "[f-h]emm", "[!a-f]emm"})
        EXPECT_EQ(shown({pattern}), (std::set<std::string>{"gemm"})) << pattern;
    EXPECT_EQ(shown({"gr??e"}), (std::set<std::string>{"größe"})) << "a question mark is a character, not a byte";
    EXPECT_EQ(shown({"a[1]"}), (std::set<std::string>{"a[1]"})) << "a label is found by its own spelling";
    EXPECT_EQ(shown({key.substr(0, 10)}), (std::set<std::string>{"saxpy"}));
    EXPECT_EQ(shown({"*"}).size(), 6U);
    EXPECT_TRUE(ends_printing(hearth({"ls"}), 0, "größe", "漢字 b"));
    EXPECT_EQ(hearth({"ls", "sax"}).exit_code, 1) << "a pattern matches the whole label";
}

TEST_F(List, options_beside_the_pattern_choose_among_its_matches)
{
    put("a", "1", {"--target", "sm_80", "--compiler", "nvrtc 12.9"});
    put("b", "2", {"--target", "sm_90", "--compiler", "nvrtc 13.0"});
    put("c", "3", {"--target", "sm_90", "--compiler", "clang"});
    EXPECT_EQ(shown({"--target", "sm_90"}), (std::set<std::string>{"b", "c"}));
    EXPECT_EQ(shown({"--compiler", "nvrtc"}), (std::set<std::string>{"a", "b"}));
    EXPECT_EQ(shown({"--compiler", "nvrtc 13.*"}), (std::set<std::string>{"b"}));
    EXPECT_EQ(shown({"[ab]", "--target", "sm_90"}), (std::set<std::string>{"b"}));
    EXPECT_EQ(shown({"--older-than", "0s"}).size(), 3U);
    EXPECT_EQ(shown({"--older-than", "1h"}).size(), 0U);
    EXPECT_TRUE(ends_saying(hearth({"ls", "--failed"}), 1, "hearth: Nothing matches --failed.\n"));
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
    EXPECT_TRUE(ends_printing(hearth({"ls"}), 0, " TARGET  STATUS  LABEL, OPTIONS\n",
                              "  sm_90   ok      k.cu  -O3 -DN=2\n", "  sm_90   failed  k.cu  -O3 -DN=2\n"));
}

TEST_F(List, what_hearth_keeps_for_itself_is_shown_only_with_all)
{
    put("k", "1");
    {
        Artifact fact("2");
        fact.metadata.label = "digest";
        Cache opened = Cache::open({.directory = cache.string()}).value();
        ASSERT_TRUE(opened.insert(Key::of("digest"), std::move(fact), {.kind = EntryKind::derived}).ok());
    }
    EXPECT_EQ(shown({}), (std::set<std::string>{"k"}));
    EXPECT_EQ(shown({"--all"}), (std::set<std::string>{"digest", "k"}));
    EXPECT_TRUE(ends_saying(hearth({"ls", "digest"}), 1, "--all"));
}

TEST_F(List, a_label_that_it_shows_can_be_given_to_show_and_get)
{
    const std::string first = put("key 1", "1", {"--label", "k.cu", "--target", "sm_80"});
    EXPECT_EQ(hearth({"get", "k.cu"}).out, "1");
    EXPECT_EQ(json_of({"show", "k.cu", "--json"}).at("key"), first);
    const std::string second = put("key 2", "2", {"--label", "k.cu", "--target", "sm_90"});
    for (const char* command : {"show", "get"})
        EXPECT_TRUE(ends_saying(hearth({command, "k.cu"}), 2, first.substr(0, 12) + " (k.cu, sm_80)",
                                second.substr(0, 12) + " (k.cu, sm_90)"));
    EXPECT_EQ(hearth({"get", "k.cu", "--target", "sm_90"}).out, "2");
    put("k.cu", "3");
    EXPECT_EQ(hearth({"get", "k.cu"}).out, "3") << "the key comes first";
}

TEST_F(List, nothing_that_matches_exits_1_and_an_empty_cache_0)
{
    EXPECT_EQ(hearth({"ls"}).exit_code, 0);
    EXPECT_EQ(hearth({"ls", "--json"}).out, "");
    EXPECT_EQ(hearth({"ls", "no*"}).exit_code, 1);
    EXPECT_EQ(hearth({"rm", "no*"}).exit_code, 1);
    EXPECT_TRUE(ends_saying(hearth({"show", "nope"}), 1, "absent"));
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

    for (const Words& words : {Words{"ls"}, {"show", "k"}, {"ls", "--json"}, {"rm", "--dry-run", "*"}}) {
        const std::string shown = hearth(words).out;
        EXPECT_FALSE(holds_control_characters(shown)) << shown;
        EXPECT_EQ(shown.find("\xe2\x80\xae"), std::string::npos) << "turns the writing direction";
        EXPECT_NE(shown.find("txt.exe"), std::string::npos);
    }
    const ProcessResult missed = hearth({"get", hostile});
    EXPECT_FALSE(holds_control_characters(missed.err)) << "an error repeats what was given";
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
    EXPECT_TRUE(holds(shown, {{"key", key}, {"label", "saxpy"}, {"target", "sm_90"}, {"bytes", 5}, {"status", 0}}));
    EXPECT_TRUE(holds(shown, {{"sections/0/bytes", 5}, {"writer", HEARTH_VERSION}}));
    EXPECT_EQ(shown.at("tiers"), nlohmann::json({"disk"}));
    EXPECT_EQ(shown.at("sections").size(), 1U);
    bool explained = false;
    for (const auto& field : shown.at("request"))
        explained = explained || field.at("value") == "saxpy";
    EXPECT_TRUE(explained) << shown.dump(2);

    EXPECT_TRUE(ends_printing(hearth({"show", key.substr(0, 12)}), 0, "sm_90", "saxpy", "20 ms", "(unnamed)",
                              "Hearth " HEARTH_VERSION));
}

TEST_F(Show, a_bare_key_has_no_request_and_no_label_that_an_empty_pattern_would_take)
{
    const std::string key(64, 'b');
    put(key, "bytes");
    EXPECT_EQ(json_of({"show", key, "--json"}).at("request"), nlohmann::json::array());
    EXPECT_EQ(hearth({"show", key}).exit_code, 0);
    EXPECT_EQ(hearth({"rm", ""}).exit_code, 1);
    EXPECT_EQ(json_lines_of({"ls", "--json"}).size(), 1U);
}

TEST_F(Remove, removes_what_matches_and_says_how_many)
{
    put("test_a", "1");
    put("test_b", "2");
    put("kept", "3");
    EXPECT_EQ(json_of({"rm", "test_*", "--json"}).at("removed_entries"), 2);
    EXPECT_EQ(hearth({"get", "test_a"}).exit_code, 1);
    EXPECT_TRUE(ends_printing(hearth({"rm", "--dry-run", "*"}), 0, "kept"));
    EXPECT_EQ(hearth({"get", "kept"}).exit_code, 0) << "a dry run removes nothing";
    EXPECT_TRUE(ends_printing(hearth({"rm", "kept"}), 0, "1 entry"));
}

TEST_F(Remove, takes_the_key_itself_whatever_its_label)
{
    put("a[1]*", "bytes", {"--label", "something else"});
    put("a1", "other");
    EXPECT_EQ(json_of({"rm", "a[1]*", "--json"}).at("removed_entries"), 2)
        << "the key by its spelling, the label by the glob";
}

TEST_F(Show, options_beside_an_exact_key_hold_for_get_and_show)
{
    const std::string key = put("k", "bytes", {"--target", "sm_80", "--compiler", "nvrtc 13.0"});
    for (const std::string& name : {std::string("k"), key}) {
        for (const char* option : {"--target=sm_90", "--compiler=clang", "--failed", "--older-than=30d"})
            for (const char* command : {"get", "show"}) {
                const ProcessResult result = hearth({command, name, option});
                EXPECT_TRUE(ends_saying(result, 1, "Nothing matches")) << command << option;
                EXPECT_EQ(result.out, "");
            }
        EXPECT_EQ(hearth({"get", name, "--target", "sm_80", "--compiler", "nvrtc"}).out, "bytes");
    }
    EXPECT_EQ(object_of(hearth({"get", "k", "--failed", "--json", "-o", "out"})).at("hit"), false);

    put("other", "of another", {"--label", "k", "--target", "sm_90"});
    EXPECT_EQ(hearth({"get", "k"}).out, "bytes");
    EXPECT_EQ(hearth({"get", "k", "--target", "sm_90"}).out, "of another");
}

}  // namespace hearth::test
