#include "compilers/command/profile.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using Words = std::vector<std::string>;

command::Call call_of(const std::string& program, const Words& arguments)
{
    return command::read_call(*command::profile_of(program), arguments);
}

}  // namespace

TEST(Profile, is_found_by_the_programs_name)
{
    for (const char* program :
         {"g++", "/usr/bin/g++-12", "aarch64-linux-gnu-gcc", "x86_64-linux-gnu-g++-13", "clang-16", "c++"})
        EXPECT_EQ(command::profile_of(program)->name, "c++") << program;
    EXPECT_EQ(command::profile_of("/usr/local/cuda/bin/nvcc")->name, "nvcc");
    for (const char* program : {"ld", "python3", "nvcc-wrapper", "sh"})
        EXPECT_EQ(command::profile_of(program), nullptr) << program;
}

TEST(Profile, tells_outputs_and_directories_from_what_decides_the_result)
{
    const command::Call one = call_of("g++", {"-Iinc", "-c", "/a/x.cpp", "-o", "x.o"});
    const command::Call other = call_of("g++", {"-I", "/elsewhere", "-c", "/b/x.cpp", "-oy.o"});
    EXPECT_EQ(one.words, other.words);
    EXPECT_EQ(one.outputs, Words{"x.o"});
    EXPECT_EQ(other.outputs, Words{"y.o"});
    EXPECT_EQ(other.directories, Words{"/elsewhere"});
    EXPECT_EQ(one.sources, Words{"/a/x.cpp"});
    EXPECT_TRUE(one.why_past_the_cache.empty()) << one.why_past_the_cache;
    EXPECT_NE(one.words, call_of("g++", {"-Iinc", "-O2", "-c", "x.cpp", "-o", "x.o"}).words);
    EXPECT_EQ(call_of("nvcc", {"-t", "4", "-c", "k.cu"}).words, call_of("nvcc", {"--threads=2", "-c", "k.cu"}).words);
    EXPECT_NE(call_of("nvcc", {"-c", "k.cu"}).words,
              call_of("nvcc", {"-gencode", "arch=compute_80", "-c", "k.cu"}).words);
}

TEST(Profile, knows_the_steps_of_nvcc_by_what_they_read_and_write)
{
    const auto cicc = [](const std::string& before) {
        return call_of("cicc",
                       {"-arch", "compute_80", "--include_file_name", before + "3_x.fatbin.c", "--module_id_file_name",
                        "/tmp/" + before + "4_x.module_id", "--stub_file_name", "/tmp/" + before + "7_x.stub.c",
                        "/tmp/" + before + "8_x.cpp1.ii", "-o", "/tmp/" + before + "7_x.ptx"});
    };
    const command::Call one = cicc("tmpxft_00000001_00000000-");
    EXPECT_EQ(one.words, cicc("tmpxft_00000002_00000000-").words);
    EXPECT_EQ(one.why_past_the_cache, "");
    EXPECT_EQ(one.sources.size(), 2U);
    EXPECT_EQ(one.outputs.size(), 2U);
    EXPECT_EQ(one.temporaries.size(), 3U);
    // Names that last count, since the stub holds them.
    EXPECT_NE(cicc("a-").words, cicc("b-").words);
    EXPECT_NE(call_of("cicc", {"--new", "tmpxft_1_0-1_x.bc", "x.ii", "-o", "x.ptx"}).why_past_the_cache, "");
}

TEST(Profile, of_tileiras_knows_its_outputs_and_not_the_names_of_its_bytecode)
{
    const command::Call call = call_of("tileiras", {"/tmp/k7.bytecode", "-o", "k.cubin", "--gpu-name", "sm_90", "-O3",
                                                    "--lineinfo", "--remarks-output-file=k.yaml"});
    EXPECT_TRUE(call.why_past_the_cache.empty()) << call.why_past_the_cache;
    EXPECT_TRUE(call.compiles);
    EXPECT_EQ(call.outputs, (Words{"k.cubin", "k.yaml"}));
    EXPECT_EQ(call.words, call_of("tileiras", {"a.bytecode", "-o", "b", "--gpu-name", "sm_90", "-O3", "--lineinfo",
                                               "--remarks-output-file=c"})
                              .words);
    EXPECT_NE(call_of("tileiras", {"a.bc", "--arch", "sm_90"}).words,
              call_of("tileiras", {"a.bc", "--arch", "sm_100"}).words);
    EXPECT_TRUE(call_of("tileiras", {"a.bc", "--device-debug"}).paths_matter);
    EXPECT_TRUE(call_of("tileiras", {"--version"}).only_tells);
}

TEST(Profile, knows_what_no_cache_can_keep)
{
    for (const Words& words : {Words{"-c", "-"},
                               {"-c", "-march=native", "x.cpp"},
                               {"-c", "--coverage", "x.cpp"},
                               {"-c", "-gsplit-dwarf", "x.cpp"},
                               {"-c"},
                               {"-c", "@absent"}})
        EXPECT_FALSE(call_of("g++", words).why_past_the_cache.empty()) << words.back();
    for (const char* word : {"--version", "-E", "-M", "-###", "-dumpmachine", "-print-file-name=x"})
        EXPECT_TRUE(call_of("g++", {word, "x.cpp"}).only_tells) << word;
    EXPECT_TRUE(call_of("nvcc", {"--dryrun", "-c", "k.cu"}).only_tells);
    EXPECT_FALSE(call_of("g++", {"-dumpdir", "x", "-c", "x.cpp"}).only_tells) << "it compiles, and is to be forbidden";
    EXPECT_TRUE(call_of("g++", {"-g", "-c", "x.cpp"}).has_debug);
    EXPECT_FALSE(call_of("g++", {"-g0", "-c", "x.cpp"}).has_debug);
    EXPECT_TRUE(call_of("g++", {"-gz", "-c", "x.cpp"}).paths_matter);
    EXPECT_TRUE(call_of("nvcc", {"-lineinfo", "-c", "k.cu"}).has_debug);
    EXPECT_TRUE(call_of("nvcc", {"-G", "-c", "k.cu"}).paths_matter);
    EXPECT_FALSE(call_of("nvcc", {"-rdc=false", "-c", "k.cu"}).paths_matter);
}

TEST(Profile, tells_a_link_from_a_compile_and_takes_for_a_program_only_what_a_linker_makes)
{
    const auto kind = [](const std::string& program, const Words& words) {
        const command::Call call = call_of(program, words);
        return std::string(call.compiles ? "compiles" : "") + (call.is_linked ? " links" : "");
    };
    EXPECT_EQ(kind("g++", {"x.cpp", "y.o", "-o", "x"}), "compiles links");
    EXPECT_EQ(kind("nvcc", {"--shared", "k.cu", "-o", "k.so"}), "compiles links");
    EXPECT_EQ(kind("nvcc", {"-dlink", "k.o", "-o", "l.o"}), "compiles");
    EXPECT_EQ(kind("g++", {"-c", "x.cpp", "-o", "x.o"}), "compiles");
    EXPECT_EQ(kind("ptxas", {"k.ptx"}), "compiles");
    EXPECT_FALSE(call_of("g++", {"x.o", "-o", "x"}).compiles);
    EXPECT_FALSE(call_of("nvcc", {"k.o", "-o", "k"}).compiles);
}

TEST(Profile, knows_what_is_written_where_no_output_is_named)
{
    const auto outputs = [](const char* program, const Words& words) { return call_of(program, words).outputs; };
    EXPECT_EQ(outputs("g++", {"-c", "src/x.y.cpp", "z.c"}), (Words{"x.y.o", "z.o"}));
    EXPECT_EQ(outputs("g++", {"-S", "x.cpp"}), Words{"x.s"});
    EXPECT_EQ(outputs("g++", {"-shared", "x.cpp", "y.o"}), Words{"a.out"});
    EXPECT_EQ(outputs("g++", {"-c", "-MD", "x.cpp"}), (Words{"x.d", "x.o"}));
    EXPECT_EQ(outputs("g++", {"-c", "one/x.cpp", "two/x.cpp"}), Words{"x.o"});
    EXPECT_EQ(outputs("nvcc", {"-cuda", "k.cu"}), Words{"k.cu.cpp.ii"});
    EXPECT_EQ(outputs("nvcc", {"-dlink", "k.o"}), Words{"a_dlink.o"});
    EXPECT_EQ(outputs("ptxas", {"k.ptx"}), Words{"elf.o"});
    EXPECT_EQ(outputs("tileiras", {"k.bc"}), Words{});
    EXPECT_EQ(outputs("g++", {"-c", "x.cpp", "-o", "out/y.o"}), Words{"out/y.o"});
}

TEST(Profile, names_inputs_of_ptxas_only_where_they_are_kept)
{
    const auto words = [](const Words& given) { return call_of("ptxas", given).words; };
    EXPECT_EQ(words({"-lineinfo", "-v", "--regAllocOptLevel=2", "one.ptx", "-o", "1"}),
              words({"-lineinfo", "-v", "--regAllocOptLevel=2", "two.ptx", "-o", "2"}));
    EXPECT_NE(words({"-g", "one.ptx", "-o", "1"}), words({"-g", "two.ptx", "-o", "2"}));
}

TEST(Profile, names_the_file_of_dependencies)
{
    const command::Call named = call_of("g++", {"-MMD", "-MF", "deps", "-c", "x.cpp", "-o", "x.o"});
    EXPECT_EQ(named.outputs.at(named.dependencies.value()), "deps");
    const command::Call beside = call_of("g++", {"-MD", "-c", "x.cpp", "-o", "out/x.o"});
    EXPECT_EQ(beside.outputs.at(beside.dependencies.value()), "out/x.d");
    const command::Call plain = call_of("g++", {"-MD", "-c", "src/x.cpp"});
    EXPECT_EQ(plain.outputs.at(plain.dependencies.value()), "x.d");
    EXPECT_FALSE(call_of("g++", {"-c", "x.cpp"}).dependencies);
}

// A hit would write a file that the compiler does not.
TEST(Profile, keeps_no_call_where_an_option_that_is_not_known_may_decide_what_is_written)
{
    const auto is_kept = [](const char* program, const Words& words) {
        const command::Call call = call_of(program, words);
        return call.why_past_the_cache.empty() && !call.only_tells;
    };
    for (const Words& words :
         {Words{"x.cpp", "--output=prog"}, Words{"x.cpp", "--output", "prog"}, Words{"--compile", "x.cpp"},
          Words{"--preprocess", "x.cpp", "-o", "x"}, Words{"--dependencies", "x.cpp"}, Words{"-fsyntax", "x.cpp"},
          Words{"--analyze", "x.cpp"}, Words{"-emit-ast", "x.cpp"}, Words{"-module-file-info", "x.cpp"},
          Words{"-cc1", "-emit-obj", "x.cpp"}, Words{"x.cpp", "-o", "one", "-o", "two"}})
        EXPECT_FALSE(is_kept("clang++", words)) << testing::PrintToString(words);
    EXPECT_FALSE(is_kept("nvcc", {"-objtemp", "-c", "k.cu", "-o", "k.o"}));
    EXPECT_FALSE(is_kept("ptxas", {"k.ptx", "-ok.cubin"}));
    EXPECT_EQ(call_of("nvcc", {"-c", "k.cu", "-o=k.o"}).outputs, Words{"k.o"});
    EXPECT_EQ(call_of("g++", {"-S", "-c", "x.cpp"}).outputs, Words{"x.s"});

    EXPECT_TRUE(is_kept("g++", {"-fstack-clash-protection", "--sysroot=/a", "-c", "x.cpp", "-o", "x.o"}));
    EXPECT_TRUE(is_kept("clang++", {"--cuda-gpu-arch=sm_90", "--target=x86_64", "-c", "k.cpp", "-o", "k.o"}));
    EXPECT_TRUE(is_kept("hipcc", {"--offload-arch=gfx942", "--genco", "k.cu", "-o", "k.co"}));
    EXPECT_TRUE(is_kept("nvcc", {"--restrict", "--resource-usage", "-c", "k.cu", "-o", "k.o"}));
}

}  // namespace hearth::test
