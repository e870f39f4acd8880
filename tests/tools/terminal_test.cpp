// What the command does with its output: terminals, pipes whose reader leaves, full and closed descriptors.
#include "command.hpp"
#include "support/isolated_environment.hpp"
#include "terminal/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace hearth::test {

namespace {

ProcessOptions on(Output output)
{
    ProcessOptions options;
    options.output = output;
    return options;
}

bool holds_escapes(const std::string& text)
{
    return text.find('\x1b') != std::string::npos;
}

}  // namespace

using Streams = Command;

TEST_F(Streams, a_reader_that_leaves_ends_the_command_quietly)
{
    put("k", noise(1 << 20));
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"get", "k"}, {"ls"}, {"ls", "--json"}, {"show", "k"}, {"stats"}, {"config"}, {"doctor"}, {"--help"}}) {
        const ProcessResult result = hearth(words, on(Output::reader_left));
        EXPECT_EQ(result.exit_code, 0) << words.front();
        EXPECT_EQ(result.err, "") << words.front();
    }
}

TEST_F(Streams, output_that_cannot_be_written_is_a_failure_not_a_silent_success)
{
    put("k", "bytes");
    for (const Output output : {Output::full_device, Output::closed}) {
        const ProcessResult result = hearth({"get", "k"}, on(output));
        EXPECT_EQ(result.exit_code, 3);
        EXPECT_EQ(result.err.rfind("hearth: ", 0), 0U) << result.err;
    }
    const auto before = snapshot(cache);
    hearth({"ls"}, on(Output::closed));
    EXPECT_EQ(snapshot(cache), before) << "output must not end up in a file of the cache";
}

TEST_F(Streams, colours_are_for_terminals_and_not_with_no_color)
{
    put("k", "bytes");
    EXPECT_TRUE(holds_escapes(hearth({"ls"}, on(Output::terminal)).out));
    EXPECT_FALSE(holds_escapes(hearth({"ls"}).out));
    ProcessOptions plain = on(Output::terminal);
    plain.environment["NO_COLOR"] = "1";
    EXPECT_FALSE(holds_escapes(hearth({"ls"}, plain).out));
    EXPECT_FALSE(holds_escapes(hearth({"ls", "--json"}, on(Output::terminal)).out));
}

// What colours and the progress bar go by.
TEST_F(Streams, a_dumb_terminal_is_sent_no_escapes)
{
    IsolatedEnvironment environment;
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(terminal, 0);
    environment.set("TERM", "xterm");
    EXPECT_TRUE(cli::obeys_escapes(terminal));
    environment.set("TERM", "dumb");
    EXPECT_FALSE(cli::obeys_escapes(terminal));
    ::close(terminal);
}

TEST_F(Streams, a_long_label_is_cut_on_a_terminal_and_whole_in_a_pipe)
{
    const std::string label(300, 'x');
    put("k", "bytes", {"--label", label});
    EXPECT_EQ(hearth({"ls"}, on(Output::terminal)).out.find(label), std::string::npos);
    EXPECT_NE(hearth({"ls"}).out.find(label), std::string::npos);
}

TEST_F(Streams, binary_is_not_thrown_at_a_terminal_unless_asked_for)
{
    put("binary", std::string("\x7f"
                              "ELF\x00\x01",
                              6));
    put("text", "plain text\n");
    const ProcessResult refused = hearth({"get", "binary"}, on(Output::terminal));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.out.find("ELF"), std::string::npos);
    EXPECT_NE(refused.out.find("-o"), std::string::npos) << "says what to do instead";
    EXPECT_EQ(hearth({"get", "binary", "-o", "-"}, on(Output::terminal)).exit_code, 0);
    EXPECT_EQ(hearth({"get", "text"}, on(Output::terminal)).exit_code, 0);
    EXPECT_EQ(hearth({"get", "binary"}).exit_code, 0) << "a pipe takes anything";
}

TEST_F(Streams, clear_asks_on_a_terminal_and_obeys_the_answer)
{
    put("k", "bytes");
    ProcessOptions options = on(Output::terminal);
    options.input = "n\n";
    EXPECT_TRUE(ends_printing(hearth({"clear"}, options), 1, "Remove 1 entry"));
    EXPECT_EQ(hearth({"get", "k"}).exit_code, 0);

    options.input = "y\n";
    EXPECT_EQ(hearth({"clear"}, options).exit_code, 0);
    EXPECT_EQ(hearth({"get", "k"}).exit_code, 1);
}

}  // namespace hearth::test
