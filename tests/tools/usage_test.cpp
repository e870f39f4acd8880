// Help, wrong usage and places where no cache can be: a clear sentence and the right exit code.
#include "command.hpp"

#include <fstream>
#include <regex>

#include <unistd.h>

namespace hearth::test {

namespace {

// Each command in a form that needs the cache's directory.
const char* const k_cache_users =
    "put k -; get k; ls; show k; stats; gc; verify; rm k; clear --yes; report -o page.html; doctor; export file; "
    "import file; prewarm --top 1; carry capture ./tree; carry restore ./tree";

class BadDirectory : public Command {
protected:
    void expect_refused(const std::string& directory, const std::string& why)
    {
        for (const std::string& line : words_of(k_cache_users, ';')) {
            const Words words = joined({"--dir", directory}, words_of(line));
            EXPECT_TRUE(is_refused(hearth(words), 3, why)) << line;
        }
    }
};

}  // namespace

using Help = Command;
using WrongUsage = Command;

TEST_F(Help, the_usage_line_shows_what_is_passed_on)
{
    EXPECT_TRUE(ends_printing(hearth({"run", "--help"}), 0, "Usage: hearth run [options] -- COMMAND\n"));
    EXPECT_TRUE(
        ends_printing(hearth({"compile", "--help"}), 0, "Usage: hearth compile [options] FILE... [-- OPTIONS]\n"));
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
    const char* const wrong =
        "nonsense; --nonsense; --dir; ls --nonsense; ls --sort x; ls --limit 0; ls a b; put; put k; put k f x; "
        "put k f --cost long; get; show; rm; config --preset x; gc --max-bytes; export; import; bundle create; "
        "bundle ls; bundle merge out; bundle diff out old; bundle verify x --trusted; prewarm; prewarm --top 0; "
        "prewarm --top 1 --bundle b; prewarm --top 1 --no-compile; prewarm --bundle b --no-compile; "
        "prewarm --bundle b --rate fast; prewarm --recipes r --jobs 0; carry capture; carry restore ./t --max-files 0; "
        "carry capture ./t --sign-with k; build; build r --jobs 0; recipes merge out";
    for (const std::string& line : words_of(wrong, ';')) {
        const ProcessResult result = hearth(words_of(line));
        EXPECT_TRUE(is_refused(result, 2, "--help")) << line;
        EXPECT_EQ(result.out, "");
    }
    EXPECT_FALSE(std::filesystem::exists(cache));
    EXPECT_TRUE(ends_saying(hearth({"bundle", "nonsense"}), 2, "'hearth bundle --help'"));
    EXPECT_TRUE(ends_saying(hearth({"bundle", "create"}), 2, "'hearth bundle create --help'"));
    EXPECT_TRUE(is_refused(hearth({"build", "r", "--sign-with", "k"}), 2, "--sign-with"));
    EXPECT_TRUE(is_refused(hearth({"--completion", "csh"}), 2, "\"csh\". Name bash, zsh or fish."));
}

TEST_F(WrongUsage, no_command_at_all_shows_the_help_on_standard_error)
{
    const ProcessResult result = hearth({});
    EXPECT_TRUE(ends_saying(result, 2, "Usage: hearth"));
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(ends_saying(hearth({"bundle"}), 2, "Usage: hearth bundle ", "create"));
    EXPECT_TRUE(ends_saying(hearth({"recipes"}), 2, "Usage: hearth recipes "));
}

TEST_F(BadDirectory, a_file_in_its_place_is_a_failure_with_a_sentence)
{
    const auto file = write("file", "I am not a directory");
    expect_refused(file.string(), file.string());
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
    expect_refused(foreign.string(), "");
    if (::geteuid() == 0) {
        EXPECT_EQ(snapshot(foreign).size(), 1U);
        EXPECT_EQ(read(foreign / "theirs"), "theirs");
    }
}

TEST_F(BadDirectory, one_that_cannot_be_made_is_a_failure_with_a_sentence)
{
    const std::string below_a_file = (write("file", "") / "hearth").string();
    expect_refused(below_a_file, below_a_file);
    EXPECT_TRUE(is_refused(hearth({"--dir", "/proc/nowhere/hearth", "put", "k", "-"}), 3));
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
    for (const char* line : {"put k2 -", "rm k", "clear --yes", "gc", "stats --reset", "verify --repair"})
        EXPECT_TRUE(is_refused(hearth(words_of(line), options), 3)) << line;
    EXPECT_EQ(hearth({"get", "k"}).out, "bytes");
}

TEST_F(WrongUsage, the_command_or_option_that_was_probably_meant_is_named)
{
    for (const auto& [line, said] :
         std::map<const char*, const char*>{{"complie", "Did you mean compile?"},
                                            {"bundle creat", "Did you mean create?"},
                                            {"run --sumary -- true", "Did you mean --summary?"},
                                            {"run --sumary true", "Did you mean --summary?"},
                                            {"compile k.cu --traget=sm_90", "Did you mean --target?"},
                                            {"why k.cu --jsn -- -G", "Did you mean --json?"},
                                            {"ls --jsno", "Did you mean --json?"},
                                            {"run --nonsense -- true", "There is no option \"--nonsense\"."},
                                            {"compile k.cu -std=c++20", "Put -- before"}})
        EXPECT_TRUE(ends_saying(hearth(words_of(line)), 2, said)) << line;
    EXPECT_EQ(hearth({"nonsense"}).err.find("Did you mean"), std::string::npos);
}

}  // namespace hearth::test
