// Help, wrong usage and places where no cache can be: a clear sentence and the right exit code.
#include "command.hpp"

#include <fstream>
#include <regex>

#include <unistd.h>

namespace hearth::test {

namespace {

const std::vector<std::string> k_commands{"put",    "get",    "ls",    "show",   "stats",  "gc",
                                          "verify", "rm",     "clear", "export", "import", "report",
                                          "doctor", "config", "build", "prewarm"};

// Each command in a form that needs the cache's directory.
const std::vector<std::vector<std::string>> k_cache_users{{"put", "k", "-"},
                                                          {"get", "k"},
                                                          {"ls"},
                                                          {"show", "k"},
                                                          {"stats"},
                                                          {"report", "-o", "page.html"},
                                                          {"gc"},
                                                          {"verify"},
                                                          {"rm", "k"},
                                                          {"clear", "--yes"},
                                                          {"export", "file"},
                                                          {"import", "file"},
                                                          {"doctor"},
                                                          {"prewarm", "--top", "1"},
                                                          {"carry", "capture", "./tree"},
                                                          {"carry", "restore", "./tree"}};

}  // namespace

using Help = Command;
using WrongUsage = Command;
using BadDirectory = Command;

TEST_F(Help, names_every_command_and_exits_0)
{
    const ProcessResult result = hearth({"--help"});
    EXPECT_EQ(result.exit_code, 0);
    for (const std::string& command : k_commands)
        EXPECT_NE(result.out.find("\n  " + command + " "), std::string::npos) << command;
}

TEST_F(Help, every_command_has_a_sentence_options_and_examples)
{
    for (const std::string& command : k_commands) {
        const ProcessResult result = hearth({command, "--help"});
        EXPECT_TRUE(ends_printing(result, 0, "Usage: hearth " + command)) << command;
        EXPECT_NE(result.out.find("--dir DIR"), std::string::npos) << result.out;
        EXPECT_NE(result.out.find("--json"), std::string::npos) << result.out;
        const std::size_t examples = result.out.find("Examples:\n  ");
        ASSERT_NE(examples, std::string::npos) << result.out;
        EXPECT_NE(result.out.find("hearth", examples), std::string::npos) << result.out;
    }
}

TEST_F(Help, examples_set_variables_only_for_programs_that_heed_them)
{
    const std::regex variables("\n  ([A-Z_]+=('[^']*'|\\S*) )+");
    int found = 0;
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{"build"},
                                                                                         {"bundle"},
                                                                                         {"bundle", "diff"},
                                                                                         {"carry"},
                                                                                         {"carry", "restore"},
                                                                                         {"keygen"},
                                                                                         {"push"},
                                                                                         {"pull"},
                                                                                         {"recipes"}}) {
        std::vector<std::string> words = command;
        words.emplace_back("--help");
        const std::string help = hearth(words).out;
        const std::string examples = help.substr(help.find("Examples:"));
        for (std::sregex_iterator at(examples.begin(), examples.end(), variables), end; at != end; ++at, ++found)
            EXPECT_TRUE(at->suffix().str().starts_with("hearth "))
                << "nothing happens by " << at->str() << at->suffix();
    }
    EXPECT_GT(found, 5);
}

TEST_F(Help, the_usage_line_shows_what_is_passed_on)
{
    EXPECT_NE(hearth({"run", "--help"}).out.find("Usage: hearth run [options] -- COMMAND\n"), std::string::npos);
    EXPECT_NE(hearth({"compile", "--help"}).out.find("Usage: hearth compile [options] FILE... [-- OPTIONS]\n"),
              std::string::npos);
}

TEST_F(Help, the_version_has_the_commit_the_compilers_and_the_kinds_of_servers)
{
    const ProcessResult result = hearth({"--version"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(std::regex_match(result.out, std::regex("hearth [0-9.]+ \\(commit ([0-9a-f]{12,}|unknown)\\)\n"
                                                        "compilers: [^\n]+\nservers: [^\n]+\n")))
        << result.out;
}

TEST_F(WrongUsage, exits_2_with_a_hint_at_help_and_touches_nothing)
{
    const std::vector<std::vector<std::string>> wrong{{"nonsense"},
                                                      {"--nonsense"},
                                                      {"ls", "--nonsense"},
                                                      {"put"},
                                                      {"put", "k"},
                                                      {"get"},
                                                      {"put", "k", "f", "x"},
                                                      {"ls", "--sort", "x"},
                                                      {"show"},
                                                      {"config", "--preset", "x"},
                                                      {"--dir"},
                                                      {"ls", "--dir", ""},
                                                      {"gc", "--max-bytes"},
                                                      {"rm"},
                                                      {"put", "k", "f", "--cost", "long"},
                                                      {"export"},
                                                      {"import"},
                                                      {"ls", "--limit", "0"},
                                                      {"ls", "a", "b"},
                                                      {"prewarm"},
                                                      {"prewarm", "--top", "0"},
                                                      {"prewarm", "--top", "1", "--bundle", "b"},
                                                      {"prewarm", "--top", "1", "--no-compile"},
                                                      {"prewarm", "--bundle", "b", "--rate", "fast"},
                                                      {"carry", "capture"},
                                                      {"carry", "restore", "./t", "--max-files", "0"},
                                                      {"carry", "capture", "./t", "--sign-with", "k"}};
    for (const auto& words : wrong) {
        const ProcessResult result = hearth(words);
        EXPECT_EQ(result.exit_code, 2) << words.front();
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(result.err.rfind("hearth: ", 0), 0U) << result.err;
        EXPECT_NE(result.err.find("--help"), std::string::npos) << result.err;
    }
    EXPECT_FALSE(std::filesystem::exists(cache));
}

TEST_F(WrongUsage, a_command_that_was_probably_meant_is_named)
{
    EXPECT_NE(hearth({"complie"}).err.find("Did you mean compile?"), std::string::npos);
    EXPECT_NE(hearth({"bundle", "creat"}).err.find("Did you mean create?"), std::string::npos);
    EXPECT_EQ(hearth({"nonsense"}).err.find("Did you mean"), std::string::npos);
}

TEST_F(WrongUsage, no_command_at_all_shows_the_help_on_standard_error)
{
    const ProcessResult result = hearth({});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find("Usage: hearth"), std::string::npos);
}

TEST_F(BadDirectory, a_file_in_its_place_is_a_failure_with_a_sentence)
{
    const auto file = write("file", "I am not a directory");
    write("input", "");
    for (auto words : k_cache_users) {
        words.insert(words.begin(), {"--dir", file.string()});
        const ProcessResult result = hearth(words);
        EXPECT_EQ(result.exit_code, 3) << words[2];
        EXPECT_EQ(result.err.rfind("hearth: ", 0), 0U) << result.err;
        EXPECT_NE(result.err.find(file.string()), std::string::npos) << result.err;
    }
    EXPECT_EQ(read(file), "I am not a directory");
}

TEST_F(BadDirectory, one_that_belongs_to_another_user_is_refused_and_left_alone)
{
    std::filesystem::path foreign = "/usr";
    if (::geteuid() == 0) {
        foreign = scratch / "foreign";
        std::filesystem::create_directory(foreign);
        std::ofstream(foreign / "theirs") << "theirs";
        ASSERT_EQ(::chown(foreign.c_str(), 65534, 65534), 0);
    }
    for (auto words : k_cache_users) {
        words.insert(words.begin(), {"--dir", foreign.string()});
        const ProcessResult result = hearth(words);
        EXPECT_EQ(result.exit_code, 3) << words[2];
        EXPECT_EQ(result.err.rfind("hearth: ", 0), 0U) << result.err;
    }
    if (::geteuid() == 0) {
        EXPECT_EQ(snapshot(foreign).size(), 1U);
        EXPECT_EQ(read(foreign / "theirs"), "theirs");
    }
}

TEST_F(BadDirectory, one_that_cannot_be_made_is_a_failure_with_a_sentence)
{
    const std::string below_a_file = (write("file", "") / "hearth").string();
    for (const auto& words : std::vector<std::vector<std::string>>{{"put", "k", "-"}, {"gc"}, {"ls"}, {"doctor"}}) {
        std::vector<std::string> all{"--dir", below_a_file};
        all.insert(all.end(), words.begin(), words.end());
        const ProcessResult result = hearth(all);
        EXPECT_EQ(result.exit_code, 3) << words.front();
        EXPECT_EQ(result.err.rfind("hearth: ", 0), 0U) << result.err;
        EXPECT_NE(result.err.find(below_a_file), std::string::npos) << result.err;
    }
    EXPECT_EQ(hearth({"--dir", "/proc/nowhere/hearth", "put", "k", "-"}).exit_code, 3);
}

TEST_F(BadDirectory, one_that_does_not_exist_is_an_empty_cache_and_stays_away)
{
    EXPECT_EQ(hearth({"ls"}).exit_code, 0);
    EXPECT_EQ(hearth({"get", "k"}).exit_code, 1);
    EXPECT_EQ(hearth({"rm", "k"}).exit_code, 1);
    EXPECT_EQ(hearth({"verify"}).exit_code, 0);
    EXPECT_EQ(json_of({"stats", "--json"}).at("tiers").size(), 2U);
}

TEST_F(BadDirectory, a_read_only_cache_can_be_read_and_refuses_to_change)
{
    put("k", "bytes");
    const ProcessOptions options{.environment = {{"HEARTH_READ_ONLY", "1"}}};
    EXPECT_EQ(hearth({"get", "k"}, options).out, "bytes");
    EXPECT_EQ(hearth({"ls"}, options).exit_code, 0);
    for (const auto& words : std::vector<std::vector<std::string>>{{"put", "k2", "-"},
                                                                   {"rm", "k"},
                                                                   {"clear", "--yes"},
                                                                   {"gc"},
                                                                   {"stats", "--reset"},
                                                                   {"verify", "--repair"}}) {
        const ProcessResult result = hearth(words, options);
        EXPECT_EQ(result.exit_code, 3) << words.front();
        EXPECT_EQ(result.err.rfind("hearth: ", 0), 0U) << result.err;
    }
    EXPECT_EQ(hearth({"get", "k"}).out, "bytes");
}

TEST_F(WrongUsage, an_option_that_was_probably_meant_is_named)
{
    EXPECT_NE(hearth({"run", "--sumary", "--", "true"}).err.find("Did you mean --summary?"), std::string::npos);
    EXPECT_NE(hearth({"run", "--sumary", "true"}).err.find("Did you mean --summary?"), std::string::npos);
    EXPECT_NE(hearth({"compile", "k.cu", "--traget=sm_90"}).err.find("Did you mean --target?"), std::string::npos);
    EXPECT_NE(hearth({"why", "k.cu", "--jsn", "--", "-G"}).err.find("Did you mean --json?"), std::string::npos);
    EXPECT_NE(hearth({"ls", "--jsno"}).err.find("Did you mean --json?"), std::string::npos);

    EXPECT_TRUE(ends_saying(hearth({"run", "--nonsense", "--", "true"}), 2, "There is no option \"--nonsense\"."));
    EXPECT_NE(hearth({"compile", "k.cu", "-std=c++20"}).err.find("Put -- before"), std::string::npos);
}

TEST_F(WrongUsage, a_command_without_its_part_shows_its_whole_name)
{
    EXPECT_NE(hearth({"bundle"}).err.find("Usage: hearth bundle "), std::string::npos) << hearth({"bundle"}).err;
}

}  // namespace hearth::test
