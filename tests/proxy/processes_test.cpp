// Compilers that programs start, under `hearth run`: met wherever they lie and whoever starts them.
#include "served.hpp"

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Processes : public ServedCompiler {
protected:
    void SetUp() override
    {
        Served::SetUp();
        need("/usr/bin/g++");
        write("a.cpp", "int value() { return 1; }\n");
        write("main.cpp", "int value();\nint main() { return value(); }\n");
    }

    // What `hearth run --json` says of it at the end.
    nlohmann::json summary_of(const Words& program, Words options = {})
    {
        options.insert(options.begin(), "--json");
        result = run(options, program);
        return test::summary_of(result);
    }
    static Words shell(const std::string& text) { return {"/bin/sh", "-c", text}; }

    ProcessResult result;
};

const char* const k_compile_line = "g++ -O1 -c a.cpp -o a.o";

class EveryWay : public Processes, public testing::WithParamInterface<const char*> {};

}  // namespace

TEST_P(EveryWay, of_starting_a_compiler_is_met)
{
    const std::string way = GetParam();
    const bool searches = way.find("p", 4) != std::string::npos && way != "posix_spawn";
    Words words{program("starts"), way};
    if (way == "system")
        words.emplace_back(k_compile_line);
    else
        for (const char* word : {searches ? "g++" : "/usr/bin/g++", "-c", "a.cpp", "-o", "a.o"})
            words.emplace_back(word);
    EXPECT_TRUE(holds(summary_of(words), {{"compiled", 1}})) << result.err;
    fs::remove(scratch / "a.o");
    EXPECT_TRUE(holds(summary_of(words), {{"hits", 1}})) << result.err;
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(fs::exists(scratch / "a.o"));
}
INSTANTIATE_TEST_SUITE_P(all, EveryWay,
                         testing::Values("execv", "execve", "execvp", "execvpe", "execl", "execlp", "execle",
                                         "posix_spawn", "posix_spawnp", "system"),
                         [](const auto& way) { return std::string(way.param); });

TEST_F(Processes, an_unmodified_build_compiles_nothing_the_second_time)
{
    need("/usr/bin/ninja");
    if (IsSkipped())
        return;
    write("build.ninja", "rule cxx\n  command = c++ -MMD -MF $out.d -O1 -c $in -o $out\n  depfile = $out.d\n"
                         "rule link\n  command = c++ $in -o $out\n"
                         "build out/a.o: cxx a.cpp\nbuild out/main.o: cxx main.cpp\n"
                         "build out/program: link out/a.o out/main.o\n");
    EXPECT_TRUE(holds(summary_of({"ninja"}), {{"compiled", 2}}));
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
    const std::string made = read(scratch / "out/main.o");
    fs::remove_all(scratch / "out");
    fs::remove(scratch / ".ninja_deps");
    fs::remove(scratch / ".ninja_log");
    const nlohmann::json second = summary_of({"ninja"}, {"--forbid-compile"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    // A link compiles nothing.
    EXPECT_TRUE(holds(second, {{"hits", 2}, {"compiled", 0}, {"past_the_cache", 0}}));
    EXPECT_GT(second.value("saved_seconds", 0.0), 0) << second;
    EXPECT_EQ(read(scratch / "out/main.o"), made);
    EXPECT_EQ(run_process({(scratch / "out/program").string()}).exit_code, 1);
    // Nothing was written down that would outlive `hearth run`.
    EXPECT_EQ(read(scratch / "out/main.o.d").find("hearth"), std::string::npos);
}

TEST_F(Processes, share_one_cache_however_they_are_started)
{
    const Words compile = words_of(k_compile_line);
    EXPECT_TRUE(holds(summary_of(compile), {{"compiled", 1}})) << result.err;
    EXPECT_TRUE(holds(summary_of(compile), {{"hits", 1}})) << result.err;
    EXPECT_TRUE(holds(summary_of(shell(k_compile_line)), {{"hits", 1}})) << result.err;
    EXPECT_EQ(exec(compile).exit_code, 0);
    EXPECT_EQ(outcome(), "hit") << told;
    // Named by a word of the command, with or without a folder, or by a link to it.
    fs::create_symlink(HEARTH_COMMAND, scratch / "g++");
    for (Words begin : {Words{HEARTH_COMMAND, "g++"}, {HEARTH_COMMAND, "/usr/bin/g++"}, {scratch / "g++"}}) {
        write("log", "");
        begin.insert(begin.end(), compile.begin() + 1, compile.end());
        const ProcessResult ran = run_process(
            begin, options_of({{"HEARTH_DIR", cache.string()}, {"HEARTH_RUN_LOG", (scratch / "log").string()}}));
        EXPECT_EQ(ran.exit_code, 0) << ran.err;
        EXPECT_NE(read(scratch / "log").find("\"hit\""), std::string::npos) << begin[0] << read(scratch / "log");
    }
}

TEST_F(Processes, see_nothing_of_hearth_run)
{
    // Asked for its version, a compiler is not watched.
    write_program("cc", "#!/bin/sh\necho \"$LD_PRELOAD|$LD_AUDIT|$HEARTH_LAUNCH\"\n");
    summary_of(shell("./cc --version"));
    EXPECT_EQ(result.out, "||\n");
    // What others put there stays.
    summary_of(
        shell("LD_PRELOAD=$LD_PRELOAD:libm.so.6 ./cc --version; LD_PRELOAD=libm.so.6:$LD_PRELOAD ./cc --version"));
    EXPECT_EQ(result.out, "libm.so.6||\nlibm.so.6||\n");
}

TEST_F(Processes, are_left_alone_where_that_is_asked_for)
{
    const Words words = shell(std::string(k_compile_line) + "; echo $LD_PRELOAD");
    EXPECT_TRUE(holds(summary_of(words, {"--no-processes"}), {{"compiled", 0}}));
    EXPECT_EQ(result.out, "\n");
    EXPECT_TRUE(fs::exists(scratch / "a.o"));
}

TEST_F(Processes, are_left_alone_where_they_go_by_another_name)
{
    // A program of many names that is called by another than its own is that other one.
    write_program("cc", "#!/bin/sh\necho started\n");
    const Words words{"/bin/bash", "-c", "exec -a archiver ./cc -c a.cpp -o a.o"};
    EXPECT_TRUE(holds(summary_of(words), {{"past_the_cache", 0}}));
    EXPECT_EQ(result.out, "started\n");
}

TEST_F(Processes, that_are_not_there_fail_as_they_would)
{
    for (const char* way : {"execvp", "posix_spawnp"}) {
        const std::string starts = program("starts");
        const ProcessResult bare = run_process({starts, way, "nvcc-9.9", "-c", "a.cu"});
        summary_of({starts, way, "nvcc-9.9", "-c", "a.cu"});
        EXPECT_EQ(result.exit_code, bare.exit_code);
        EXPECT_EQ(result.err.substr(0, bare.err.size()), bare.err);
    }
}

TEST_F(Processes, are_found_as_the_system_finds_them)
{
    fs::create_directories(scratch / "bin/gcc");  // a directory
    const std::string path = (scratch / "bin").string() + ":" + (scratch / "other").string() + ":/usr/bin:/bin";
    const auto compare = [&](const char* what) {
        const Words words{"/usr/bin/env", "PATH=" + path, "gcc", "--version"};
        const ProcessResult expected = bare(words);
        const ProcessResult ours = run({}, words);
        EXPECT_EQ(ours.exit_code, expected.exit_code) << what << ours.err;
        EXPECT_EQ(ours.out, expected.out) << what;
    };
    compare("a directory");
    write_program("other/gcc", "#!/nonexistent/interpreter\n");
    compare("an interpreter that is not there");
    write_program("other/gcc", "echo a script without a first line\n");
    compare("no first line");
}

TEST_F(Processes, run_as_they_are_where_hearth_is_gone)
{
    fs::copy(HEARTH_COMMAND, scratch / "hearth");
    const ProcessOptions options = options_of({{"HEARTH_DROPIN", HEARTH_DROPINS},
                                               {"HEARTH_DIR", cache.string()},
                                               {"LD_LIBRARY_PATH", fs::path(HEARTH_COMMAND).parent_path().string()}});
    const ProcessResult ran = run_process(
        {(scratch / "hearth").string(), "run", "--", "/bin/sh", "-c", std::string("rm hearth; ") + k_compile_line},
        options);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_TRUE(fs::exists(scratch / "a.o"));
}

TEST_F(Processes, that_are_nothing_but_links_to_hearth_are_not_found)
{
    fs::create_directory(scratch / "bin");
    fs::create_symlink(HEARTH_COMMAND, scratch / "bin/g++");
    const ProcessResult ran =
        run_process({HEARTH_COMMAND, "g++", "--version"}, {.environment = {{"PATH", (scratch / "bin").string()}}});
    EXPECT_EQ(ran.exit_code, 127) << ran.err;
}

TEST_F(Processes, may_not_compile_where_that_is_forbidden)
{
    EXPECT_TRUE(holds(summary_of(shell(k_compile_line), {"--forbid-compile"}), {{"forbidden", 1}}));
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_FALSE(fs::exists(scratch / "a.o"));
    // What compiles and links at once is a compile too.
    summary_of(shell("g++ a.cpp main.cpp -o program"), {"--forbid-compile"});
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_FALSE(fs::exists(scratch / "program"));
    summary_of(shell("g++ --version >version"), {"--forbid-compile"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(Processes, with_more_words_than_there_is_room_for_run_as_they_are)
{
    const std::string many = "g++ -c a.cpp -o a.o $(yes -- -DX | head -n 5000)";
    EXPECT_TRUE(holds(summary_of(shell(many)), {{"compiled", 0}}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(fs::exists(scratch / "a.o"));
}

TEST_F(Processes, built_with_a_sanitizer_run_all_the_same)
{
    write("checked.cpp", "#include <cstdio>\nint main() { std::puts(\"ran\"); }\n");
    if (bare({"g++", "-fsanitize=address", "checked.cpp", "-o", "checked"}).exit_code != 0)
        GTEST_SKIP() << "This g++ has no AddressSanitizer.";
    const ProcessResult ran = run({}, {"./checked"}, {.environment = {{"ASAN_OPTIONS", "detect_leaks=0"}}});
    EXPECT_TRUE(ends_printing(ran, 0, "ran\n")) << ran.err;
}

}  // namespace hearth::test
