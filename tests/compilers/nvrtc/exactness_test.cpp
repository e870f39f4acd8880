#include "hearth/admin.hpp"
#include "nvrtc_fixture.hpp"
#include "support/other_build.hpp"

#include <cfenv>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace hearth::test {

namespace {

using nvrtc::Outcome;
using nvrtc::Program;

// State A, a change to the world, state B: each time the cache gives what NVRTC itself gives there.
class NvrtcIsExact : public NvrtcTest {
protected:
    // Compiled, a hit, and after the change compiled and a hit again.
    template <class Change>
    void expect_seen(const Program& program, Change change)
    {
        expect(Outcome::compiled, program);
        expect(Outcome::hit, program);
        change();
        expect(Outcome::compiled, program);
        expect(Outcome::hit, program);
    }
};

TEST_F(NvrtcIsExact, whatever_way_a_file_is_asked_for)
{
    using Way = std::tuple<const char*, std::vector<std::string>, const char*>;
    const std::string i = include("i");
    for (const auto& [source, options, file] : std::vector<Way>{
             {"#inc?\?/\nlude <v.h>", {i, "-std=c++14"}, "i/v.h"},
             {"#define STR2(x) <arch/x.h>\n#define STR(x) STR2(x)\n#ifdef __CUDA_ARCH__\n#include STR(__CUDA_ARCH__)\n"
              "#else\n#define VALUE 0\n#endif",
              {i},
              "i/arch/900.h"},
             {"#define HAS __has_include\n#if HAS(<v.h>)\n#include <v.h>\n#endif", {i}, "i/v.h"},
             {"#define H <v.h>\n#if __has_include(H)\n#include H\n#endif", {i}, "i/v.h"},
             {"#include <v.h>", {"-Xcudafe=-I" + (m_scratch / "i")}, "i/v.h"},
             {"", {"-Xcudafe=--preinclude=" + (m_scratch / "i/before.h")}, "i/before.h"}}) {
        SCOPED_TRACE(source);
        write(file, "#define VALUE 0\n");
        expect_seen(program(source, options), [&, file = file] { write(file, "#define VALUE 1\n"); });
    }
}

TEST_F(NvrtcIsExact, where_a_file_of_options_for_ptxas_is_edited)
{
    const std::string file = write("options", "-O0");
    Program sums =
        program("#define VALUE f(*x)\n__device__ int f(int n) { int s = 0; while (n > 0) s += n--; return s; }",
                {"-Xptxas=--options-file=" + file}, "sm_90");
    expect_seen(sums, [&] { write("options", "-O3"); });
    // NVRTC 13.0 takes no such options from its variable. Where another one does, that is to be seen too.
    sums.options.clear();
    for (const char* flags : {"--ptxas-options=--options-file=", "-Xptxas=-optf="}) {
        ::setenv("NVRTC_APPEND_FLAGS", (flags + file).c_str(), 1);
        for (const char* options : {"-O0", "-O3"}) {
            write("options", options);
            expect_as_bare(compile(sums), sums);
        }
    }
}

TEST_F(NvrtcIsExact, about_the_time_by_never_keeping_it)
{
    const std::string text = "\n__device__ const char* t() { return T; }\n#define VALUE t()[7]";
    write("i/clock.h", "#define T __DATE__\n");
    Program named = program("#define VALUE 1\ntemplate <int n> __global__ void t() {}");
    named.name_expressions = {"t<__TIME__[7]>"};
    for (const Program& told : {program("#define T __TIME__" + text), program(text, {"-DT=__TIME__"}),
                                program("#include <clock.h>" + text, {include("i")}), named}) {
        // Only the outcomes: a second compile, to compare with, may see another second.
        const nvrtc::Compiled compiled = compile(told);
        EXPECT_EQ(compiled.outcome(), Outcome::past_the_cache) << told.source;
        EXPECT_NE(compiled.reason().find("time"), std::string::npos) << compiled.reason();
    }
}

TEST_F(NvrtcIsExact, about_options_with_side_effects_by_having_them_each_time)
{
    const std::string times = m_scratch / "times.csv";
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(compile(program("#define VALUE 1", {"--time=" + times})).outcome(), Outcome::past_the_cache);
        EXPECT_TRUE(std::filesystem::remove(times)) << "the option had no effect";
    }
    EXPECT_EQ(m_cache->stats().misses[static_cast<std::size_t>(Miss::past_the_cache)], 2U);
    EXPECT_EQ(m_cache->stats().stores, 0U);
}

// How a text can come to its path is in text_questions_test.cpp.
TEST_F(NvrtcIsExact, about_the_path_of_a_program_that_its_output_holds)
{
    write("i/base.h", "__device__ const char* base() { return __BASE_FILE__; }\n");
    write("i/log.h", "#define LOG_E(m) __FILE__ m\n#define LOG(l, m) LOG_##l(m)\n");
    write("i/where.h", "__device__ inline const char* where(const char* f = __builtin_FILE()) { return f; }\n");
    const std::string converting =
        "struct Where { const char* file; __device__ Where(int, const char* f = __builtin_FILE()) : file(f) {} };\n"
        "__device__ char first(Where w) { return w.file[1]; }\n#define VALUE first(1)";
    const std::pair<std::string, std::string> cases[] = {
        {"__device__ const char* f = __FILE__;\n#define VALUE f[1]", "-DX"},
        {"__device__ int checked(int x) { assert(x); return x; }\n#define VALUE checked(*x)", "-DX"},
        {"#define VALUE 1", "-lineinfo"},
        {"#define VALUE 1", "-G"},
        {"#define VALUE 1", "-dlto"},
        {converting, "-DX"},
        {"#include <base.h>\n#define VALUE base()[1]", include("i")},
        {"#include <log.h>\n__device__ const char* s = LOG(E, \"bad\");\n#define VALUE s[1]", include("i")},
        {"#include <where.h>\n#define VALUE where()[1]", include("i")},
    };
    for (const auto& [source, option] : cases)
        for (const char* name : {"/first/k.cu", "/second/k.cu"}) {
            SCOPED_TRACE(source + option + name);
            Program here = program(source, {option}, "sm_90");
            here.name = name;
            expect(Outcome::compiled, here);
            expect(Outcome::hit, here);
        }
}

TEST_F(NvrtcIsExact, in_a_tree_that_has_moved_which_is_a_hit_with_its_own_paths_in_the_log)
{
    write("here/two/value.h", "#include \"detail/number.h\"\n#define VALUE NUMBER\n");
    write("here/two/detail/number.h", "#define NUMBER 1\n");
    write("here/program/local.h", "int local_unused() { int warned; return 0; }\n// see #2095\n#define PAIR(t) t##2\n");
    std::filesystem::copy(m_scratch / "here", m_scratch / "moved", std::filesystem::copy_options::recursive);
    const auto in = [&](const std::string& tree, const std::string& option) {
        Program here = program("#include \"local.h\"\n#include <value.h>\n#warning heed this",
                               {include(tree + "/one"), include(tree + "/two"), option});
        here.name = m_scratch / (tree + "/program/main.cu");
        return here;
    };
    const nvrtc::Compiled here = compile(in("here", "-default-device"));
    EXPECT_NE(here.log().find(m_scratch / "here/program/local.h"), std::string::npos) << here.log();
    expect(Outcome::hit, in("moved", "-default-device"));
    expect(Outcome::hit, in("moved", "-default-device"));
    for (const char* tree : {"here", "moved"})
        expect(Outcome::compiled, in(tree, "-lineinfo"));
}

TEST_F(NvrtcIsExact, about_headers_beside_a_program_whose_directory_is_new_each_time)
{
    write("third/extra.h", "#define VALUE 7\n");
    const auto in = [&](const std::string& directory) {
        Program here = program("#if __has_include(\"extra.h\")\n#include \"extra.h\"\n#else\n#define VALUE 0\n#endif");
        here.name = m_scratch / (directory + "/main.cu");
        return here;
    };
    expect(Outcome::compiled, in("first"));
    expect(Outcome::hit, in("second"));
    expect(Outcome::compiled, in("third"));  // a header lies beside it
    expect(Outcome::hit, in("first"));
    write("first/extra.h", "#define VALUE 8\n");
    expect(Outcome::compiled, in("first"));
    expect(Outcome::hit, in("third"));
}

TEST_F(NvrtcIsExact, about_a_source_of_megabytes)
{
    write("i/v.h", "#define VALUE 1\n");
    std::string source = "#include <v.h>\n";
    while (source.size() < (8U << 20U))
        source += "// a comment that makes the source long: include nothing, define nothing, and go on\n";
    const Program large = program(source, {include("i")});
    expect(Outcome::compiled, large);
    expect(Outcome::hit, large);
}

TEST_F(NvrtcIsExact, in_a_tree_that_has_moved_where_the_program_is_named_from_the_working_directory)
{
    write("one/k/v.h", "#define VALUE 1\n");
    for (const char* name : {"k/k.cu", "./k/k.cu"}) {
        Program here = program(std::string("#include \"v.h\"  // in ") + name);
        here.name = name;
        std::filesystem::current_path(m_scratch / "one");
        expect(Outcome::compiled, here);
        expect(Outcome::hit, here);
        std::filesystem::rename(m_scratch / "one", m_scratch / "two");
        std::filesystem::current_path(m_scratch / "two");
        expect(Outcome::hit, here);
        std::filesystem::rename(m_scratch / "two", m_scratch / "one");
        write("one/k/v.h", "#define VALUE 2\n");
        std::filesystem::current_path(m_scratch / "one");
        expect(Outcome::compiled, here);
        write("one/k/v.h", "#define VALUE 1\n");
    }
}

TEST_F(NvrtcIsExact, where_a_text_or_a_variable_names_by_its_whole_path_what_lies_beside_the_program)
{
    const std::string whole = m_scratch / "one/k/v.h";
    for (const auto& [by_variable, name] : {std::pair(false, "k/k.cu"), std::pair(false, "../one/k/k.cu"),
                                            std::pair(false, "a/../k/k.cu"), std::pair(true, "k/k.cu")}) {
        write("one/k/v.h", "#define VALUE 1\n");
        write("two/k/v.h", "#define VALUE 1\n");
        std::filesystem::create_directories(m_scratch / "one/a");
        std::filesystem::create_directories(m_scratch / "two/a");
        Program here = program((by_variable ? "" : "#include \"" + whole + "\"") + std::string("  // ") + name);
        here.name = name;
        if (by_variable)
            ::setenv("NVRTC_APPEND_FLAGS", ("-include=" + whole).c_str(), 1);
        std::filesystem::current_path(m_scratch / "one");
        expect(Outcome::compiled, here);
        write("one/k/v.h", "#define VALUE 2\n");
        std::filesystem::current_path(m_scratch / "two");
        expect(Outcome::compiled, here);
    }
}

TEST_F(NvrtcIsExact, in_every_mode_of_a_threads_floating_point_unit)
{
    Program folds = program("#define VALUE (int)(1.0f / 3.0f * 3e7f)");
    folds.source += "\n__device__ float third = 1.0f / 3.0f;";
    const int before = std::fegetround();
    for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_TONEAREST, FE_UPWARD}) {
        std::fesetround(mode);
        expect_as_bare(compile(folds), folds);
    }
    std::fesetround(before);
}

TEST_F(NvrtcIsExact, whether_a_programs_name_has_a_directory_or_not)
{
    std::filesystem::create_directory(m_scratch / "q");
    std::filesystem::current_path(m_scratch.path());
    write("v.h", "#define VALUE 1\n");
    write("q/v.h", "#define VALUE 2\n");
    Program named = program("#include \"v.h\"");
    for (const char* name : {"k.cu", "q/k.cu", "k.cu", "q/k.cu"}) {
        named.name = name;
        expect_as_bare(compile(named), named);
    }
}

TEST_F(NvrtcIsExact, however_an_include_directory_is_given)
{
    std::filesystem::create_directory(m_scratch / "w");
    std::filesystem::current_path(m_scratch / "w");
    write("w/v.h", "#define VALUE 1\n");
    write("w/o/v.h", "#define VALUE 2\n");
    write("w/o1/v.h", "#define VALUE 3\n");
    using Options = std::vector<std::string>;
    for (const Options& options :
         {Options{"-I="}, Options{"-Io"}, Options{"-I "}, Options{"-I", ""}, Options{"-I", "o"},
          Options{"--include-path="}, Options{"--include-path=o"}, Options{"--include-path o"}, Options{"-Io1\n"},
          Options{"-Io"}, Options{"-I\to"}, Options{"-I= o"}, Options{"-I-"}, Options{"-Io1", "-I-"},
          Options{"-Io1", "-Io"}, Options{"-I-", "-Io"}})
        for (int i = 0; i < 2; ++i) {
            const Program given = program("#include <v.h>", options);
            expect_as_bare(compile(given), given);
        }
}

TEST_F(NvrtcIsExact, in_logs_that_name_a_second_file_when_the_tree_has_moved)
{
    write("m1/i/a.h", "struct S { int a; };\n");
    write("m1/i/b.h", "struct S { int b; };\n");
    std::filesystem::copy(m_scratch / "m1", m_scratch / "m2", std::filesystem::copy_options::recursive);
    for (const char* tree : {"m1", "m2", "m1"}) {
        Program twice = program("#include <a.h>\n#include <b.h>\n#define VALUE 1", {"-I" + (m_scratch / tree) + "/i"});
        twice.name = (m_scratch / tree) + "/k.cu";
        expect_as_bare(compile(twice), twice);
    }
}

TEST_F(NvrtcIsExact, and_keeps_no_failure_that_is_the_machines)
{
#if defined(HEARTH_HAS_ASAN) || defined(HEARTH_HAS_TSAN)
    GTEST_SKIP() << "the sanitizer itself needs descriptors";
#endif
    write("i/v.h", "#define VALUE 1\n");
    const Program reads = program("#include <v.h>", {include("i")});
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit before = limit;
    const int next = ::dup(0);
    ::close(next);
    for (rlim_t spare = 0; spare <= 8; ++spare) {
        limit.rlim_cur = static_cast<rlim_t>(next) + spare;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        static_cast<void>(nvrtc::compile(*m_cache, reads));
        ::setrlimit(RLIMIT_NOFILE, &before);
        const nvrtc::Compiled now = compile(reads);
        expect_as_bare(now, reads);
        admin::clear_memory(*m_cache);
    }
}

TEST_F(NvrtcIsExact, after_a_write_through_a_mapping_that_moves_no_time_stamp)
{
    const std::string path = write("i/v.h", "#define VALUE 1\n");
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    char* const bytes = static_cast<char*>(::mmap(nullptr, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ::close(fd);
    ASSERT_NE(bytes, MAP_FAILED);
    bytes[14] = '2';  // the page is dirty from here on
    expect_seen(program("#include <v.h>", {include("i")}), [&] { bytes[14] = '3'; });
    ::munmap(bytes, 16);
}

TEST_F(NvrtcIsExact, where_the_library_is_replaced_under_a_process_that_has_loaded_it)
{
    const std::string library = files_matching(library_directories(), "libnvrtc.so*").front();
    const std::string directory = std::filesystem::path(library).parent_path();
    std::filesystem::create_directory(m_scratch / "lib");
    for (const std::string& builtins : files_matching({directory}, "libnvrtc-builtins.so*"))
        std::filesystem::copy(builtins, m_scratch / "lib");
    const std::string bytes = read_file(library);
    const std::string other = other_build_of(bytes);
    if (other.empty())
        GTEST_SKIP() << "this libnvrtc has no build-id of twenty bytes";
    const std::string path = write("lib/libnvrtc.so", bytes);
    const auto outcome = [&](const char* source) {
        return nvrtc::compile(*m_cache, {.source = source, .target = "compute_90"}, {.library = path})
            .value()
            .outcome();
    };
    EXPECT_EQ(outcome("__global__ void a() {}"), Outcome::compiled);
    std::filesystem::rename(write("lib/fresh", other), path);
    EXPECT_EQ(outcome("__global__ void b() {}"), Outcome::past_the_cache) << "the loaded library is the old one";
}

TEST_F(NvrtcIsExact, where_a_log_shows_a_path_that_the_source_only_says_to_be_its_own)
{
    for (const char* directory : {"gen1", "gen2"}) {
        Program here = program("#define VALUE 1\n#line 1 \"gen1/k.cu\"\n#warning heed this");
        here.name = std::string(directory) + "/k.cu";
        expect_as_bare(compile(here), here);
    }
}

TEST_F(NvrtcIsExact, where_an_absolute_path_is_included_in_unusual_ways)
{
    const std::string first = m_scratch / "p1/inc/h.h";
    const std::string put_together =
        "#define S_(x) #x\n#define S(x) S_(x)\n#define J(a, b) a##b\n#include S(" + (m_scratch / "J(p,1)/inc/h.h)");
    for (const std::string& line : {"#include \"" + first + "\"", "# /*\n*/ include \"" + first + "\"", put_together}) {
        write("p1/inc/h.h", "#define VALUE 1\n");
        write("p2/inc/h.h", "#define VALUE 1\n");
        expect(Outcome::compiled, program(line, {include("p1/inc")}));
        expect(Outcome::compiled, program(line, {include("p2/inc")}));
        expect(Outcome::hit, program(line, {include("p1/inc")}));
        write("p1/inc/h.h", "#define VALUE 3\n");
        expect(Outcome::compiled, program(line, {include("p2/inc")}));
    }
}

TEST_F(NvrtcIsExact, where_debug_information_from_a_new_directory_every_time_may_name_a_stable_path)
{
    m_options.stable_paths = Switch::on;
    m_cache.emplace(open());
    const auto in = [&](const std::string& directory, const std::string& source) {
        Program here = program(source, {"-lineinfo"});
        here.name = m_scratch / (directory + "/k.cu");
        return compile(here);
    };
    EXPECT_EQ(in("tmp1", "#define VALUE 1").outcome(), Outcome::compiled);
    const nvrtc::Compiled elsewhere = in("tmp2", "#define VALUE 1");
    EXPECT_EQ(elsewhere.outcome(), Outcome::hit);
    EXPECT_EQ(elsewhere.ptx().find(m_scratch.path()), std::string_view::npos) << elsewhere.ptx();
    EXPECT_NE(elsewhere.ptx().find("k.cu\""), std::string_view::npos);

    // The log still names the program as it was given.
    const std::string broken = "#define VALUE 1\n#error stop here";
    in("tmp1", broken);
    const nvrtc::Compiled failed = in("tmp2", broken);
    EXPECT_EQ(failed.outcome(), Outcome::hit);
    EXPECT_TRUE(failed.log().starts_with(m_scratch / "tmp2/k.cu(2): ")) << failed.log();
    EXPECT_EQ(failed.log().find("/tmp1/"), std::string_view::npos) << failed.log();

    // What lies beside the program is found, and its path is in the output.
    const std::string with_header = "#include \"beside.h\"\n#define VALUE f()";
    const std::string header = "__device__ inline int f() { return 1; }\n";
    write("tmp1/beside.h", header);
    write("tmp2/beside.h", header);
    EXPECT_EQ(in("tmp1", with_header).outcome(), Outcome::compiled);
    EXPECT_EQ(in("tmp2", with_header).outcome(), Outcome::compiled);
    EXPECT_EQ(in("tmp2", with_header).outcome(), Outcome::hit);
}

TEST_F(NvrtcIsExact, for_include_cycles_missing_ends_folders_and_paths_that_are_too_long)
{
    write("i/a.h", "#include <b.h>\n");
    write("i/b.h", "#include <a.h>\n");
    std::filesystem::create_directory(m_scratch / "i/folder.h");
    for (const std::string& included : {std::string("a.h>"), std::string("v.h"), std::string("folder.h>"),
                                        std::string(5000, 'x') + ">", std::string(5000, 'x') + ">"}) {
        const Program asks = program("#define VALUE 1\n#include <" + included, {include("i")});
        expect_as_bare(compile(asks), asks);
    }
}

}  // namespace

}  // namespace hearth::test
