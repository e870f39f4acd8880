// compile and why: hits in a new process with the log replayed and the compiler left alone (25, 29, 44, 45), why (73).
#include "command.hpp"

#include <regex>
#include <set>
#include <unistd.h>

namespace hearth::test {

namespace {

const char* const k_kernel = "extern \"C\" __global__ void saxpy(int n, float a, const float* x, float* y)\n"
                             "{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < n)\n        y[i] += a * x[i];\n}\n";

class Compile : public Command {
protected:
    void SetUp() override
    {
        m_file = write("k.cu", k_kernel).string();
        const ProcessResult tried = compile(write("try.cu", "__global__ void k() {}").string());
        if (tried.exit_code == 3)
            GTEST_SKIP() << tried.err;
    }

    // For sm_90.
    ProcessResult compile(const std::string& file, const Words& more = {}, const ProcessOptions& options = {})
    {
        return hearth(joined({"compile", file, "--target", "sm_90"}, more), options);
    }
    std::string m_file;
};

TEST_F(Compile, twice_gives_the_same_bytes_and_log_and_the_second_is_a_hit_from_disk)
{
    const std::string warns =
        write("warns.cu", std::string(k_kernel) + "__global__ void w() { int unused; }\n").string();
    const ProcessResult cold = compile(warns, {"-o", "first.cubin"});
    EXPECT_TRUE(ends_saying(cold, 0, "warns.cu(7): warning"));
    const ProcessResult warm = compile(warns, {"-o", "second.cubin"});
    EXPECT_EQ(warm.exit_code, 0);
    EXPECT_EQ(warm.err, cold.err) << "the log is replayed";
    const std::string first = read(scratch / "first.cubin");
    EXPECT_EQ(first, read(scratch / "second.cubin"));
    EXPECT_EQ(first.substr(1, 3), "ELF");
    const nlohmann::json row = object_of(compile(warns, {"--json"}));
    EXPECT_TRUE(holds(row, {{"outcome", "hit"}, {"tier", "disk"}, {"file", warns}, {"target", "sm_90"}}));
    EXPECT_EQ(row.at("key").get<std::string>().size(), 64U);
    EXPECT_EQ(row.at("sections").at("cubin"), first.size());
    EXPECT_GE(row.at("seconds").get<double>(), 0);
}

TEST_F(Compile, a_hit_does_not_open_the_compiler)
{
    // The library's file is known by its time stamps; what it holds is then of no interest any more.
    compile(m_file);
    if (::access("/usr/bin/strace", X_OK) != 0)
        GTEST_SKIP() << "strace is not installed";
    const std::string trace = (scratch / "trace").string();
    const ProcessResult warm =
        run_process({"/usr/bin/strace", "-f", "-e", "trace=open,openat,openat2", "-o", trace, HEARTH_COMMAND, "--dir",
                     cache.string(), "compile", m_file, "--arch", "sm_90", "--json"});
    if (warm.exit_code != 0)
        GTEST_SKIP() << "strace cannot trace here: " << warm.err;
    EXPECT_EQ(object_of(warm).at("outcome"), "hit");
    EXPECT_EQ(read(trace).find("libnvrtc"), std::string::npos) << read(trace);
}

TEST_F(Compile, several_targets_are_one_object_a_line_and_files_in_a_directory)
{
    const auto rows =
        json_lines_of({"compile", m_file, "--arch", "sm_80,sm_90,compute_90", "-o", "build/kernels", "--json"});
    ASSERT_EQ(rows.size(), 3U);
    for (const char* name : {"k.sm_80.cubin", "k.sm_90.cubin", "k.compute_90.ptx"})
        EXPECT_TRUE(std::filesystem::exists(scratch / "build/kernels" / name)) << name << " in a folder that is made";
    EXPECT_EQ(hearth({"compile", m_file, "--arch", "sm_80,sm_90", "-o", "build/kernels"}).exit_code, 0) << "is there";
    EXPECT_EQ(hearth({"compile", m_file, "--arch", "sm_80,sm_90", "-o", write("one", "").string()}).exit_code, 2)
        << "several results and a file";
    EXPECT_EQ(compile(m_file, {"-o", "build/one/"}).exit_code, 0);
    EXPECT_TRUE(std::filesystem::exists(scratch / "build/one/k.sm_90.cubin"));
}

TEST_F(Compile, a_dash_is_standard_output_and_takes_one_result)
{
    ASSERT_EQ(compile(m_file, {"-o", "k.cubin"}).exit_code, 0);
    const ProcessResult written = compile(m_file, {"-o", "-"});
    EXPECT_EQ(written.exit_code, 0);
    EXPECT_EQ(written.out, read(scratch / "k.cubin"));
    EXPECT_EQ(hearth({"compile", m_file, "--target", "sm_80,sm_90", "-o", "-"}).exit_code, 2);
    EXPECT_EQ(compile(m_file, {"-o", "-", "--json"}).exit_code, 2);
    EXPECT_FALSE(std::filesystem::exists(scratch / "-"));
}

TEST_F(Compile, a_toolkit_that_the_loader_does_not_know_is_enough)
{
    // In namespaces of its own, with the loader's list of libraries hidden.
    const std::vector<std::string> hidden{
        "/usr/bin/unshare", "-rm", "/bin/sh", "-c", "mount --bind /dev/null /etc/ld.so.cache && exec \"$@\"", "sh"};
    const auto among_hidden = [&](std::vector<std::string> words) {
        words.insert(words.begin(), hidden.begin(), hidden.end());
        return run_process(words, {.environment = {{"HEARTH_DIR", scratch / "hidden-cache"}, {"LD_LIBRARY_PATH", {}}}});
    };
    if (among_hidden({"/bin/true"}).exit_code != 0)
        GTEST_SKIP() << "No list of the loader can be hidden here.";
    const ProcessResult result =
        among_hidden({HEARTH_COMMAND, "compile", m_file, "--target", "compute_80", "-o", scratch / "hidden.ptx"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    ASSERT_EQ(hearth({"compile", m_file, "--target", "compute_80", "-o", scratch / "k.ptx"}).exit_code, 0);
    EXPECT_EQ(read(scratch / "hidden.ptx"), read(scratch / "k.ptx"));
}

TEST_F(Compile, lto_ir_is_given_when_it_is_asked_for)
{
    ASSERT_EQ(compile(m_file, {"--emit", "ltoir", "-o", "a"}).exit_code, 0);
    ASSERT_EQ(compile(m_file, {"--emit", "ltoir", "-o", "b", "--", "-dlto"}).exit_code, 0);
    EXPECT_NE(read(scratch / "a"), "");
    EXPECT_EQ(read(scratch / "a"), read(scratch / "b"));
}

TEST_F(Compile, without_a_gpu_the_target_is_the_newest_that_the_compiler_knows)
{
    if (!object_of(hearth({"doctor", "--json"})).at("gpus").empty())
        GTEST_SKIP() << "there is a GPU";
    const ProcessResult compiled = hearth({"compile", m_file, "--json"});
    const auto row = object_of(compiled);
    const std::string target = row.at("target");
    EXPECT_EQ(target.substr(0, 3), "sm_");
    EXPECT_TRUE(row.at("sections").contains("cubin")) << row;
    EXPECT_TRUE(ends_saying(compiled, 0, "the target is " + target));
    EXPECT_EQ(hearth({"why", m_file}).exit_code, 0) << "the same target";
    EXPECT_EQ(object_of(hearth({"compile", m_file, "--json", "--", "-arch=sm_80"})).at("target"), "")
        << "the options choose";
}

TEST_F(Compile, options_behind_two_dashes_reach_the_compiler)
{
    const std::string source =
        write("std.cu", "static_assert(__cplusplus >= 202002L);\n#if X != 7\n#error\n#endif\n__global__ void k() {}")
            .string();
    EXPECT_EQ(compile(source, {"-D", "X=7", "--", "-std=c++20"}).exit_code, 0);
    EXPECT_EQ(compile(source, {"-D", "X=8", "--", "-std=c++20"}).exit_code, 4);
}

TEST_F(Compile, a_compile_error_is_exit_code_4_with_the_log_and_stays_one_and_no_hit)
{
    const std::string bad = write("bad.cu", "__global__ void k() { undeclared = 1; }").string();
    for (int i = 0; i < 2; ++i)
        EXPECT_TRUE(ends_saying(compile(bad), 4, "undeclared"));
    EXPECT_EQ(json_of({"stats", "--json"}).at("misses").at("absent"), 2) << "the try, and this once";
    EXPECT_TRUE(holds(object_of(compile(bad, {"--json"})), {{"exit", 4}, {"outcome", "error"}}));
    EXPECT_TRUE(ends_printing(hearth({"why", bad, "--target", "sm_90"}), 4, "error"));
    EXPECT_TRUE(
        holds(object_of(hearth({"why", bad, "--target", "sm_90", "--json"})), {{"exit", 4}, {"outcome", "error"}}));
    EXPECT_EQ(json_lines_of({"ls", "--failed", "--json"}).size(), 1U);
}

TEST_F(Compile, what_is_not_there_is_said_before_anything_is_compiled)
{
    EXPECT_EQ(hearth({"compile", (scratch / "none.cu").string()}).exit_code, 3);
    EXPECT_TRUE(ends_saying(hearth({"compile", write("k.txt", "x").string()}), 2, ".cu, .ptx or .cl"));
    EXPECT_EQ(hearth({"compile"}).exit_code, 2);
    EXPECT_EQ(hearth({"compile", m_file, "--emit", "soup"}).exit_code, 2);
    EXPECT_TRUE(ends_saying(hearth({"compile", m_file, "--target", "90"}), 2, "Did you mean sm_90?"));
    EXPECT_TRUE(ends_saying(
        hearth({"compile", m_file, "--arch", "compute_90", "--emit", "cubin", "-o", (scratch / "x").string()}), 3,
        "It gave: ptx"));
}

TEST_F(Compile, a_missing_cuda_header_comes_with_a_hint_where_it_lies)
{
    const std::string half = write("half.cu", "#include <cuda_fp16.h>\n__global__ void k() {}").string();
    const bool lies_there = std::filesystem::exists("/usr/local/cuda/include/cuda_fp16.h");
    EXPECT_TRUE(ends_saying(compile(half), 4, lies_there ? "add -I " : ""));
}

TEST_F(Compile, without_a_cache_it_still_compiles)
{
    write("file", "");
    const ProcessResult compiled = compile(m_file, {"--dir", (scratch / "file/below").string(), "-o", "k.cubin"});
    EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
    EXPECT_TRUE(std::filesystem::exists(scratch / "k.cubin"));
    EXPECT_TRUE(ends_saying(compile(m_file, {}, {.environment = {{"HEARTH_DISABLE", "1"}}}), 0, "turned off"));
}

// 74
TEST_F(Compile, one_that_is_refused_names_its_file_and_a_key_that_can_be_typed)
{
    const ProcessResult refused = compile(m_file, {}, {.environment = {{"HEARTH_FORBID_COMPILE", "1"}}});
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_NE(refused.err.find("k.cu (entry "), std::string::npos) << refused.err;
    EXPECT_FALSE(std::regex_search(refused.err, std::regex("[0-9a-f]{64}"))) << "no long key: " << refused.err;
}

// 30
TEST_F(Compile, the_kernels_of_an_entry_are_shown_by_name_with_ptx_and_without)
{
    const std::string two =
        write("two.cu", std::string(k_kernel) + "template <class T> __global__ void twice(T* x) { *x += *x; }\n"
                                                "template __global__ void twice<int>(int*);\n")
            .string();
    const std::set<std::string> kernels{"saxpy", "_Z5twiceIiEvPT_"};
    ASSERT_EQ(compile(two).exit_code, 0);
    const auto shown = json_of({"show", "two.cu", "--json"});
    EXPECT_EQ(shown.at("kernels").get<std::set<std::string>>(), kernels);
    EXPECT_NE(shown.at("compiler_build"), "");
    EXPECT_TRUE(ends_printing(hearth({"show", "two.cu"}), 0, "saxpy"));

    ASSERT_EQ(compile(two, {"--emit", "ptx", "-o", "two.ptx"}).exit_code, 0);
    if (compile("two.ptx").exit_code == 0) {
        EXPECT_EQ(json_of({"show", "two.ptx", "--json"}).at("kernels").get<std::set<std::string>>(), kernels)
            << "from the CUBIN alone";
    }
}

TEST_F(Compile, what_it_depends_on_is_shown)
{
    write("value.h", "#define VALUE 1\n");
    const std::string file =
        write("reads.cu", "#include \"value.h\"\n__global__ void k(int* p) { *p = VALUE; }\n").string();
    const nlohmann::json row = object_of(compile(file, {"--json"}));
    const nlohmann::json entry = json_of({"show", row.at("key"), "--json"});
    std::set<std::string> shown;
    for (const nlohmann::json& one : entry.at("dependencies"))
        shown.insert(one.at("kind").get<std::string>() + ": " + one.at("what").get<std::string>());
    EXPECT_TRUE(shown.contains("file: value.h beside the program")) << testing::PrintToString(shown);
    EXPECT_TRUE(shown.contains("not set: NVRTC_APPEND_FLAGS")) << testing::PrintToString(shown);
    EXPECT_TRUE(ends_printing(hearth({"show", row.at("key")}), 0, "value.h beside the program"));
}

TEST_F(Compile, ptx_becomes_a_cubin)
{
    const std::string ptx = (scratch / "k.ptx").string();
    ASSERT_EQ(hearth({"compile", m_file, "--arch", "compute_80", "-o", ptx}).exit_code, 0);
    const ProcessResult linked = compile(ptx, {"--json"});
    if (linked.exit_code == 3)
        GTEST_SKIP() << linked.err;
    EXPECT_EQ(object_of(linked).at("outcome"), "miss") << linked.err;
    EXPECT_EQ(object_of(compile(ptx, {"--json"})).at("outcome"), "hit");
    EXPECT_EQ(compile(write("bad.ptx", ".version 9.0\nnonsense\n").string()).exit_code, 4);
}

TEST_F(Compile, why_it_is_a_hit_or_misses_by_an_option_or_a_header)
{
    write("value.h", "#define VALUE 1\n");
    const std::string file = write("v.cu", "#include \"value.h\"\n__global__ void k(int* x) { *x = VALUE; }").string();
    EXPECT_EQ(hearth({"why", file, "--arch", "sm_90"}).exit_code, 1);
    ASSERT_EQ(compile(file).exit_code, 0);
    EXPECT_TRUE(ends_printing(hearth({"why", file, "--arch", "sm_90"}), 0, "hit"));

    const auto option = object_of(hearth({"why", file, "--arch", "sm_90", "--json", "--", "-maxrregcount=32"}));
    EXPECT_TRUE(holds(option, {{"outcome", "miss"}, {"differences/0/here", "-maxrregcount=32"}}));
    EXPECT_EQ(option.at("differences").size(), 1U);

    write("value.h", "#define VALUE 2\n");
    EXPECT_TRUE(ends_printing(hearth({"why", file, "--arch", "sm_90"}), 1, "value.h"));
}

}  // namespace

TEST_F(Compile, get_writes_what_compile_writes)
{
    ASSERT_EQ(compile("k.cu", {"-o", "compiled.cubin"}).exit_code, 0);
    ASSERT_EQ(compile("k.cu", {"--emit", "ptx", "-o", "compiled.ptx"}).exit_code, 0);
    for (const auto& [file, same] : std::map<std::string, std::string>{
             {"k.cubin", "compiled.cubin"}, {"k.ptx", "compiled.ptx"}, {"kernel", "compiled.cubin"}}) {
        const ProcessResult got = hearth({"get", "k.cu", "--target", "sm_90", "-o", file});
        EXPECT_EQ(got.exit_code, 0) << got.err;
        EXPECT_EQ(read(scratch / file), read(scratch / same)) << file;
    }
    const ProcessResult shown = hearth({"show", "k.cu", "--target", "sm_90"});
    EXPECT_EQ(shown.out.find("sha256 sha256:"), std::string::npos) << shown.out;
}

}  // namespace hearth::test
