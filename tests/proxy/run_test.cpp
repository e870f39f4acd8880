// `hearth run`: the command is served, and otherwise runs as it would without.
#include "served.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Run : public Served {};

}  // namespace

TEST_F(Run, ends_as_the_command_ends)
{
    for (const std::vector<std::string>& with : {std::vector<std::string>{}, {"--summary"}}) {
        std::vector<std::string> words{"run"};
        words.insert(words.end(), with.begin(), with.end());
        const auto run = [&](const std::vector<std::string>& program) {
            std::vector<std::string> all = words;
            all.emplace_back("--");
            all.insert(all.end(), program.begin(), program.end());
            all.insert(all.begin(), HEARTH_COMMAND);
            return run_process(all, {.environment = {{"HEARTH_DIR", cache.string()}}});
        };
        EXPECT_EQ(run({"sh", "-c", "exit 7"}).exit_code, 7);
        EXPECT_EQ(run({"true"}).exit_code, 0);
        EXPECT_EQ(run({"sh", "-c", "kill -TERM $$"}).signal, SIGTERM);
        EXPECT_EQ(run({"sh", "-c", "kill -KILL $$"}).signal, SIGKILL);
        EXPECT_EQ(run({"sh", "-c", "kill -SEGV $$"}).signal, SIGSEGV);
        EXPECT_TRUE(ends_saying(run({"no-such-program-anywhere"}), 127, "no such program"));
        EXPECT_EQ(run({"/etc/passwd"}).exit_code, 126);
    }
}

TEST_F(Run, hands_on_signals_that_are_sent_to_it)
{
    ASSERT_EQ(::mkfifo((scratch / "never").c_str(), 0600), 0);
    for (const char* signal : {"TERM", "INT", "QUIT"}) {
        // A shell cannot trap what was ignored when it started, as it is where the tests run in the background.
        const ProcessResult result =
            run_process({"/bin/sh", "-c",
                         "env --default-signal=INT,QUIT " HEARTH_COMMAND " run --summary -- sh -c 'cat never & "
                         "trap \"echo told; kill $!; exit 5\" " +
                             std::string(signal) +
                             "; echo ready; wait; echo untold' | "
                             "{ read line; echo $line; kill -" +
                             signal + " $(pgrep -o -P $$ hearth); cat; }"},
                        {.environment = {{"HEARTH_DIR", cache.string()}},
                         .directory = scratch.string(),
                         .limit = std::chrono::seconds(20)});
        EXPECT_FALSE(result.timed_out) << signal;
        EXPECT_EQ(result.out, "ready\ntold\n") << signal << result.err;
    }
}

TEST_F(Run, what_is_typed_at_the_terminal_comes_to_the_command_once)
{
    ASSERT_EQ(::mkfifo((scratch / "never").c_str(), 0600), 0);
    // The second signal goes round through hearth, behind what hearth would have handed on of the first.
    write("command", "trap 'n=$((n + 1)); kill -USR1 $PPID' INT\n"
                     "trap 'echo told $n; kill $!; exit' USR1\n"
                     "cat never & echo ready\n"
                     "while :; do wait; done\n");
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    ASSERT_GE(child, 0);
    if (child == 0) {
        std::signal(SIGINT, SIG_DFL);
        if (::chdir(scratch.c_str()) == 0)
            ::execl(HEARTH_COMMAND, HEARTH_COMMAND, "run", "--summary", "--", "sh", "command", nullptr);
        ::_exit(127);
    }
    std::string seen;
    std::array<char, 256> buffer{};
    bool typed = false;
    for (ssize_t got = 0; (got = ::read(terminal, buffer.data(), buffer.size())) > 0;) {
        seen.append(buffer.data(), static_cast<std::size_t>(got));
        if (!typed && seen.find("ready") != std::string::npos)
            typed = ::write(terminal, "\x03", 1) == 1;
    }
    ::waitpid(child, nullptr, 0);
    ::close(terminal);
    EXPECT_NE(seen.find("told 1"), std::string::npos) << seen;
}

TEST_F(Run, ends_as_the_command_ends_where_its_caller_ignores_ends)
{
    const std::vector<std::string> ignoring{"/usr/bin/env", "--ignore-signal=CHLD"};
    const auto run = [&](std::vector<std::string> words) {
        words.insert(words.begin(), ignoring.begin(), ignoring.end());
        return run_process(words, {.environment = {{"HEARTH_DIR", cache.string()}}});
    };
    EXPECT_EQ(run({HEARTH_COMMAND, "run", "--summary", "--", "sh", "-c", "exit 7"}).exit_code, 7);
    // The command finds it as it would have.
    const std::string bare = run({"grep", "SigIgn", "/proc/self/status"}).out;
    EXPECT_EQ(run({HEARTH_COMMAND, "run", "--summary", "--", "grep", "SigIgn", "/proc/self/status"}).out, bare);
    EXPECT_EQ(run({HEARTH_COMMAND, "run", "--", "grep", "SigIgn", "/proc/self/status"}).out, bare);
}

TEST_F(Run, leaves_the_streams_to_the_command)
{
    const ProcessResult result =
        hearth({"run", "--", "sh", "-c", "cat; echo err >&2"}, {.environment = {}, .input = "through\n"});
    EXPECT_EQ(result.out, "through\n");
    EXPECT_EQ(result.err, "err\n");
    const ProcessResult summed =
        hearth({"run", "--summary", "--", "sh", "-c", "cat"}, {.environment = {}, .input = "through\n"});
    EXPECT_EQ(summed.out, "through\n");
    EXPECT_EQ(summed.err, "hearth: no compile came to Hearth ('hearth doctor --program' tells whether a program can be "
                          "served)\n");
    // A stream that is closed stays closed, and is no file of ours.
    const ProcessResult closed = run_process(
        {"/bin/sh", "-c", std::string(HEARTH_COMMAND) + " run -- sh -c '[ -e /proc/self/fd/0 ] || echo closed' <&-"});
    EXPECT_EQ(closed.out, "closed\n") << closed.err;
}

TEST_F(Run, says_so_where_there_is_no_room_for_what_it_would_sum_up)
{
    const ProcessResult no_room = run_process(
        {"/bin/sh", "-c", "ulimit -f 0; exec \"$@\"", "sh", HEARTH_COMMAND, "run", "--summary", "--", "/bin/true"});
    EXPECT_TRUE(ends_saying(no_room, 0, "No file for the summary can be written"));
}

TEST_F(Run, hands_on_a_pipe_signal_as_it_was)
{
    const char* const status = "grep -q '^SigIgn:.*[13579bdf]...$' /proc/self/status && echo ignored || echo default";
    for (const char* before : {"", "trap '' PIPE; "}) {
        const std::string run = std::string(before) + HEARTH_COMMAND + " run -- sh -c \"" + status + "\"";
        const std::string bare = std::string(before) + "sh -c \"" + status + "\"";
        EXPECT_EQ(run_process({"/bin/sh", "-c", run}).out, run_process({"/bin/sh", "-c", bare}).out) << before;
    }
}

TEST_F(Run, without_the_libraries_runs_the_command_and_says_so_in_a_line)
{
    const ProcessResult result =
        hearth({"run", "--", "echo", "done"}, {.environment = {{"HEARTH_DROPIN", (scratch / "nothing").string()}}});
    EXPECT_EQ(result.out, "done\n");
    EXPECT_TRUE(ends_saying(result, 0, "runs without Hearth"));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST_F(Run, without_the_libraries_leaves_the_environment_as_it_is)
{
    const ProcessOptions options{.environment = {{"HEARTH_DROPIN", (scratch / "nothing").string()}}};
    const ProcessResult bare = hearth({"run", "--", "env"}, options);
    const ProcessResult result =
        hearth({"--dir", "elsewhere", "run", "--forbid-compile", "--summary", "--record", "r", "--", "env"}, options);
    EXPECT_EQ(result.out, bare.out);
    EXPECT_EQ(result.out.find("HEARTH_FORBID_COMPILE"), std::string::npos);
}

TEST_F(Run, without_a_place_for_the_summary_runs_the_command_and_says_so_in_a_line)
{
    const std::string nowhere = (scratch / "no" / "where").string();
    const ProcessResult result =
        hearth({"run", "--summary", "--", "sh", "-c", "echo done; exit 7"}, {.environment = {{"TMPDIR", nowhere}}});
    EXPECT_EQ(result.out, "done\n");
    EXPECT_TRUE(ends_saying(result, 7, "\"" + nowhere + "\""));
    EXPECT_NE(result.err.find("without a summary"), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST_F(Run, does_not_start_a_command_whose_log_cannot_be_written)
{
    const ProcessResult result = hearth({"run", "--log", "no/such/log", "--", "echo", "done"});
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.err.find("no/such/log"), std::string::npos) << result.err;
}

TEST_F(Run, takes_no_pipe_and_no_link_of_another_user_for_its_log)
{
    ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
    EXPECT_NE(hearth({"run", "--log", "pipe", "--", "true"}).exit_code, 0);
    const int reader = ::open((scratch / "pipe").c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(hearth({"run", "--log", "pipe", "--", "true"}).exit_code, 0);
    const ProcessResult summed = hearth({"run", "--summary", "--log", "pipe", "--", "true"});
    EXPECT_NE(summed.err.find("is no file that could be read for the summary"), std::string::npos) << summed.err;
    ::close(reader);
    std::ofstream(scratch / "private") << "private";
    std::filesystem::create_symlink("private", scratch / "link");
    if (::lchown((scratch / "link").c_str(), 65534, 65534) != 0)
        GTEST_SKIP() << "only root can give a link away";
    EXPECT_NE(hearth({"run", "--log", "link", "--", "true"}).exit_code, 0);
    EXPECT_EQ(std::filesystem::file_size(scratch / "private"), 7U);
}

TEST_F(Run, keeps_a_log_that_was_asked_for_beside_its_summary)
{
    const std::string notes = "cd / && echo '{\"outcome\": \"miss\"}' >> $HEARTH_RUN_LOG";
    const ProcessResult result = hearth({"run", "--summary", "--log", "log", "--", "sh", "-c", notes});
    EXPECT_NE(result.err.find("1 compiled"), std::string::npos) << result.err;
    EXPECT_EQ(read(scratch / "log"), "{\"outcome\": \"miss\"}\n");
}

TEST_F(Run, keeps_its_log_at_an_absolute_path)
{
    // A command that goes elsewhere would look for it there.
    std::filesystem::create_directory(scratch / "relative");
    const ProcessResult result = hearth({"run", "--summary", "--", "sh", "-c", "echo $HEARTH_RUN_LOG"},
                                        {.environment = {{"TMPDIR", "relative"}}});
    EXPECT_EQ(result.out.substr(0, 5), "/tmp/") << result.err;
}

TEST_F(Run, counts_apart_what_waited_for_another_compile)
{
    const std::string notes = "for outcome in miss waited waited; do "
                              "echo '{\"pid\": 1, \"spent_ms\": 5, \"name\": \"k\", \"outcome\": \"'$outcome'\"}' "
                              ">> $HEARTH_RUN_LOG; done";
    const ProcessResult text = hearth({"run", "--summary", "--", "sh", "-c", notes});
    EXPECT_EQ(text.err, "hearth: 0 hits, 1 compiled, 2 waited for another's, 0 ms saved\n"
                        "hearth:   compiled k in 5 ms\n");
    const ProcessResult json = hearth({"run", "--json", "--", "sh", "-c", notes});
    const nlohmann::json summary = nlohmann::json::parse(json.err, nullptr, false);
    EXPECT_EQ(summary.value("compiled", 0), 1) << json.err;
    EXPECT_EQ(summary.value("waited", 0), 2) << json.err;
}

TEST_F(Run, is_turned_off_as_the_configuration_says)
{
    for (const char* off : {"1", "true", "on"})
        EXPECT_EQ(hearth({"run", "--", "printenv", "LD_AUDIT"}, {.environment = {{"HEARTH_DISABLE", off}}}).out, "")
            << off;
    for (const char* on : {"0", "false", "off"})
        EXPECT_NE(hearth({"run", "--", "printenv", "LD_AUDIT"}, {.environment = {{"HEARTH_DISABLE", on}}}).out, "")
            << on;
}

TEST_F(Run, without_a_command_says_how)
{
    EXPECT_TRUE(ends_saying(hearth({"run"}), 2, "hearth run -- python train.py"));
}

TEST_F(Run, refuses_what_cannot_be_recorded_before_the_program_starts)
{
    write("source.cu", "__global__ void k() {}\n");
    for (const char* file : {"no/such/folder/r.recipes", "source.cu", "."}) {
        const ProcessResult result = hearth({"run", "--record", (scratch / file).string(), "--", "echo", "started"});
        EXPECT_EQ(result.exit_code, 3) << file;
        EXPECT_EQ(result.out, "") << file;
        EXPECT_NE(result.err.find("Choose another"), std::string::npos) << result.err;
    }
    EXPECT_EQ(read(scratch / "source.cu"), "__global__ void k() {}\n");
}

TEST_F(Run, hands_on_paths_that_hold_wherever_the_command_goes)
{
    write("app.bundle", "");
    const ProcessResult result =
        run_process({HEARTH_COMMAND, "run", "--", "/bin/sh", "-c", "echo $HEARTH_DIR; echo $HEARTH_BUNDLES"},
                    {.environment = {{"HEARTH_DIR", "relative"}, {"HEARTH_BUNDLES", "app.bundle /elsewhere/b.bundle"}},
                     .directory = scratch.string()});
    EXPECT_EQ(result.out,
              (scratch / "relative").string() + "\n" + (scratch / "app.bundle").string() + " /elsewhere/b.bundle\n");
}

TEST_F(Run, hands_on_a_path_with_blanks_as_one_path_unless_it_is_a_list)
{
    const std::string folder = (scratch / "my  dir").string();
    fs::create_directory(folder);
    hearth({"keygen", folder + "/k"});
    write("my  dir/c.json", "{}");
    write("my  dir/a.bundle", "");
    ProcessOptions options{.environment = {}, .directory = scratch.string()};
    const auto child_sees = [&](const std::string& name, const std::string& value) {
        options.environment = {{name, value}};
        return run_process({HEARTH_COMMAND, "run", "--", "/usr/bin/printenv", name}, options).out;
    };
    for (const char* const name : {"HEARTH_DIR", "HEARTH_RECORD", "HEARTH_SIGN_WITH"})
        EXPECT_EQ(child_sees(name, folder + "/k"), folder + "/k\n") << name;
    EXPECT_EQ(child_sees("HEARTH_DIR", "my  dir/cache"), folder + "/cache\n");
    EXPECT_EQ(child_sees("HEARTH_RECORD", "my  dir/r"), folder + "/r\n");
    EXPECT_EQ(child_sees("HEARTH_RECORD", "none"), "none\n");
    EXPECT_EQ(child_sees("HEARTH_SIGN_WITH", "my  dir/k"), folder + "/k\n");
    EXPECT_EQ(child_sees("HEARTH_CONFIG", "my  dir/c.json"), folder + "/c.json\n");
    EXPECT_EQ(child_sees("HEARTH_TRUSTED_KEYS", "a  b"), "a b\n");
    options.directory = folder;
    EXPECT_EQ(child_sees("HEARTH_BUNDLES", "a.bundle b"), "a.bundle b\n") << "its whole path would be two words";
}

TEST_F(Run, says_that_it_is_turned_off_and_where_a_dash_is_missing)
{
    const ProcessOptions off{.environment = {{"HEARTH_DISABLE", "1"}}};
    EXPECT_EQ(hearth({"run", "--json", "--", "true"}, off).err, "{\"disabled\":true}\n");
    EXPECT_NE(hearth({"run", "--summary", "--", "true"}, off).err.find("turned off"), std::string::npos);
    EXPECT_TRUE(ends_saying(hearth({"run", "ls", "-l"}), 2, "Put -- before the command"));
}

TEST_F(Run, says_why_a_program_that_is_there_cannot_be_started)
{
    const std::string script = write("script", "#!/no/such/interpreter\n").string();
    fs::permissions(script, fs::perms::owner_all);
    EXPECT_TRUE(ends_saying(hearth({"run", "--", script}), 127, "interpreter"));
    EXPECT_NE(hearth({"run", "--", "/tmp"}).err.find("it is a directory"), std::string::npos);
}

}  // namespace hearth::test
