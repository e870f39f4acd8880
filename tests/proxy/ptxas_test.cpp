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
    ProcessResult theirs(Words words)
    {
        words.insert(words.begin(), ptxas);
        return bare(words);
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

TEST_F(Ptxas, is_asked_the_same_by_any_name_of_its_input)
{
    // As Triton 3.9 asks: temporary names, line numbers, messages, and an option that the help of no ptxas lists.
    const auto words = [](const char* name, const char* option) {
        return Words{"-lineinfo", "-v", option, "--gpu-name=sm_80", "--fmad=false", name, "-o", "x.o"};
    };
    ASSERT_EQ(ours(words("a.ptx", "--regAllocOptLevel=2")).exit_code, 0);
    const std::string expected = read(scratch / "x.o");
    const ProcessResult renamed = ours(words("other.ptx", "--regAllocOptLevel=2"), forbid);
    EXPECT_TRUE(ends_saying(renamed, 0, "Compiling entry function 'first'"));
    EXPECT_EQ(read(scratch / "x.o"), expected);
    EXPECT_EQ(ours(words("a.ptx", "--regAllocOptLevel=1"), forbid).exit_code, 3) << "another value is another result";
    // Not where the name is in what it writes.
    ASSERT_EQ(ours({"-g", "-arch", "sm_80", "a.ptx", "-o", "z.o"}).exit_code, 0);
    EXPECT_EQ(ours({"-g", "-arch", "sm_80", "other.ptx", "-o", "z.o"}, forbid).exit_code, 3);
}

TEST_F(Ptxas, gives_what_ptxas_gives_into_the_file_that_is_there_and_the_second_time_from_the_cache)
{
    ASSERT_EQ(theirs({"--gpu-name=sm_80", "-O3", "a.ptx", "-o", "expected"}).exit_code, 0);
    for (const Variables& environment : {Variables{}, forbid}) {
        // Longer than what comes, and open, as a temporary file of its caller is.
        const fs::path out = write("out", std::string(100'000, 'x'));
        std::ifstream open(out, std::ios::binary);
        const ProcessResult result = ours({"--gpu-name=sm_80", "-O3", "a.ptx", "-o", "out"}, environment);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_EQ(result.out + result.err, "");
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(open), {}), read(scratch / "expected"));
    }
    EXPECT_EQ(ours({"--gpu-name=sm_90", "-O3", "a.ptx", "-o", "out"}, forbid).exit_code, 3)
        << "another target is another result";
}

TEST_F(Ptxas, compiles_nothing_past_the_cache_where_that_is_forbidden)
{
    fs::create_symlink("/dev/stdin", scratch / "stream.ptx");
    for (const Words& words :
         {Words{"--input-as-string", k_ptx, "-o", "x"}, {"a.ptx", "-o", "/dev/stdout"}, {"stream.ptx", "-o", "x"}}) {
        const ProcessResult result = ours(words, forbid);
        EXPECT_TRUE(ends_saying(result, 3, "HEARTH_FORBID_COMPILE=0")) << words[0];
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        EXPECT_FALSE(fs::exists(scratch / "x"));
    }
}

TEST_F(Ptxas, answers_what_is_no_plain_compile_and_what_is_wrong_itself)
{
    const auto compare = [this](const Words& words, const Variables& environment) {
        const ProcessResult expected = theirs(words);
        const ProcessResult result = ours(words, environment);
        EXPECT_EQ(result.exit_code, expected.exit_code) << (words.empty() ? "" : words.back());
        EXPECT_EQ(result.out, expected.out);
        EXPECT_EQ(result.err, expected.err);
    };
    // What compiles nothing is not refused where compiling is.
    for (const Words& words : {Words{"--version"}, {"--help"}, {"--list-version"}, {}})
        compare(words, forbid);
    fs::copy(scratch / "broken.ptx", scratch / "renamed.ptx");
    // The last is a regular file that cannot be read.
    for (const char* file : {"broken.ptx", "renamed.ptx", "missing.ptx", "/proc/self/mem"}) {
        compare({"-arch", "sm_80", file, "-o", "x"}, {});
        EXPECT_FALSE(fs::exists(scratch / "x")) << file;
    }
    compare({"--no-such-option", "a.ptx"}, {});
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
