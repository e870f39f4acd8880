// ptxas through the cache, as Triton and others start it: the same files, messages and exit codes.
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
        if (std::string_view(HEARTH_DROPINS).empty())
            GTEST_SKIP() << "The recorder is not built: a sanitizer's library cannot be loaded into other programs.";
        if (::access(m_real.c_str(), X_OK) != 0)
            GTEST_SKIP() << "No ptxas is installed.";
        write("a.ptx", k_ptx);
        write("other.ptx", k_ptx);
        write("broken.ptx", std::string(k_ptx) + "garbage\n");
    }
    ProcessResult real(std::vector<std::string> words)
    {
        words.insert(words.begin(), m_real);
        return run_process(words, {.environment = {}, .directory = scratch.string()});
    }
    ProcessResult ours(std::vector<std::string> words, const std::map<std::string, std::string>& environment = {})
    {
        words.insert(words.begin(), m_real);
        ProcessOptions options{.environment = {environment.begin(), environment.end()}};
        options.directory = scratch.string();
        return hearth(words, options);
    }

    std::string m_real = "/usr/local/cuda/bin/ptxas";
    const std::map<std::string, std::string> m_forbid{{"HEARTH_FORBID_COMPILE", "1"}};
};

}  // namespace

TEST_F(Ptxas, gives_what_ptxas_gives_and_the_second_time_from_the_cache)
{
    const std::vector<std::string> words{"--gpu-name=sm_80", "-O3", "a.ptx", "-o", "a.cubin"};
    ASSERT_EQ(real(words).exit_code, 0);
    const std::string expected = read(scratch / "a.cubin");
    for (const char* time : {"miss", "hit"}) {
        fs::remove(scratch / "a.cubin");
        const ProcessResult result = ours(words);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(result.err, "");
        EXPECT_EQ(read(scratch / "a.cubin"), expected) << time;
    }
    EXPECT_EQ(ours({"--gpu-name=sm_90", "-O3", "a.ptx", "-o", "a.cubin"}, m_forbid).exit_code, 3)
        << "another target is another result";
}

TEST_F(Ptxas, is_asked_the_same_by_any_name_of_its_input)
{
    // As Triton asks: temporary names, line numbers, messages.
    const auto words = [](const char* name) {
        return std::vector<std::string>{"-lineinfo", "-v", "--gpu-name=sm_80", "--fmad=false", name, "-o", "x.o"};
    };
    ASSERT_EQ(ours(words("a.ptx")).exit_code, 0);
    const std::string expected = read(scratch / "x.o");
    const ProcessResult renamed = ours(words("other.ptx"), m_forbid);
    EXPECT_EQ(renamed.exit_code, 0) << renamed.err;
    EXPECT_EQ(read(scratch / "x.o"), expected);
    EXPECT_NE(renamed.err.find("Compiling entry function 'first'"), std::string::npos) << renamed.err;
    // With an option that nobody has told us about as well, but not where the name is in what it writes.
    ASSERT_EQ(ours({"-arch", "sm_80", "--return-at-end", "a.ptx", "-o", "y.o"}).exit_code, 0);
    EXPECT_EQ(ours({"-arch", "sm_80", "--return-at-end", "other.ptx", "-o", "y.o"}, m_forbid).exit_code, 0);
    ASSERT_EQ(ours({"-g", "-arch", "sm_80", "a.ptx", "-o", "z.o"}).exit_code, 0);
    EXPECT_EQ(ours({"-g", "-arch", "sm_80", "other.ptx", "-o", "z.o"}, m_forbid).exit_code, 3);
}

TEST_F(Ptxas, says_what_is_wrong_with_the_names_of_whoever_asks)
{
    for (const char* name : {"broken.ptx", "renamed.ptx"}) {
        write(name, std::string(k_ptx) + "garbage\n");
        const ProcessResult expected = real({"-arch", "sm_80", name, "-o", "x"});
        ASSERT_NE(expected.exit_code, 0);
        const ProcessResult result = ours({"-arch", "sm_80", name, "-o", "x"});
        EXPECT_EQ(result.exit_code, expected.exit_code);
        EXPECT_EQ(result.err, expected.err);
        EXPECT_FALSE(fs::exists(scratch / "x"));
    }
}

// As Triton 3.9 calls it: the help of no ptxas lists --regAllocOptLevel.
TEST_F(Ptxas, an_option_that_nobody_knows_is_no_reason_to_go_past_the_cache)
{
    const auto compile = [&](const char* option, const std::map<std::string, std::string>& environment) {
        return ours({"-lineinfo", "-v", option, "--gpu-name=sm_80", "a.ptx", "-o", "x"}, environment).exit_code;
    };
    ASSERT_EQ(real({"--regAllocOptLevel=2", "--gpu-name=sm_80", "a.ptx", "-o", "x"}).exit_code, 0);
    EXPECT_EQ(compile("--regAllocOptLevel=2", {}), 0);
    EXPECT_EQ(compile("--regAllocOptLevel=2", m_forbid), 0) << "a hit";
    EXPECT_EQ(compile("--regAllocOptLevel=1", m_forbid), 3) << "another value is another result";
}

TEST_F(Ptxas, writes_into_the_file_that_is_there)
{
    ASSERT_EQ(real({"-arch", "sm_80", "a.ptx", "-o", "expected"}).exit_code, 0);
    for (const char* time : {"miss", "hit"}) {
        // Longer than what comes, and open, as a temporary file of its caller is.
        const fs::path out = write("out", std::string(100'000, 'x'));
        std::ifstream open(out, std::ios::binary);
        EXPECT_EQ(ours({"-arch", "sm_80", "a.ptx", "-o", "out"}).exit_code, 0);
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(open), {}), read(scratch / "expected")) << time;
    }
}

TEST_F(Ptxas, compiles_nothing_past_the_cache_where_that_is_forbidden)
{
    fs::create_symlink("/dev/stdin", scratch / "stream.ptx");
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--input-as-string", k_ptx, "-o", "x"},
                                                  {"a.ptx", "-o", "/dev/stdout"},
                                                  {"stream.ptx", "-o", "x"}}) {
        const ProcessResult result = ours(words, m_forbid);
        EXPECT_EQ(result.exit_code, 3) << words[0];
        EXPECT_EQ(result.out, "");
        EXPECT_NE(result.err.find("HEARTH_FORBID_COMPILE=0"), std::string::npos) << result.err;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        EXPECT_FALSE(fs::exists(scratch / "x"));
    }
    // What compiles nothing is not refused.
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"--version"}, {"--help"}, {"--list-version"}, {}})
        EXPECT_EQ(ours(words, m_forbid).out, real(words).out);
}

TEST_F(Ptxas, answers_what_is_no_plain_compile_itself)
{
    // The last is a regular file that cannot be read.
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--version"},
                                                  {"--help"},
                                                  {"--no-such-option", "a.ptx"},
                                                  {},
                                                  {"missing.ptx"},
                                                  {"/proc/self/mem"}}) {
        const ProcessResult expected = real(words);
        const ProcessResult result = ours(words);
        EXPECT_EQ(result.exit_code, expected.exit_code) << (words.empty() ? "" : words[0]);
        EXPECT_EQ(result.out, expected.out);
        EXPECT_EQ(result.err, expected.err);
    }
}

TEST_F(Ptxas, keeps_nothing_whose_input_changed_while_it_was_compiled)
{
    // A ptxas that edits its input first, as long as the file "edit" is there.
    const fs::path edits =
        write("ptxas", "#!/bin/sh\n[ -e edit ] && sed -i s/first/second/ a.ptx\nexec " + m_real + " \"$@\"\n");
    fs::permissions(edits, fs::perms::owner_all);
    m_real = edits.string();
    const auto compile = [&] {
        const ProcessResult result = ours({"-arch=sm_80", "a.ptx", "-o", "out.cubin"});
        EXPECT_EQ(result.exit_code, 0) << result.err;
        return read(scratch / "out.cubin");
    };
    write("edit", "");
    EXPECT_NE(compile().find("second"), std::string::npos) << "what ptxas itself gives";
    fs::remove(scratch / "edit");
    write("a.ptx", k_ptx);
    EXPECT_EQ(compile().find("second"), std::string::npos);
}

}  // namespace hearth::test
