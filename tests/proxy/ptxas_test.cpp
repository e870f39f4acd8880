// ptxas through the cache, as Triton and others start it: the same files, messages and exit codes.
#include "served.hpp"

#include <algorithm>
#include <fstream>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

const char* const k_ptx = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry first(.param .u64 p) { ret; }\n";

class Ptxas : public ServedCompiler {
protected:
    void SetUp() override
    {
        Served::SetUp();
        need(ptxas);
        write("a.ptx", k_ptx);
        write("other.ptx", k_ptx);
        write("broken.ptx", std::string(k_ptx) + "garbage\n");
    }
    ProcessResult bare(Words words)
    {
        words.insert(words.begin(), ptxas);
        return run_process(words, options_of());
    }
    ProcessResult ours(Words words, const Variables& environment = {})
    {
        words.insert(words.begin(), ptxas);
        return hearth(words, options_of(environment));
    }

    std::string ptxas = "/usr/local/cuda/bin/ptxas";
    const Variables forbid{{"HEARTH_FORBID_COMPILE", "1"}};
};

}  // namespace

TEST_F(Ptxas, gives_what_ptxas_gives_and_the_second_time_from_the_cache)
{
    const Words words{"--gpu-name=sm_80", "-O3", "a.ptx", "-o", "a.cubin"};
    ASSERT_EQ(bare(words).exit_code, 0);
    const std::string expected = read(scratch / "a.cubin");
    for (const char* time : {"miss", "hit"}) {
        fs::remove(scratch / "a.cubin");
        const ProcessResult result = ours(words);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(result.err, "");
        EXPECT_EQ(read(scratch / "a.cubin"), expected) << time;
    }
    EXPECT_EQ(ours({"--gpu-name=sm_90", "-O3", "a.ptx", "-o", "a.cubin"}, forbid).exit_code, 3)
        << "another target is another result";
}

TEST_F(Ptxas, is_asked_the_same_by_any_name_of_its_input)
{
    // As Triton asks: temporary names, line numbers, messages.
    const auto words = [](const char* name) {
        return Words{"-lineinfo", "-v", "--gpu-name=sm_80", "--fmad=false", name, "-o", "x.o"};
    };
    ASSERT_EQ(ours(words("a.ptx")).exit_code, 0);
    const std::string expected = read(scratch / "x.o");
    const ProcessResult renamed = ours(words("other.ptx"), forbid);
    EXPECT_EQ(renamed.exit_code, 0) << renamed.err;
    EXPECT_EQ(read(scratch / "x.o"), expected);
    EXPECT_NE(renamed.err.find("Compiling entry function 'first'"), std::string::npos) << renamed.err;
    // With an option that nobody has told us about as well, but not where the name is in what it writes.
    ASSERT_EQ(ours({"-arch", "sm_80", "--return-at-end", "a.ptx", "-o", "y.o"}).exit_code, 0);
    EXPECT_EQ(ours({"-arch", "sm_80", "--return-at-end", "other.ptx", "-o", "y.o"}, forbid).exit_code, 0);
    ASSERT_EQ(ours({"-g", "-arch", "sm_80", "a.ptx", "-o", "z.o"}).exit_code, 0);
    EXPECT_EQ(ours({"-g", "-arch", "sm_80", "other.ptx", "-o", "z.o"}, forbid).exit_code, 3);
}

TEST_F(Ptxas, says_what_is_wrong_with_the_names_of_whoever_asks)
{
    for (const char* name : {"broken.ptx", "renamed.ptx"}) {
        write(name, std::string(k_ptx) + "garbage\n");
        const ProcessResult expected = bare({"-arch", "sm_80", name, "-o", "x"});
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
    const auto compile = [&](const char* option, const Variables& environment) {
        return ours({"-lineinfo", "-v", option, "--gpu-name=sm_80", "a.ptx", "-o", "x"}, environment).exit_code;
    };
    ASSERT_EQ(bare({"--regAllocOptLevel=2", "--gpu-name=sm_80", "a.ptx", "-o", "x"}).exit_code, 0);
    EXPECT_EQ(compile("--regAllocOptLevel=2", {}), 0);
    EXPECT_EQ(compile("--regAllocOptLevel=2", forbid), 0) << "a hit";
    EXPECT_EQ(compile("--regAllocOptLevel=1", forbid), 3) << "another value is another result";
}

TEST_F(Ptxas, writes_into_the_file_that_is_there)
{
    ASSERT_EQ(bare({"-arch", "sm_80", "a.ptx", "-o", "expected"}).exit_code, 0);
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
    for (const Words& words :
         {Words{"--input-as-string", k_ptx, "-o", "x"}, {"a.ptx", "-o", "/dev/stdout"}, {"stream.ptx", "-o", "x"}}) {
        const ProcessResult result = ours(words, forbid);
        EXPECT_EQ(result.exit_code, 3) << words[0];
        EXPECT_EQ(result.out, "");
        EXPECT_NE(result.err.find("HEARTH_FORBID_COMPILE=0"), std::string::npos) << result.err;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        EXPECT_FALSE(fs::exists(scratch / "x"));
    }
    // What compiles nothing is not refused.
    for (const Words& words : {Words{"--version"}, {"--help"}, {"--list-version"}, {}})
        EXPECT_EQ(ours(words, forbid).out, bare(words).out);
}

TEST_F(Ptxas, answers_what_is_no_plain_compile_itself)
{
    // The last is a regular file that cannot be read.
    for (const Words& words :
         {Words{"--version"}, {"--help"}, {"--no-such-option", "a.ptx"}, {}, {"missing.ptx"}, {"/proc/self/mem"}}) {
        const ProcessResult expected = bare(words);
        const ProcessResult result = ours(words);
        EXPECT_EQ(result.exit_code, expected.exit_code) << (words.empty() ? "" : words[0]);
        EXPECT_EQ(result.out, expected.out);
        EXPECT_EQ(result.err, expected.err);
    }
}

TEST_F(Ptxas, keeps_nothing_whose_input_changed_while_it_was_compiled)
{
    // A ptxas that edits its input first, as long as the file "edit" is there.
    ptxas =
        write_program("ptxas", "#!/bin/sh\n[ -e edit ] && sed -i s/first/second/ a.ptx\nexec " + ptxas + " \"$@\"\n");
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
