// `hearth run`: the command is served, and otherwise runs as it would without.
#include "served.hpp"

#include <algorithm>
#include <csignal>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Run : public Served {
protected:
    ProcessResult run_shell(const Words& options, const std::string& text, const ProcessOptions& how = {})
    {
        return run(options, {"sh", "-c", text}, how);
    }
};

}  // namespace

TEST_F(Run, ends_as_the_command_ends)
{
    for (const Words& with : {Words{}, Words{"--summary"}}) {
        EXPECT_EQ(run_shell(with, "exit 7").exit_code, 7);
        EXPECT_EQ(run(with, {"true"}).exit_code, 0);
        EXPECT_TRUE(ends_saying(run(with, {"no-such-program-anywhere"}), 127, "no such program"));
        EXPECT_EQ(run(with, {"/etc/passwd"}).exit_code, 126);
        for (const auto& [name, signal] : {std::pair("TERM", SIGTERM), {"KILL", SIGKILL}, {"SEGV", SIGSEGV}}) {
            Words words{HEARTH_COMMAND, "run"};
            words.insert(words.end(), with.begin(), with.end());
            words.insert(words.end(), {"--", "sh", "-c", std::string("kill -") + name + " $$"});
            EXPECT_EQ(run_process(words, {.environment = {{"HEARTH_DIR", cache.string()}}}).signal, signal) << name;
        }
    }
}

TEST_F(Run, hands_on_signals_that_are_sent_to_it)
{
    ASSERT_EQ(::mkfifo((scratch / "never").c_str(), 0600), 0);
    for (const char* signal : {"TERM", "INT", "QUIT"}) {
        // A shell cannot trap what was ignored when it started, as it is where the tests run in the background.
        const ProcessResult result =
            run_process({"/bin/sh", "-c",
                         "env --default-signal=INT,QUIT \"$0\" run --summary -- sh -c 'cat never & "
                         "trap \"echo told; kill $!; exit 5\" '$1'; echo ready; wait; echo untold' | "
                         "{ read line; echo $line; kill -$1 $(pgrep -o -P $$ hearth); cat; }",
                         HEARTH_COMMAND, signal},
                        {.environment = {{"HEARTH_DIR", cache.string()}}, .directory = scratch.string()});
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
    const ProcessResult result =
        run_process({"/bin/sh", "-c",
                     "{ until grep -qs ready seen; do sleep 0.01; done; printf '\\003'; } | "
                     "env --default-signal=INT script -qefc \"$0 run --summary -- sh command\" seen",
                     HEARTH_COMMAND},
                    {.environment = {{"HEARTH_DIR", cache.string()}}, .directory = scratch.string()});
    EXPECT_FALSE(result.timed_out);
    EXPECT_NE(read(scratch / "seen").find("told 1"), std::string::npos) << read(scratch / "seen");
}

TEST_F(Run, hands_on_which_signals_are_ignored_as_it_was)
{
    const auto run = [&](const char* how, std::vector<std::string> words) {
        words.insert(words.begin(), {"/usr/bin/env", how});
        return run_process(words, {.environment = {{"HEARTH_DIR", cache.string()}}});
    };
    for (const char* how : {"--ignore-signal=CHLD", "--ignore-signal=PIPE", "--default-signal=PIPE"}) {
        const std::string bare = run(how, {"grep", "SigIgn", "/proc/self/status"}).out;
        EXPECT_NE(bare, "");
        EXPECT_EQ(run(how, {HEARTH_COMMAND, "run", "--summary", "--", "grep", "SigIgn", "/proc/self/status"}).out,
                  bare);
        EXPECT_EQ(run(how, {HEARTH_COMMAND, "run", "--", "grep", "SigIgn", "/proc/self/status"}).out, bare);
        EXPECT_EQ(run(how, {HEARTH_COMMAND, "run", "--summary", "--", "sh", "-c", "exit 7"}).exit_code, 7) << how;
    }
}

TEST_F(Run, leaves_the_streams_to_the_command)
{
    const ProcessOptions through{.environment = {}, .input = "through\n"};
    const ProcessResult result = run_shell({}, "cat; echo err >&2", through);
    EXPECT_EQ(result.out, "through\n");
    EXPECT_EQ(result.err, "err\n");
    const ProcessResult summed = run_shell({"--summary"}, "cat", through);
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
    const ProcessResult no_room =
        run_process({"/bin/sh", "-c", "ulimit -f 0; exec \"$0\" run --summary -- true", HEARTH_COMMAND});
    EXPECT_TRUE(ends_saying(no_room, 0, "No file for the summary can be written"));
}

TEST_F(Run, without_the_libraries_runs_the_command_as_it_is_and_says_so_in_a_line)
{
    const ProcessOptions options{.environment = {{"HEARTH_DROPIN", (scratch / "nothing").string()}}};
    const ProcessResult bare = run({}, {"env"}, options);
    EXPECT_TRUE(ends_saying(bare, 0, "runs without Hearth"));
    EXPECT_EQ(std::count(bare.err.begin(), bare.err.end(), '\n'), 1) << bare.err;
    const ProcessResult result =
        hearth({"--dir", "elsewhere", "run", "--forbid-compile", "--summary", "--record", "r", "--", "env"}, options);
    EXPECT_EQ(result.out, bare.out);
    EXPECT_EQ(result.out.find("HEARTH_FORBID_COMPILE"), std::string::npos);
}

TEST_F(Run, without_a_place_for_the_summary_runs_the_command_and_says_so_in_a_line)
{
    const std::string nowhere = (scratch / "no" / "where").string();
    const ProcessResult result = run_shell({"--summary"}, "echo done; exit 7", {.environment = {{"TMPDIR", nowhere}}});
    EXPECT_EQ(result.out, "done\n");
    EXPECT_TRUE(ends_saying(result, 7, "\"" + nowhere + "\"", "without a summary"));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST_F(Run, does_not_start_a_command_whose_log_or_recording_cannot_be_written)
{
    write("source.cu", "__global__ void k() {}\n");
    for (const char* file : {"no/such/folder/r.recipes", "source.cu", "."}) {
        const ProcessResult result = run({"--record", (scratch / file).string()}, {"echo", "started"});
        EXPECT_TRUE(ends_saying(result, 3, "Choose another")) << file;
        EXPECT_EQ(result.out, "") << file;
    }
    EXPECT_EQ(read(scratch / "source.cu"), "__global__ void k() {}\n");
    const ProcessResult result = run({"--log", "no/such/log"}, {"echo", "started"});
    EXPECT_TRUE(ends_saying(result, 3, "no/such/log"));
    EXPECT_EQ(result.out, "");
}

TEST_F(Run, takes_no_pipe_and_no_link_of_another_user_for_its_log)
{
    ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
    EXPECT_NE(run({"--log", "pipe"}, {"true"}).exit_code, 0);
    const int reader = ::open((scratch / "pipe").c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(run({"--log", "pipe"}, {"true"}).exit_code, 0);
    const ProcessResult summed = run({"--summary", "--log", "pipe"}, {"true"});
    EXPECT_NE(summed.err.find("is no file that could be read for the summary"), std::string::npos) << summed.err;
    ::close(reader);
    write("private", "private");
    fs::create_symlink("private", scratch / "link");
    if (::lchown((scratch / "link").c_str(), 65534, 65534) != 0)
        GTEST_SKIP() << "only root can give a link away";
    EXPECT_NE(run({"--log", "link"}, {"true"}).exit_code, 0);
    EXPECT_EQ(read(scratch / "private"), "private");
}

TEST_F(Run, keeps_a_log_that_was_asked_for_beside_its_summary)
{
    const std::string notes = "cd / && echo '{\"outcome\": \"miss\"}' >> $HEARTH_RUN_LOG";
    const ProcessResult result = run_shell({"--summary", "--log", "log"}, notes);
    EXPECT_NE(result.err.find("1 compiled"), std::string::npos) << result.err;
    EXPECT_EQ(read(scratch / "log"), "{\"outcome\": \"miss\"}\n");
    fs::create_symlink("log", scratch / "link");
    const ProcessResult linked = run_shell({"--summary", "--log", "link"}, notes);
    EXPECT_NE(linked.err.find("1 compiled"), std::string::npos) << linked.err;
}

TEST_F(Run, keeps_its_log_at_an_absolute_path)
{
    // A command that goes elsewhere would look for it there.
    fs::create_directory(scratch / "relative");
    const ProcessResult result =
        run_shell({"--summary"}, "echo $HEARTH_RUN_LOG", {.environment = {{"TMPDIR", "relative"}}});
    EXPECT_EQ(result.out.substr(0, 5), "/tmp/") << result.err;
}

TEST_F(Run, counts_apart_what_waited_for_another_compile)
{
    const std::string notes = "for outcome in miss waited waited; do "
                              "echo '{\"pid\": 1, \"spent_ms\": 5, \"name\": \"k\", \"outcome\": \"'$outcome'\"}' "
                              ">> $HEARTH_RUN_LOG; done";
    EXPECT_EQ(run_shell({"--summary"}, notes).err, "hearth: 0 hits, 1 compiled, 2 waited for another's, 0 ms saved\n"
                                                   "hearth:   compiled k in 5 ms\n");
    EXPECT_TRUE(holds(summary_of(run_shell({"--json"}, notes)), {{"compiled", 1}, {"waited", 2}}));
}

TEST_F(Run, is_turned_off_as_the_configuration_says)
{
    for (const auto& [value, is_off] :
         {std::pair("1", true), {"true", true}, {"on", true}, {"0", false}, {"false", false}, {"off", false}}) {
        const ProcessOptions options{.environment = {{"HEARTH_DISABLE", value}}};
        EXPECT_EQ(run({}, {"printenv", "LD_AUDIT"}, options).out.empty(), is_off) << value;
        EXPECT_EQ(run({"--json"}, {"true"}, options).err == "{\"disabled\":true}\n", is_off) << value;
        EXPECT_EQ(run({"--summary"}, {"true"}, options).err.find("turned off") != std::string::npos, is_off) << value;
    }
}

TEST_F(Run, without_a_command_says_how)
{
    EXPECT_TRUE(ends_saying(hearth({"run"}), 2, "hearth run -- python train.py"));
    EXPECT_TRUE(ends_saying(hearth({"run", "ls", "-l"}), 2, "Put -- before the command"));
    EXPECT_TRUE(ends_saying(hearth({"exec"}), 2, "hearth exec -- nvcc"));
}

TEST_F(Run, hands_on_paths_that_hold_wherever_the_command_goes_and_blanks_within_unless_it_is_a_list)
{
    const std::string folder = (scratch / "my  dir").string();
    write("my  dir/c.json", "{}");
    hearth({"keygen", folder + "/k"});
    write("my  dir/a.bundle", "");
    ProcessOptions options{.environment = {}, .directory = scratch.string()};
    const auto child_sees = [&](const std::string& name, const std::string& value) {
        options.environment = {{name, value}};
        return run({}, {"printenv", name}, options).out;
    };
    for (const char* const name : {"HEARTH_DIR", "HEARTH_RECORD", "HEARTH_SIGN_WITH"})
        EXPECT_EQ(child_sees(name, folder + "/k"), folder + "/k\n") << name;
    EXPECT_EQ(child_sees("HEARTH_DIR", "my  dir/cache"), folder + "/cache\n");
    EXPECT_EQ(child_sees("HEARTH_RECORD", "my  dir/r"), folder + "/r\n");
    EXPECT_EQ(child_sees("HEARTH_RECORD", "none"), "none\n");
    EXPECT_EQ(child_sees("HEARTH_SIGN_WITH", "my  dir/k"), folder + "/k\n");
    EXPECT_EQ(child_sees("HEARTH_CONFIG", "my  dir/c.json"), folder + "/c.json\n");
    EXPECT_EQ(child_sees("HEARTH_TRUSTED_KEYS", "a  b"), "a b\n");
    write("app.bundle", "");
    EXPECT_EQ(child_sees("HEARTH_BUNDLES", "app.bundle /elsewhere/b.bundle"),
              (scratch / "app.bundle").string() + " /elsewhere/b.bundle\n");
    options.directory = folder;
    EXPECT_EQ(child_sees("HEARTH_BUNDLES", "a.bundle b"), "a.bundle b\n") << "its whole path would be two words";
}

TEST_F(Run, says_why_a_program_that_is_there_cannot_be_started)
{
    const std::string script = write("script", "#!/no/such/interpreter\n").string();
    fs::permissions(script, fs::perms::owner_all);
    EXPECT_TRUE(ends_saying(run({}, {script}), 127, "interpreter"));
    EXPECT_TRUE(ends_saying(run({}, {scratch.string()}), 126, "it is a directory"));
}

}  // namespace hearth::test
