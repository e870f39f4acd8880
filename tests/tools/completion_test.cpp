// What shells complete, asked of the shells themselves: words are typed on a terminal, and a key inserts every
// completion.
#include "command.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Completion : public Command, public testing::WithParamInterface<const char*> {
protected:
    void SetUp() override
    {
        shell = std::string("/usr/bin/") + GetParam();
        if (!fs::exists(shell))
            GTEST_SKIP() << shell << " is not installed";
        const ProcessResult script = hearth({"--completion", GetParam()});
        ASSERT_EQ(script.exit_code, 0) << script.err;
        fs::create_directory(scratch / "functions");
        write("functions/_hearth", script.out);
        fs::create_directory(scratch / "kfolder");
        write("kernels.bundle", "");
        write("kfolder/inner.bundle", "");
        // Instead of the command: it prints its words, and so every completion that was put before it.
        write("bashrc", "PS1='$ '\nbind 'set enable-bracketed-paste off' 2>/dev/null\nsource functions/_hearth\n"
                        "hearth() { printf 'SAW'; printf '|%s' \"$@\"; printf '|\\n'; }\n");
        write(".zshrc", "PS1='$ '\nsetopt no_prompt_sp\nfpath=($ZDOTDIR/functions $fpath)\n"
                        "autoload -U compinit\ncompinit -u -D\n"
                        "insert-all() { _main_complete; compstate[insert]=all; compstate[list]= }\n"
                        "zle -C insert-all complete-word insert-all\nbindkey '^T' insert-all\n"
                        "hearth() { print -r -- \"SAW|${(j:|:)@}|\" }\n");
    }

    // What is offered behind `typed`, in order.
    Words offered(const std::string& typed)
    {
        ProcessOptions options{.environment = {{"HOME", (scratch / "home").string()},
                                               {"ZDOTDIR", scratch.string()},
                                               {"TERM", "vt100"},
                                               {"INPUTRC", "/dev/null"},
                                               {"HISTFILE", "/dev/null"}},
                               .directory = scratch.string()};
        const std::string name = GetParam();
        Words found;
        if (name == "fish") {
            const std::string asked = fmt::format("source functions/_hearth; complete -C '{}'", typed);
            const ProcessResult result = run_process({shell, "--no-config", "-c", asked}, options);
            EXPECT_EQ(result.exit_code, 0) << result.err;
            for (const std::string& line : words_of(result.out, '\n'))
                found.push_back(line.substr(0, line.find('\t')));
        } else {
            options.output = Output::terminal;
            options.input = typed + (name == "bash" ? "\033*" : "\024") + "\nexit\n";
            const Words command =
                name == "bash" ? Words{shell, "--noprofile", "--rcfile", scratch / "bashrc", "-i"} : Words{shell, "-i"};
            const ProcessResult result = run_process(command, options);
            const std::size_t saw = result.out.find("SAW|");
            EXPECT_NE(saw, std::string::npos) << result.out;
            if (saw == std::string::npos)
                return {};
            const std::string_view line = std::string_view(result.out).substr(saw + 4);
            found = words_of(line.substr(0, line.find_first_of("\r\n")), '|');
            // What was typed before the word that is completed stays, and is no offer.
            const Words before = words_of(std::string_view(typed).substr(0, typed.find_last_of(' ')), ' ');
            found.erase(found.begin(), found.begin() + static_cast<long>(std::min(before.size() - 1, found.size())));
            const std::string last = typed.substr(typed.find_last_of(' ') + 1);
            if (found == Words{last})
                found.clear();  // nothing was offered, so that the word stayed
        }
        for (std::string& word : found)
            if (word.ends_with('/'))  // some shells say that it is a folder
                word.pop_back();
        std::sort(found.begin(), found.end());
        return found;
    }

    void expect_offered(const std::map<std::string, Words>& by_typed)
    {
        for (const auto& [typed, words] : by_typed)
            EXPECT_EQ(offered("hearth " + typed), words) << typed;
    }

    std::string shell;
};

}  // namespace

TEST_P(Completion, offers_commands_and_their_parts)
{
    const Words parts{"create", "diff", "from-oci", "ls", "merge", "oci", "verify"};
    expect_offered({{"bund", {"bundle"}},
                    {"buil", {"build"}},  // and nothing that is not for people
                    {"bundle ", parts},
                    {"--dir ls bundle ", parts}});  // a value of an option is no command
    for (const std::string& word : offered("hearth ls bundle "))
        EXPECT_EQ(word.front(), '-') << word << ": nor is an argument";
}

TEST_P(Completion, offers_options_and_what_they_take)
{
    expect_offered({{"ls --so", {"--sort"}},
                    {"bundle verify --tr", {"--trusted"}},
                    {"ls --sort ", {"cost", "created", "label", "size", "used", "uses"}},
                    {"ls --sort us", {"used", "uses"}},
                    {"compile --emit ", {"binary", "cubin", "ltoir", "ptx"}},
                    {"ls --target ", {}}});  // no shell knows targets
}

TEST_P(Completion, offers_files_where_files_are_meant)
{
    expect_offered({{"bundle verify ker", {"kernels.bundle"}},
                    {"bundle create x.bundle --sign-with ker", {"kernels.bundle"}},
                    {"bundle merge a.bundle b.bundle ker", {"kernels.bundle"}},  // as many as there are
                    {"--dir k", {"kfolder"}},                                    // folders only
                    {"get ker", {}}});                                           // a key is no file
}

TEST_P(Completion, offers_behind_the_dashes_what_the_program_would)
{
    expect_offered({{"run -- cat ker", {"kernels.bundle"}},
                    {"run --summary -- mkfif", {"mkfifo"}},
                    {"run mkfif", {}}});  // not before them
}

INSTANTIATE_TEST_SUITE_P(Shells, Completion, testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return std::string(shell.param); });

}  // namespace hearth::test
