// The steps of nvcc, each answered by itself: what is left of a compile of which only a part has changed.
#include "served.hpp"

#include <fmt/format.h>
#include <regex>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

const fs::path k_toolkit = "/usr/local/cuda";

class Steps : public ServedCompiler {
protected:
    void SetUp() override
    {
        Served::SetUp();
        need(k_toolkit / "bin/nvcc");
        write("k.cu", "#ifndef __CUDA_ARCH__\n#include \"host.h\"\n#endif\n"
                      "__global__ void k(double* x) { *x = sin(*x) + ADDED; }\n");
        write("host.h", "int host() { return 1; }\n");
    }

    Words nvcc(Words words) const
    {
        words.insert(words.begin(), {(toolkit / "bin/nvcc").string(), "-DADDED=1"});
        return words;
    }
    ProcessResult theirs(const Words& words) { return bare(nvcc(words)); }
    // With words before it, such as exec or run.
    ProcessResult nvcc_behind(Words all, const Words& words, const ProcessOptions& options = {})
    {
        for (const std::string& word : nvcc(words))
            all.push_back(word);
        return hearth(all, options);
    }
    // "hits compiled", and what became of nvcc itself.
    std::string steps_of(const Words& words, const std::string& directory = {})
    {
        result = nvcc_behind({"run", "--json", "--"}, words, options_of({}, directory));
        const nlohmann::json summary = summary_of(result);
        return fmt::format("{} of {}, nvcc {}", summary["steps"].value("hits", -1),
                           summary["steps"].value("hits", 0) + summary["steps"].value("compiled", 0),
                           summary.value("hits", 0) == 1       ? "hit"
                           : summary.value("compiled", 0) == 1 ? "compiled"
                                                               : "past the cache");
    }
    // What was written, but for the number of the process that nvcc puts into names.
    std::string made(const std::string& file) const
    {
        return std::regex_replace(read(scratch / file), std::regex("tmpxft_[0-9a-f]{8}"), "tmpxft_");
    }
    // One that may be changed.
    void copy_toolkit()
    {
        toolkit = scratch / "toolkit";
        fs::create_directories(toolkit / "bin");
        fs::create_directories(toolkit / "nvvm/bin");
        for (const fs::directory_entry& each : fs::directory_iterator(k_toolkit / "bin"))
            fs::create_symlink(each.path(), toolkit / "bin" / each.path().filename());
        for (const char* name : {"bin/nvcc", "bin/nvcc.profile", "nvvm/bin/cicc"}) {
            fs::remove(toolkit / name);
            fs::copy(k_toolkit / name, toolkit / name);
        }
        for (const char* name : {"targets", "include", "lib", "nvvm/libdevice"})
            if (fs::exists(k_toolkit / name))
                fs::create_symlink(k_toolkit / name, toolkit / name);
    }

    fs::path toolkit = k_toolkit;
    ProcessResult result;
};

const Words k_one{"-c", "k.cu", "-o", "k.o", "-gencode", "arch=compute_80,code=sm_80"};
Words with_another_target(Words words)
{
    words.insert(words.end(), {"-gencode", "arch=compute_90,code=sm_90"});
    return words;
}

}  // namespace

TEST_F(Steps, of_the_old_target_are_hits_when_one_is_added_and_of_the_same_programs)
{
    copy_toolkit();
    EXPECT_EQ(steps_of(k_one), "0 of 3, nvcc compiled") << result.err;
    EXPECT_EQ(steps_of(with_another_target(k_one)), "3 of 5, nvcc compiled") << result.err;
    const std::string ours = made("k.o");
    EXPECT_EQ(theirs(with_another_target(k_one)).exit_code, 0);
    EXPECT_EQ(made("k.o"), ours);
    // What was answered within is no reason not to answer the whole.
    fs::remove(scratch / "k.o");
    EXPECT_EQ(steps_of(with_another_target(k_one)), "0 of 0, nvcc hit") << result.err;
    EXPECT_EQ(made("k.o"), ours);
    // The same to the system, and another program to everybody who reads it.
    const std::string cicc = read(toolkit / "nvvm/bin/cicc");
    write("toolkit/nvvm/bin/cicc", cicc + "changed");
    EXPECT_EQ(steps_of(with_another_target(k_one)), "3 of 5, nvcc compiled") << result.err;
    write("toolkit/nvvm/bin/cicc", cicc);
    EXPECT_EQ(steps_of(with_another_target(k_one)), "0 of 0, nvcc hit") << result.err;
}

TEST_F(Steps, of_the_device_are_hits_after_an_edit_that_only_the_host_sees)
{
    const Words words{"-arch=sm_80", "-c", "k.cu", "-o", "k.o"};
    EXPECT_EQ(steps_of(words), "0 of 3, nvcc compiled") << result.err;
    write("host.h", "static int more() { return 2; }\nint host() { return more() * more(); }\n");
    EXPECT_EQ(steps_of(words), "2 of 3, nvcc compiled") << result.err;
    const std::string ours = made("k.o");
    EXPECT_EQ(theirs(words).exit_code, 0);
    EXPECT_EQ(made("k.o"), ours);
}

// Where nothing in a source can be seen from outside, cudafe++ calls it by the number of its process, and the objects
// of two compiles may be linked together.
TEST_F(Steps, that_give_names_of_their_own_run_each_time)
{
    write("k.cu", "void enroll(void (*)(int*));\n"
                  "namespace {\n"
                  "template <class T> __global__ void t(T* p)\n{\n#ifdef __CUDA_ARCH__\n    *p = VALUE;\n#endif\n}\n"
                  "struct Each {\n    static void go(int* p) { t<int><<<1, 1>>>(p); }\n    Each() { enroll(go); }\n};\n"
                  "}\nstatic Each each;\n");
    write("main.cu", "void (*known[4])(int*);\nint count;\nvoid enroll(void (*one)(int*)) { known[count++] = one; }\n"
                     "int main() { return count == 2 && known[0] != known[1] ? 0 : 1; }\n");
    const std::string target = "-arch=sm_80";
    EXPECT_EQ(steps_of({target, "-DVALUE=1", "-c", "k.cu", "-o", "1.o"}), "0 of 3, nvcc compiled") << result.err;
    EXPECT_EQ(steps_of({target, "-DVALUE=2", "-c", "k.cu", "-o", "2.o"}), "0 of 3, nvcc compiled") << result.err;
    EXPECT_EQ(theirs({target, "main.cu", "1.o", "2.o", "-o", "program"}).exit_code, 0);
    EXPECT_EQ(run_process({(scratch / "program").string()}).exit_code, 0) << "two kernels have become one";
    // The same in another directory is another.
    write("other/k.cu", read(scratch / "k.cu"));
    EXPECT_EQ(steps_of({target, "-DVALUE=2", "-c", "k.cu", "-o", "3.o"}, "other"), "0 of 3, nvcc compiled");
    EXPECT_EQ(steps_of({target, "-DVALUE=2", "-c", "k.cu", "-o", "2.o"}), "0 of 0, nvcc hit") << result.err;
}

TEST_F(Steps, are_coloured_for_who_reads_them)
{
    write("k.cu", "__global__ void k() { int unused; }\n");
    const Words words{"-arch=sm_80", "-c", "k.cu", "-o", "k.o"};
    steps_of(words);
    std::string line = HEARTH_COMMAND " exec --";
    for (const std::string& word : nvcc(words))
        line += " " + word;
    const ProcessResult shown =
        run_process({"/usr/bin/script", "-qec", line, "/dev/null"}, options_of({{"HEARTH_DIR", cache.string()}}));
    EXPECT_NE(shown.out.find("\x1b["), std::string::npos) << shown.out;
    steps_of({"-arch=sm_80", "-DANOTHER", "-c", "k.cu", "-o", "k.o"});
    EXPECT_EQ((result.out + result.err).find('\x1b'), std::string::npos) << result.err;
}

TEST_F(Steps, count_by_the_links_that_lead_to_them)
{
    copy_toolkit();
    const fs::path cicc = toolkit / "nvvm/bin/cicc";
    fs::rename(cicc, toolkit / "nvvm/bin/first");
    write_program("toolkit/nvvm/bin/second", "#!/bin/sh\nexit 3\n");
    fs::create_symlink("first", cicc);
    EXPECT_EQ(steps_of(k_one), "0 of 3, nvcc compiled") << result.err;
    EXPECT_EQ(steps_of(k_one), "0 of 0, nvcc hit") << result.err;
    fs::remove(cicc);
    fs::create_symlink("second", cicc);
    steps_of(k_one);
    EXPECT_NE(result.exit_code, 0) << "what ran before was given again";
}

TEST_F(Steps, are_kept_where_the_command_keeps_its_own)
{
    EXPECT_EQ(nvcc_behind({"--dir", "mine", "exec", "--"}, k_one).exit_code, 0);
    EXPECT_FALSE(fs::exists(cache)) << "a step went to HEARTH_DIR";
    const nlohmann::json stats = json_of({"--dir", (scratch / "mine").string(), "stats", "--json"});
    EXPECT_EQ(stats["compiles"], 2) << "nvcc and ptxas: facts of this machine are not counted";
}

TEST_F(Steps, add_nothing_to_what_nvcc_says)
{
    EXPECT_EQ(nvcc_behind({"exec", "--"}, k_one, options_of({{"HEARTH_BUNDLES", "absent.bundle"}})).err, "");
    EXPECT_EQ(nvcc_behind({"exec", "--"}, k_one).err, "") << "what Hearth said was kept as if nvcc had said it";
}

TEST_F(Steps, take_no_time_that_is_not_nvccs)
{
    EXPECT_EQ(steps_of(k_one), "0 of 3, nvcc compiled") << result.err;
    const double spent = summary_of(result)["spent_seconds"];
    const nlohmann::json stats = json_of({"stats", "--json"});
    EXPECT_EQ(stats["compiles"], 2) << "nvcc and ptxas";
    EXPECT_GT(stats["compile_seconds_spent"], 0.0);
    EXPECT_LE(stats["compile_seconds_spent"], spent) << "the time of the steps was counted twice";
}

TEST_F(Steps, may_run_side_by_side_and_keep_their_files)
{
    Words words = with_another_target(k_one);
    words.insert(words.end(), {"--threads", "2", "--keep"});
    EXPECT_EQ(theirs(words).exit_code, 0);
    std::map<std::string, std::string> expected;
    for (const fs::directory_entry& each : fs::directory_iterator(scratch))
        if (each.is_regular_file())
            expected[each.path().filename().string()] = read(each.path());
    for (const auto& [name, text] : expected)
        if (name != "k.cu" && name != "host.h")
            fs::remove(scratch / name);
    for (int time = 0; time < 2; ++time) {
        steps_of(words);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        for (const auto& [name, text] : expected)
            EXPECT_EQ(read(scratch / name), text) << name;
    }
}

TEST_F(Steps, fail_as_they_would)
{
    write("k.cu", "__global__ void k(int* x) { *x = absent; }\n");
    const Words words{"-arch=sm_80", "-c", "k.cu", "-o", "k.o"};
    const ProcessResult expected = theirs(words);
    EXPECT_NE(expected.exit_code, 0);
    for (int time = 0; time < 2; ++time) {
        steps_of(words);
        EXPECT_EQ(result.exit_code, expected.exit_code);
        EXPECT_NE((result.out + result.err).find("identifier \"absent\" is undefined"), std::string::npos)
            << result.err;
        EXPECT_FALSE(fs::exists(scratch / "k.o"));
    }
}

// cicc completes the names of files by the working directory, where it tells lines.
TEST_F(Steps, of_another_directory_are_none_of_this_where_they_hold_its_path)
{
    const Words words{"-cubin", "-lineinfo", "-arch=sm_80", "-I.", (scratch / "k.cu").string(), "-o", "k.cubin"};
    write("k.cu", "#include <inner.h>\n__global__ void k(float* x) { *x = inner(*x); }\n");
    for (const char* folder : {"one", "another"}) {
        write(std::string(folder) + "/inner.h", "__device__ __forceinline__ float inner(float x) { return x / 3; }\n");
        steps_of(words, folder);
        EXPECT_NE(read(scratch / folder / "k.cubin").find((scratch / folder).string()), std::string::npos);
    }
}

}  // namespace hearth::test
