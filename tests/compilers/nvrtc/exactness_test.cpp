#include "hearth/admin.hpp"
#include "nvrtc_fixture.hpp"
#include "support/open_cache.hpp"
#include "support/other_build.hpp"

#include <cfenv>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::test {

namespace {

using nvrtc::Outcome;
using nvrtc::Program;

// State A, a change to the world, state B: each time the cache gives what NVRTC itself gives there.
class NvrtcIsExact : public NvrtcTest {
protected:
    void expect(Outcome outcome, const Program& program)
    {
        const nvrtc::Compiled compiled = compile(program);
        EXPECT_EQ(compiled.outcome(), outcome) << compiled.reason() << "\n" << compiled.log();
        expect_as_bare(compiled, program);
    }

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

    Program program(const std::string& source, std::vector<std::string> options = {}) const
    {
        return {.source = source + "\n__global__ void k(int* x) { *x = VALUE; }",
                .name = "k.cu",
                .options = std::move(options),
                .target = "compute_90"};
    }

    std::string include(const char* directory) const { return "-I" + (m_scratch / directory); }
};

TEST_F(NvrtcIsExact, where_a_header_moved_to_another_directory_with_other_neighbours)
{
    write("a/x.h", "#include \"v.h\"\n");
    write("a/v.h", "#define VALUE 1\n");
    write("b/v.h", "#define VALUE 2\n");
    expect_seen(program("#include <x.h>", {include("a"), include("b")}),
                [&] { std::filesystem::rename(m_scratch / "a/x.h", m_scratch / "b/x.h"); });
}

TEST_F(NvrtcIsExact, where_options_that_no_table_knows_read_files)
{
    write("b/v.h", "#define VALUE 1\n");
    expect_seen(program("#include <v.h>", {"-Xcudafe=-I" + (m_scratch / "b")}),
                [&] { write("b/v.h", "#define VALUE 2\n"); });
    const std::string before = write("before.h", "#define VALUE 3\n");
    expect_seen(program("", {"-Xcudafe=--preinclude=" + before}), [&] { write("before.h", "#define VALUE 4\n"); });
}

TEST_F(NvrtcIsExact, where_a_file_of_options_for_ptxas_is_edited)
{
    const std::string file = write("options", "-O1");
    Program with = program("#define VALUE 1", {"-Xptxas=--options-file=" + file});
    with.target = "sm_90";
    expect_seen(with, [&] { write("options", "-O3"); });
}

TEST_F(NvrtcIsExact, whatever_way_an_include_is_written)
{
    write("i/v.h", "#define VALUE 1\n");
    write("i/arch/900.h", "#define VALUE 1\n");
    struct Way {
        const char* source;
        const char* file;
        std::vector<std::string> options;
    };
    const std::string directory = include("i");
    for (const Way& way : std::vector<Way>{
             {"#inc?\?/\nlude <v.h>", "i/v.h", {"-std=c++14"}},
             {"#define STR2(x) <arch/x.h>\n#define STR(x) STR2(x)\n#ifdef __CUDA_ARCH__\n#include STR(__CUDA_ARCH__)\n"
              "#else\n#define VALUE 0\n#endif",
              "i/arch/900.h",
              {}},
             {"#define HAS __has_include\n#if HAS(<v.h>)\n#include <v.h>\n#endif", "i/v.h", {}},
             {"#define H <v.h>\n#if __has_include(H)\n#include H\n#endif", "i/v.h", {}}}) {
        std::vector<std::string> options = way.options;
        options.push_back(directory);
        write(way.file, "#define VALUE 1\n");
        expect_seen(program(way.source, options), [&] { write(way.file, "#define VALUE 2\n"); });
    }
}

TEST_F(NvrtcIsExact, where_the_question_whether_a_header_is_there_is_asked_by_another_name)
{
    std::filesystem::create_directory(m_scratch / "i");
    expect_seen(program("#define HAS(x) __has_include(x)\n#if HAS(<late.h>)\n#include <late.h>\n#else\n#define VALUE "
                        "0\n#endif",
                        {include("i")}),
                [&] { write("i/late.h", "#define VALUE 1\n"); });
}

TEST_F(NvrtcIsExact, about_the_time_by_never_keeping_it)
{
    const std::string text = "\n__device__ const char* t() { return T; }\n#define VALUE t()[7]";
    write("i/clock.h", "#define T __DATE__\n");
    // Only the outcomes: a second compile, to compare with, may see another second.
    EXPECT_EQ(compile(program(text, {"-DT=__TIME__"})).outcome(), Outcome::past_the_cache);
    EXPECT_EQ(compile(program("#define CAT(a, b) a##b\n#define T CAT(__TI, ME__)" + text)).outcome(),
              Outcome::past_the_cache);
    EXPECT_EQ(compile(program("#include <clock.h>" + text, {include("i")})).outcome(), Outcome::past_the_cache);
    Program named = program("#define VALUE 1\ntemplate <int n> __global__ void t() {}");
    named.name_expressions = {"t<__TIME__[7]>"};
    EXPECT_EQ(compile(named).outcome(), Outcome::past_the_cache);
}

TEST_F(NvrtcIsExact, about_the_path_of_a_program_that_its_output_holds)
{
    const std::string converting =
        "struct Where { const char* file; __device__ Where(int, const char* f = __builtin_FILE()) : file(f) {} };\n"
        "__device__ char first(Where w) { return w.file[5]; }\n#define VALUE first(1)";
    const std::string behind_comment = "/*\n# */ __device__ const char* f() { return __FILE__; }\n#define VALUE f()[5]";
    const std::string behind_string = "__device__ const char* s = R\"(\n#)\" __FILE__;\n#define VALUE s[7]";
    for (const std::string& source : {converting, behind_comment, behind_string}) {
        Program here = program(source);
        here.name = "/tmp/one/k.cu";
        expect(Outcome::compiled, here);
        expect(Outcome::hit, here);
        here.name = "/tmp/two/k.cu";
        expect(Outcome::compiled, here);
    }
}

TEST_F(NvrtcIsExact, about_a_header_that_is_named_by_its_whole_path)
{
    write("i/v.h", "#define VALUE 1\n");
    write("j/v.h", "#define VALUE 2\n");
    Program here = program("#include \"" + (m_scratch / "i/v.h") + "\"", {include("i")});
    expect(Outcome::compiled, here);
    here.options = {include("j")};
    expect(Outcome::compiled, here);
    here.options = {include("i")};
    expect(Outcome::hit, here);
    std::filesystem::rename(m_scratch / "i", m_scratch / "moved");
    here.options = {include("moved")};
    expect(Outcome::compiled, here);
}

TEST_F(NvrtcIsExact, in_a_tree_that_has_moved_where_the_program_is_named_from_the_working_directory)
{
    const std::filesystem::path before = std::filesystem::current_path();
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
    std::filesystem::current_path(before);
}

TEST_F(NvrtcIsExact, where_a_text_or_a_variable_names_by_its_whole_path_what_lies_beside_the_program)
{
    const std::filesystem::path before = std::filesystem::current_path();
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
    ::unsetenv("NVRTC_APPEND_FLAGS");
    std::filesystem::current_path(before);
}

TEST_F(NvrtcIsExact, where_results_of_one_question_have_keys_of_their_own)
{
    write("i/v.h", "#define VALUE 1\n");
    const Program reads = program("#include <v.h>", {include("i")});
    const Key first = compile(reads).key();
    write("i/v.h", "#define VALUE 2\n");
    const Key second = compile(reads).key();
    EXPECT_NE(first, second) << "what is kept by the key, as loaded modules are, must not be mixed up";
    EXPECT_EQ(compile(reads).key(), second);
    EXPECT_EQ(nvrtc::explain(*m_cache, reads).value().key, second);
}

TEST_F(NvrtcIsExact, where_another_result_has_taken_the_place_of_one_whose_files_were_known)
{
    // Old enough for their stamps to be trusted.
    const auto old = [&](const std::string& path) {
        std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    };
    old(write("d/v.h", "#define VALUE 1\n"));
    old(write("e/v.h", "#define VALUE 2\n"));
    Program here = program("#include \"v.h\"");
    here.name = m_scratch / "d/k.cu";
    Program there = here;
    there.name = m_scratch / "e/k.cu";
    const Key first = compile(here).key();
    compile(here);
    ASSERT_TRUE(m_cache->remove(first));
    EXPECT_EQ(compile(there).key(), first) << "else nothing is shown here";
    for (const Program& one : {here, there, here})
        expect_as_bare(compile(one), one);
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
    std::filesystem::current_path("/");
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
    std::filesystem::current_path("/");
}

TEST_F(NvrtcIsExact, about_the_programs_path_in_a_header_and_about_names_put_together)
{
    write("i/base.h", "__device__ const char* base() { return __BASE_FILE__; }\n");
    write("i/log.h", "#define LOG_E(m) __FILE__ m\n#define LOG(l, m) LOG_##l(m)\n");
    for (const char* source : {"#include <base.h>\n#define VALUE base()[5]",
                               "#include <log.h>\n__device__ const char* s = LOG(E, \"bad\");\n#define VALUE s[5]",
                               "#define C(a, b) a##b\n#define VALUE 1\n__device__ void f(int x) { C(a, ssert)(x); }"})
        for (const char* name : {"/tmp/one/k.cu", "/tmp/two/k.cu", "/tmp/one/k.cu"}) {
            Program here = program(source, {include("i")});
            here.name = name;
            expect_as_bare(compile(here), here);
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

// A header whose functions learn their callers' paths, in forms that a reader of declarations would not see through.
TEST_F(NvrtcIsExact, where_a_program_may_tell_its_path_by_a_default_argument)
{
    const std::string where = "__device__ inline const char* where(const char* f = __builtin_FILE()) { return f; }\n";
    const std::pair<std::string, std::string> cases[] = {
        {where + "#define LOG(level) wh##level()\n", "LOG(ere)"},
        {"#define DEFINE(name) __device__ inline const char* name(const char* f = __builtin_FILE()) { return f; }\n"
         "DEFINE(where)\n",
         "where()"},
        {"#ifdef A\n__device__ inline void f(int) {\n#else\n__device__ inline void f(long) {\n#endif\n}\n" + where,
         "where()"},
        {"#define SOURCES \"src/*.cu\"\n" + where + "/* */", "where()"},
        {"typedef struct Loc_ { const char* f = __builtin_FILE(); } Loc;\n", "Loc{}.f"},
    };
    for (const auto& [header, call] : cases) {
        write("i/h.h", header);
        const std::string source = "#include <h.h>\n__global__ void k(const char** p) { *p = " + call + "; }\n";
        for (const char* directory : {"first", "second"}) {
            const Program program{.source = source,
                                  .name = m_scratch / (std::string(directory) + "/k.cu"),
                                  .options = {include("i")},
                                  .target = "compute_90"};
            expect_as_bare(compile(program), program);
        }
    }
}

TEST_F(NvrtcIsExact, where_a_log_shows_a_path_that_the_source_only_says_to_be_its_own)
{
    for (const char* directory : {"gen1", "gen2"}) {
        Program program = this->program("#define VALUE 1\n#line 1 \"gen1/k.cu\"\n#warning heed this");
        program.name = std::string(directory) + "/k.cu";
        expect_as_bare(compile(program), program);
    }
}

TEST_F(NvrtcIsExact, and_a_program_that_warns_is_a_hit_from_a_new_directory)
{
    write("i/h.h", "// see issue #2095\n#define PAIR(t) t##2\n");
    for (const auto& [directory, outcome] : {std::pair("zzone", Outcome::compiled), std::pair("zztwo", Outcome::hit)}) {
        Program program = this->program("#include <h.h>\n#define VALUE 1\n#warning heed this", {include("i")});
        program.name = m_scratch / (std::string(directory) + "/k.cu");
        expect(outcome, program);
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
        const Program before = program(line, {include("p1/inc")});
        expect_as_bare(compile(before), before);
        write("p1/inc/h.h", "#define VALUE 3\n");
        const Program after = program(line, {include("p2/inc")});
        expect_as_bare(compile(after), after);
    }
}

TEST_F(NvrtcIsExact, where_debug_information_from_a_new_directory_every_time_may_name_a_stable_path)
{
    CacheOptions options;
    options.stable_paths = Switch::on;
    m_cache.reset();
    m_cache.emplace(open_cache(m_scratch / "cache", options));
    const auto in = [&](const std::string& directory, const std::string& source) {
        Program program = this->program(source, {"-lineinfo"});
        program.name = m_scratch / (directory + "/k.cu");
        return compile(program);
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

TEST_F(NvrtcIsExact, for_many_include_cycles_missing_ends_and_paths_that_are_too_long)
{
    write("i/a.h", "#include <b.h>\n");
    write("i/b.h", "#include <a.h>\n");
    const Program cycle = program("#define VALUE 1\n#include <a.h>", {include("i")});
    expect(Outcome::compiled, cycle);
    const Program end = program("#define VALUE 1\n#include <v.h", {include("i")});
    expect_as_bare(compile(end), end);
    const Program deep = program("#define VALUE 1\n#include <" + std::string(5000, 'x') + ">", {include("i")});
    expect_as_bare(compile(deep), deep);
    expect_as_bare(compile(deep), deep);
    ::mkfifo((m_scratch / "i/fifo.h").c_str(), 0600);
    std::filesystem::create_directory(m_scratch / "i/folder.h");
    const Program folder = program("#define VALUE 1\n#include <folder.h>", {include("i")});
    expect_as_bare(compile(folder), folder);
}

}  // namespace

}  // namespace hearth::test
