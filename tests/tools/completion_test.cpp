// What shells complete, asked of the shells themselves: words are typed on a terminal, and a key inserts every
// completion.
#include "command.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

Words words_of(std::string_view text, char separator)
{
    Words words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        if (end != 0)
            words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

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

    std::string shell;
};

}  // namespace

TEST_P(Completion, offers_commands_and_their_parts)
{
    EXPECT_EQ(offered("hearth bund"), Words{"bundle"});
    EXPECT_EQ(offered("hearth buil"), Words{"build"}) << "and nothing that is not for people";
    const Words parts{"create", "diff", "from-oci", "ls", "merge", "oci", "verify"};
    EXPECT_EQ(offered("hearth bundle "), parts);
    EXPECT_EQ(offered("hearth --dir ls bundle "), parts) << "a value of an option is no command";
    for (const std::string& word : offered("hearth ls bundle "))
        EXPECT_EQ(word.front(), '-') << word << ": nor is an argument";
}

TEST_P(Completion, offers_options_and_what_they_take)
{
    EXPECT_EQ(offered("hearth ls --so"), Words{"--sort"});
    EXPECT_EQ(offered("hearth bundle verify --tr"), Words{"--trusted"});
    const Words fields{"cost", "created", "label", "size", "used", "uses"};
    EXPECT_EQ(offered("hearth ls --sort "), fields);
    EXPECT_EQ(offered("hearth ls --sort us"), (Words{"used", "uses"}));
    EXPECT_EQ(offered("hearth compile --emit "), (Words{"binary", "cubin", "ltoir", "ptx"}));
    EXPECT_EQ(offered("hearth ls --target "), Words{}) << "no shell knows targets";
}

TEST_P(Completion, offers_files_where_files_are_meant)
{
    EXPECT_EQ(offered("hearth bundle verify ker"), Words{"kernels.bundle"});
    EXPECT_EQ(offered("hearth bundle create x.bundle --sign-with ker"), Words{"kernels.bundle"});
    EXPECT_EQ(offered("hearth bundle merge a.bundle b.bundle ker"), Words{"kernels.bundle"}) << "as many as there are";
    EXPECT_EQ(offered("hearth --dir k"), Words{"kfolder"}) << "folders only";
    EXPECT_EQ(offered("hearth get ker"), Words{}) << "a key is no file";
}

TEST_P(Completion, offers_behind_the_dashes_what_the_program_would)
{
    EXPECT_EQ(offered("hearth run -- cat ker"), Words{"kernels.bundle"});
    EXPECT_EQ(offered("hearth run --summary -- mkfif"), Words{"mkfifo"});
    EXPECT_EQ(offered("hearth run mkfif"), Words{}) << "not before them";
}

INSTANTIATE_TEST_SUITE_P(Shells, Completion, testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return std::string(shell.param); });

TEST_F(Command, completion_for_an_unknown_shell_says_which_there_are)
{
    EXPECT_TRUE(ends_saying(hearth({"--completion", "csh"}), 2, "\"csh\". Name bash, zsh or fish."));
}

}  // namespace hearth::test
