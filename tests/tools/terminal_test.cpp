// What the command does with its output: terminals, pipes whose reader leaves, full and closed descriptors.
#include "command.hpp"
#include "support/isolated_environment.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace hearth::test {

using cli::progress_line;

namespace {

ProcessOptions on(Output output)
{
    return {.environment = {}, .output = output};
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
    for (const char* line : {"get k", "ls", "ls --json", "show k", "stats", "config", "doctor", "--help"}) {
        const ProcessResult result = hearth(words_of(line), on(Output::reader_left));
        EXPECT_EQ(result.exit_code, 0) << line;
        EXPECT_EQ(result.err, "") << line;
    }
}

TEST_F(Streams, output_that_cannot_be_written_is_a_failure_not_a_silent_success)
{
    put("k", "bytes");
    for (const Output output : {Output::full_device, Output::closed})
        EXPECT_TRUE(is_refused(hearth({"get", "k"}, on(output)), 3));
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
    EXPECT_TRUE(ends_printing(refused, 2, "-o")) << "says what to do instead";
    EXPECT_EQ(refused.out.find("ELF"), std::string::npos);
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

TEST(ProgressLine, has_a_bar_and_numbers)
{
    EXPECT_EQ(progress_line("Exporting", 3, 10, 79), "Exporting [#########.....................]  30 %  3 of 10");
    EXPECT_EQ(progress_line("Exporting", 3, 0, 79), "Exporting 3") << "the total is not known yet";
    EXPECT_EQ(progress_line("Exporting", 12, 10, 79), "Exporting [##############################] 100 %  12 of 10");
}

TEST(ProgressLine, is_never_wider_than_the_terminal)
{
    EXPECT_EQ(progress_line("Exporting", 5, 10, 39), "Exporting [######......]  50 %  5 of 10");
    EXPECT_EQ(progress_line("Exporting", 5, 10, 30), "Exporting  50 %  5 of 10") << "no room for a bar";
    for (std::size_t columns = 0; columns < 90; ++columns)
        for (const std::uint64_t total : {0U, 7U, 1'000'000U})
            EXPECT_LE(progress_line("Verifying", 3, total, columns).size(), columns);
}

}  // namespace hearth::test
