// `hearth ptxas` beside ptxas itself: same outputs, messages and exit codes.
#include "tools/command.hpp"

#include <algorithm>
#include <fstream>

#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

const char* const k_ptx = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry first(.param .u64 p) { ret; }\n";

class Ptxas : public Command {
protected:
    void SetUp() override
    {
        for (const char* place : {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"})
            if (::access(place, X_OK) == 0)
                m_real = place;
        if (m_real.empty())
            GTEST_SKIP() << "No ptxas is installed.";
        write("a.ptx", k_ptx);
        write("other.ptx", k_ptx);
        write("broken.ptx", std::string(k_ptx) + "garbage\n");
    }
    ProcessResult real(std::vector<std::string> words)
    {
        words.insert(words.begin(), m_real);
        ProcessOptions options;
        options.directory = scratch.string();
        return run_process(words, options);
    }
    ProcessResult stand_in(std::vector<std::string> words, const std::map<std::string, std::string>& environment = {})
    {
        words.insert(words.begin(), {"ptxas", "--"});
        ProcessOptions options;
        options.environment["HEARTH_PTXAS"] = m_real;
        for (const auto& [name, value] : environment)
            options.environment[name] = value;
        return hearth(words, options);
    }
    // What `hearth run --json` says of a shell's calls of "$ptxas".
    nlohmann::json summary_of(const std::string& calls, std::vector<std::string> more = {})
    {
        std::vector<std::string> words{"run", "--json", "--ptxas", m_real};
        words.insert(words.end(), more.begin(), more.end());
        words.insert(words.end(), {"--", "sh", "-c", "ptxas=$TRITON_PTXAS_PATH; " + calls});
        const ProcessResult result = hearth(words);
        const std::size_t line = result.err.rfind('\n', result.err.size() - 2);
        return nlohmann::json::parse(line == std::string::npos ? result.err : result.err.substr(line + 1), nullptr,
                                     false);
    }
    std::string m_real;
};

}  // namespace

TEST_F(Ptxas, gives_what_ptxas_gives_and_the_second_time_from_the_cache)
{
    const std::vector<std::string> words{"--gpu-name=sm_80", "-O3", "a.ptx", "-o", "a.cubin"};
    ASSERT_EQ(real(words).exit_code, 0);
    const std::string expected = read(scratch / "a.cubin");
    for (const char* time : {"miss", "hit"}) {
        fs::remove(scratch / "a.cubin");
        const ProcessResult result = stand_in(words);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(result.err, "");
        EXPECT_EQ(read(scratch / "a.cubin"), expected) << time;
    }
    // Compiling is forbidden from here on: it is the cache that answers, and for another name too.
    const ProcessResult renamed =
        stand_in({"-arch", "sm_80", "-O", "3", "other.ptx", "--output-file=b.cubin"}, {{"HEARTH_FORBID_COMPILE", "1"}});
    EXPECT_EQ(renamed.exit_code, 0) << renamed.err;
    EXPECT_EQ(read(scratch / "b.cubin"), expected);
    const ProcessResult other = stand_in({"-arch", "sm_90", "other.ptx"}, {{"HEARTH_FORBID_COMPILE", "1"}});
    EXPECT_EQ(other.exit_code, 3) << "another target is another result";
}

TEST_F(Ptxas, replays_messages_with_the_names_of_whoever_asks)
{
    const ProcessResult expected = real({"-arch", "sm_80", "broken.ptx", "-o", "x"});
    ASSERT_NE(expected.exit_code, 0);
    for (int time = 0; time < 2; ++time) {
        const ProcessResult result = stand_in({"-arch", "sm_80", "broken.ptx", "-o", "x"});
        EXPECT_EQ(result.exit_code, expected.exit_code);
        EXPECT_EQ(result.err, expected.err);
        EXPECT_FALSE(fs::exists(scratch / "x"));
    }
    fs::rename(scratch / "broken.ptx", scratch / "renamed.ptx");
    EXPECT_EQ(stand_in({"-arch", "sm_80", "renamed.ptx", "-o", "x"}).err,
              real({"-arch", "sm_80", "renamed.ptx", "-o", "x"}).err);
}

TEST_F(Ptxas, takes_nothing_but_names_for_names)
{
    // Letters that stand in every message, and a message that holds a name in both places.
    write("p", read(scratch / "broken.ptx"));
    write("r", std::string(k_ptx) + "p\n");
    write("error", "p\n");
    for (const char* name : {"p", "r", "error"}) {
        for (int time = 0; time < 2; ++time)
            EXPECT_EQ(stand_in({"-arch", "sm_80", name, "-o", "x"}).err, real({"-arch", "sm_80", name, "-o", "x"}).err);
        fs::rename(scratch / name, scratch / "zz");
        EXPECT_EQ(stand_in({"-arch", "sm_80", "zz", "-o", "x"}).err, real({"-arch", "sm_80", "zz", "-o", "x"}).err);
    }
}

TEST_F(Ptxas, begins_messages_with_the_name_of_the_real_one)
{
    const ProcessResult expected = real({"broken.ptx", "-o", "x"});
    EXPECT_EQ(stand_in({"broken.ptx", "-o", "x"}).err, expected.err);
    fs::create_symlink(m_real, scratch / "assembler");
    m_real = (scratch / "assembler").string();
    EXPECT_EQ(stand_in({"broken.ptx", "-o", "x"}).err, real({"broken.ptx", "-o", "x"}).err);
}

TEST_F(Ptxas, the_one_that_triton_has_for_newer_gpus_is_served_too)
{
    if (std::string(HEARTH_DROPINS).empty())
        GTEST_SKIP() << "The drop-in libraries are not built here.";
    for (const char* name : {"ptxas", "ptxas-blackwell", "elsewhere"})
        fs::create_symlink(m_real, scratch / name);
    m_real = (scratch / "ptxas").string();
    const std::string twice = "for time in 1 2; do $TRITON_PTXAS_BLACKWELL_PATH -arch sm_80 a.ptx -o x; done";
    const nlohmann::json beside = summary_of(twice);
    EXPECT_EQ(beside.at("hits"), 1) << beside;
    const nlohmann::json named = summary_of("export HEARTH_PTXAS_BLACKWELL=$PWD/elsewhere; " + twice);
    EXPECT_EQ(named.at("compiled"), 1) << "another name is another program: " << named;
}

TEST_F(Ptxas, writes_into_the_file_that_is_there)
{
    ASSERT_EQ(real({"-arch", "sm_80", "a.ptx", "-o", "expected"}).exit_code, 0);
    for (const char* time : {"miss", "hit"}) {
        // Longer than what comes, and open, as a temporary file of its caller is.
        const fs::path out = write("out", std::string(100'000, 'x'));
        std::ifstream open(out, std::ios::binary);
        EXPECT_EQ(stand_in({"-arch", "sm_80", "a.ptx", "-o", "out"}).exit_code, 0);
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(open), {}), read(scratch / "expected")) << time;
    }
}

TEST_F(Ptxas, learns_how_the_real_one_ended_where_its_caller_ignores_that)
{
    ProcessOptions options;
    options.directory = scratch.string();
    options.environment = {{"HEARTH_PTXAS", m_real}, {"HEARTH_DIR", cache.string()}};
    const ProcessResult expected = real({"broken.ptx", "-o", "x"});
    for (int time = 0; time < 2; ++time) {
        const ProcessResult result = run_process(
            {"/usr/bin/env", "--ignore-signal=CHLD", HEARTH_COMMAND, "ptxas", "--", "broken.ptx", "-o", "x"}, options);
        EXPECT_EQ(result.exit_code, expected.exit_code);
        EXPECT_EQ(result.err, expected.err);
    }
}

TEST_F(Ptxas, compiles_are_in_the_summary)
{
    if (std::string(HEARTH_DROPINS).empty())
        GTEST_SKIP() << "The drop-in libraries are not built here.";
    const nlohmann::json first = summary_of("$ptxas -arch sm_80 a.ptx -o x");
    EXPECT_EQ(first.value("compiled", 0), 1) << first;
    EXPECT_GT(first.value("spent_seconds", 0.0), 0) << first;
    EXPECT_EQ(first["slowest"].at(0).value("name", ""), "a.ptx") << first;
    EXPECT_EQ(first["slowest"].at(0).value("reason", ""), "absent") << first;

    const nlohmann::json second = summary_of("$ptxas -arch sm_80 a.ptx -o x; $ptxas --version >/dev/null");
    EXPECT_EQ(second.value("hits", 0), 1) << second;
    EXPECT_EQ(second["by_tier"].value("disk", 0), 1) << second;
    EXPECT_EQ(second.value("compiled", -1), 0) << second;
    EXPECT_GT(second.value("saved_seconds", 0.0), 0) << second;

    const nlohmann::json past = summary_of("$ptxas -arch sm_80 --input-as-string \"$(cat a.ptx)\" -o x");
    EXPECT_EQ(past.value("past_the_cache", 0), 1) << past;
    EXPECT_GT(past.value("spent_seconds", 0.0), 0) << past;

    const nlohmann::json forbidden =
        summary_of("$ptxas -arch sm_90 a.ptx -o x; $ptxas --input-as-string x -o x", {"--forbid-compile"});
    EXPECT_EQ(forbidden.value("forbidden", 0), 2) << forbidden;
}

TEST_F(Ptxas, compiles_nothing_past_the_cache_where_that_is_forbidden)
{
    const std::map<std::string, std::string> forbid{{"HEARTH_FORBID_COMPILE", "1"}};
    ASSERT_EQ(real({"-arch", "sm_80", "--input-as-string", k_ptx, "-o", "x"}).exit_code, 0);
    fs::remove(scratch / "x");
    fs::create_symlink("/dev/stdin", scratch / "stream.ptx");
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--input-as-string", k_ptx, "-o", "x"},
                                                  {"a.ptx", "-o", "/dev/stdout"},
                                                  {"stream.ptx", "-o", "x"}}) {
        const ProcessResult result = stand_in(words, forbid);
        EXPECT_EQ(result.exit_code, 3) << words[0];
        EXPECT_EQ(result.out, "");
        EXPECT_NE(result.err.find("HEARTH_FORBID_COMPILE=0"), std::string::npos) << result.err;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        EXPECT_FALSE(fs::exists(scratch / "x"));
    }
    // What compiles nothing is not refused.
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"--version"}, {"--help"}, {"--list-version"}, {}, {"missing.ptx"}})
        EXPECT_EQ(stand_in(words, forbid).out, real(words).out);
}

TEST_F(Ptxas, relays_what_is_no_plain_compile)
{
    // The last is a regular file that cannot be read.
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--version"},
                                                  {"--help"},
                                                  {"--no-such-option", "a.ptx"},
                                                  {},
                                                  {"missing.ptx"},
                                                  {"/proc/self/mem"}}) {
        const ProcessResult expected = real(words);
        const ProcessResult result = stand_in(words);
        EXPECT_EQ(result.exit_code, expected.exit_code) << (words.empty() ? "" : words[0]);
        EXPECT_EQ(result.out, expected.out);
        EXPECT_EQ(result.err, expected.err);
    }
}

TEST_F(Ptxas, stands_in_as_a_program_of_its_own)
{
    if (std::string(HEARTH_DROPINS).empty())
        GTEST_SKIP() << "The drop-in libraries are not built here.";
    ProcessOptions options;
    options.directory = scratch.string();
    options.environment = {{"HEARTH_PTXAS", m_real}, {"HEARTH_DIR", cache.string()}};
    const ProcessResult result =
        run_process({std::string(HEARTH_DROPINS) + "/ptxas", "-arch=sm_80", "a.ptx", "-o", "s.cubin"}, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(read(scratch / "s.cubin").size(), 100U);
    const ProcessResult version = run_process({std::string(HEARTH_DROPINS) + "/ptxas", "--version"}, options);
    EXPECT_EQ(version.out, real({"--version"}).out);
}

TEST_F(Ptxas, keeps_nothing_whose_input_changed_while_it_was_compiled)
{
    // A ptxas that edits its input first, as long as the file "edit" is there. Real ones are large.
    const fs::path slow = write("ptxas", "#!/bin/sh\n[ -e edit ] && sed -i s/first/second/ a.ptx\nexec " + m_real +
                                             " \"$@\"\n#" + std::string(1'000'000, ' '));
    fs::permissions(slow, fs::perms::owner_all);
    const auto compile = [&] {
        const ProcessResult result =
            stand_in({"-arch=sm_80", "a.ptx", "-o", "out.cubin"}, {{"HEARTH_PTXAS", slow.string()}});
        EXPECT_EQ(result.exit_code, 0) << result.err;
        return read(scratch / "out.cubin");
    };
    write("edit", "");
    EXPECT_NE(compile().find("second"), std::string::npos) << "what ptxas itself gives";
    fs::remove(scratch / "edit");
    write("a.ptx", k_ptx);
    EXPECT_EQ(compile().find("second"), std::string::npos);
}

TEST_F(Ptxas, that_is_not_there_is_named)
{
    const ProcessResult result = stand_in({"a.ptx"}, {{"HEARTH_PTXAS", "/no/such/ptxas"}});
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_NE(result.err.find("/no/such/ptxas"), std::string::npos) << result.err;
}

}  // namespace hearth::test
