// `hearth exec` beside the compiler itself, in worlds that change: the same files, messages and exit codes, and no
// compile where nothing that was asked has changed.
#include "served.hpp"

#include <regex>

#include <sys/inotify.h>
#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Exec : public ServedCompiler {
protected:
    void SetUp() override
    {
        Served::SetUp();
        need("/usr/bin/g++");
        write("a.cpp", "#include \"value.h\"\nint value() { return VALUE; }\n");
        write("value.h", "#define VALUE 1\n");
    }

    // Where gcc breaks the lines of a dependency file depends on how long its names are.
    static std::string content_of(const fs::path& file)
    {
        std::string content = fs::exists(file) ? read(file) : "nothing";
        if (file.extension() == ".d")
            for (std::size_t at = 0; (at = content.find(" \\\n", at)) != std::string::npos;)
                content.erase(at, 3);
        return content;
    }
    // Runs the command through the cache, then bare, and expects the same of both. Returns what the first said.
    std::string both(const Words& words, const std::string& output, const Variables& environment = {},
                     const std::string& directory = {})
    {
        const fs::path file = scratch / directory / output;
        fs::remove(file);
        const ProcessResult ours = exec(words, environment, directory);
        const std::string made = content_of(file);
        fs::remove(file);
        const ProcessResult theirs = bare(words, environment, directory);
        EXPECT_EQ(ours.exit_code, theirs.exit_code) << ours.err;
        EXPECT_EQ(ours.out, theirs.out);
        EXPECT_EQ(ours.err, theirs.err);
        EXPECT_EQ(made, content_of(file));
        return outcome();
    }
    // The sources lie in another directory too.
    void copy_to(const fs::path& folder)
    {
        fs::create_directories(scratch / folder);
        for (const char* name : {"a.cpp", "value.h"})
            fs::copy(scratch / name, scratch / folder / name, fs::copy_options::overwrite_existing);
    }
    // Any command, with nothing in the place of its output. What became of it and what it wrote: "hit: text".
    std::string any(const Words& words, const std::string& output = "out")
    {
        fs::remove(scratch / output);
        exec_any(words);
        return outcome() + ": " + content_of(scratch / output);
    }
    std::string any_shell(const std::string& text) { return any({"sh", "-c", text, "sh", "-o", "out"}); }
    // The same two times: "miss, hit" is what a new compile gives.
    std::string twice(const Words& words, const std::string& output, const Variables& environment = {},
                      const std::string& directory = {})
    {
        const std::string first = both(words, output, environment, directory);
        return first + ", " + both(words, output, environment, directory);
    }
};

// The same of each of these compilers.
class ExecOf : public Exec, public testing::WithParamInterface<const char*> {
protected:
    void SetUp() override
    {
        Exec::SetUp();
        need(std::string("/usr/bin/") + GetParam());
    }
    static Words compile(const Words& words)
    {
        Words all{GetParam()};
        all.insert(all.end(), words.begin(), words.end());
        return all;
    }
};

class ExecClang : public Exec {
protected:
    void SetUp() override
    {
        Exec::SetUp();
        need("/usr/bin/clang++");
    }
};

const Words k_compile{"g++", "-O1", "-c", "a.cpp", "-o", "a.o"};

}  // namespace

INSTANTIATE_TEST_SUITE_P(compilers, ExecOf, testing::Values("g++", "clang++", "clang"), [](const auto& compiler) {
    return std::regex_replace(std::string(compiler.param), std::regex("\\+"), "p");
});

TEST_P(ExecOf, gives_what_the_compiler_gives_and_the_second_time_without_it)
{
    const Words words = compile({"-O1", "-c", "a.cpp", "-o", "a.o"});
    EXPECT_EQ(twice(words, "a.o"), "miss, hit");
    EXPECT_EQ(both(compile({"-O1", "-c", "a.cpp", "-o", "other.o"}), "other.o"), "hit");
    EXPECT_EQ(both(compile({"-O2", "-c", "a.cpp", "-o", "a.o"}), "a.o"), "miss");
    // The cache answers, not the compiler.
    EXPECT_EQ(exec(words, {{"HEARTH_FORBID_COMPILE", "1"}}).exit_code, 0) << told;
}

TEST_P(ExecOf, compiles_anew_when_a_header_changes_and_knows_the_old_one_when_it_is_back)
{
    const Words words = compile({"-c", "a.cpp", "-MD", "-MF", "a.d", "-o", "a.o"});
    EXPECT_EQ(both(words, "a.o"), "miss") << told;
    write("value.h", "#define VALUE 2\n");
    EXPECT_EQ(both(words, "a.o"), "miss") << told;
    write("value.h", "#define VALUE 1\n");
    EXPECT_EQ(both(words, "a.o"), "hit") << told;
    copy_to("new");
    EXPECT_EQ(both(words, "a.o", {}, "new"), "hit") << told;
    EXPECT_EQ(content_of(scratch / "new/a.d").find(scratch.string()), std::string::npos);
    EXPECT_NE(content_of(scratch / "new/a.d").find("a.o: a.cpp"), std::string::npos);
}

TEST_P(ExecOf, compiles_anew_when_a_header_appears_where_it_was_looked_for)
{
    fs::create_directory(scratch / "first");
    fs::remove(scratch / "value.h");
    for (const auto& [option, name] : Variables{{"-I", "\"value.h\""}, {"-isystem", "<value.h>"}}) {
        write("a.cpp", "#include " + name + "\nint value() { return VALUE; }\n");
        write("second/value.h", "#define VALUE 1\n");
        const Words words = compile({option, "first", option, "second", "-c", "a.cpp", "-o", "a.o"});
        EXPECT_EQ(twice(words, "a.o"), "miss, hit") << told;
        write("first/value.h", "#define VALUE 3\n");
        EXPECT_EQ(both(words, "a.o"), "miss") << told;
        fs::remove(scratch / "first/value.h");
        EXPECT_EQ(both(words, "a.o"), "hit") << told;
        write("second/value.h", "#define VALUE 9\n");
        EXPECT_EQ(both(words, "a.o"), "miss") << told;
    }
}

TEST_P(ExecOf, replays_warnings_and_keeps_no_failure)
{
    write("a.cpp", "int value() { int unused; return 1; }\n");
    const Words words = compile({"-Wall", "-c", "a.cpp", "-o", "a.o"});
    EXPECT_EQ(twice(words, "a.o"), "miss, hit") << told;
    write("a.cpp", "int value() { return nothing; }\n");
    EXPECT_EQ(twice(words, "a.o"), "past_the_cache, past_the_cache");
    EXPECT_NE(told.find("it failed"), std::string::npos) << told;
}

TEST_P(ExecOf, keeps_nothing_that_looks_for_its_own_output)
{
    write("a.cpp", "#if __has_include(\"a.o\")\nint there;\n#else\nint absent;\n#endif\n");
    const Words words = compile({"-c", "a.cpp", "-o", "a.o"});
    EXPECT_EQ(both(words, "a.o"), "past_the_cache") << told;
    EXPECT_NE(told.find("writes it too"), std::string::npos) << told;
}

// The system goes back from where the link leads; reading the words alone would store somebody else's file.
TEST_F(Exec, does_not_keep_an_output_whose_path_leads_back_through_a_link)
{
    fs::create_directories(scratch / "elsewhere/sub");
    fs::create_directory_symlink(scratch / "elsewhere/sub", scratch / "build");
    write("out.o", "a file of the user's");
    const Words words{"g++", "-c", "a.cpp", "-o", "build/../out.o"};
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(exec(words).exit_code, 0);
        EXPECT_NE(told.find("leads back through a link"), std::string::npos) << told;
    }
    EXPECT_EQ(read(scratch / "out.o"), "a file of the user's");
    fs::create_directory(scratch / "inside");
    EXPECT_EQ(twice({"g++", "-c", "a.cpp", "-o", "inside/../a.o"}, "a.o"), "miss, hit");
}

// make takes an object that is there for finished: who is killed in between must not leave one without its
// dependencies.
TEST_F(Exec, writes_the_dependency_file_before_the_object)
{
    const Words words{"g++", "-c", "a.cpp", "-o", "a.o", "-MD"};
    ASSERT_EQ(exec(words).exit_code, 0);
    for (const char* made : {"a.o", "a.d"})
        fs::remove(scratch / made);
    const int events = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    ASSERT_GE(::inotify_add_watch(events, scratch.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE), 0);
    EXPECT_EQ(exec(words).exit_code, 0);
    EXPECT_NE(told.find(": hit"), std::string::npos) << told;
    alignas(inotify_event) char buffer[4096];
    const ssize_t size = ::read(events, buffer, sizeof buffer);
    ::close(events);
    std::vector<std::string> done;  // in this order
    for (ssize_t at = 0; at < size;) {
        const auto* const event = reinterpret_cast<const inotify_event*>(buffer + at);
        if (const std::string name = event->name; name == "a.o" || name == "a.d")
            done.push_back(name);
        at += static_cast<ssize_t>(sizeof *event + event->len);
    }
    EXPECT_EQ(done, (std::vector<std::string>{"a.d", "a.o"}));
}

TEST_F(Exec, is_a_hit_from_a_new_directory_unless_the_output_holds_its_path)
{
    EXPECT_EQ(both(k_compile, "a.o"), "miss");
    copy_to("new");
    EXPECT_EQ(both(k_compile, "a.o", {}, "new"), "hit");
    const std::string whole = (scratch / "new/a.cpp").string();
    EXPECT_EQ(both({"g++", "-O1", "-c", whole, "-o", "a.o"}, "a.o"), "hit");
    const Words with_lines{"g++", "-g", "-c", "a.cpp", "-o", "a.o"};
    EXPECT_EQ(twice(with_lines, "a.o"), "miss, hit");
    EXPECT_EQ(both(with_lines, "a.o", {}, "new"), "miss");
    write("a.cpp", "const char* value() { return __FILE__; }\n");
    copy_to("new");
    EXPECT_EQ(both({"g++", "-c", (scratch / "a.cpp").string(), "-o", "a.o"}, "a.o"), "miss");
    EXPECT_EQ(both({"g++", "-c", whole, "-o", "a.o"}, "a.o"), "miss");
}

TEST_F(Exec, compiles_anew_when_a_variable_that_was_asked_for_changes)
{
    fs::remove(scratch / "value.h");
    write("by_variable/value.h", "#define VALUE 1\n");
    const Variables found{{"CPATH", (scratch / "by_variable").string()}};
    EXPECT_EQ(both(k_compile, "a.o"), "past_the_cache");  // it fails
    EXPECT_EQ(twice(k_compile, "a.o", found), "miss, hit");
    EXPECT_EQ(both(k_compile, "a.o"), "past_the_cache");
    EXPECT_EQ(both(k_compile, "a.o", {{"CPATH", found.at("CPATH")}, {"NOBODY_ASKS", "1"}}), "hit");
}

TEST_F(Exec, says_nothing_of_its_cache_since_its_caller_reads_what_the_compiler_says)
{
    const Words words{"exec", "--", "/usr/bin/g++", "-c", "a.cpp", "-o", "a.o"};
    for (const auto& [variable, value] : Variables{{"HEARTH_REMOTE", "redis://127.0.0.1:1"},
                                                   {"HEARTH_DIR", "/proc/nowhere"},
                                                   {"HEARTH_MAXBYTES", "1G"},
                                                   {"HEARTH_BUNDLES", "/nowhere.bundle"},
                                                   {"HEARTH_DEMAND_SIGNATURES", "all"}}) {
        const ProcessResult result = hearth(words, options_of({{variable, value}}));
        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_EQ(result.err, "") << variable;
    }
}

TEST_F(Exec, is_a_hit_however_many_jobs_make_runs)
{
    // g++ asks for them whenever it is started.
    EXPECT_EQ(both(k_compile, "a.o", {{"MAKEFLAGS", "-j2"}, {"MAKELEVEL", "1"}}), "miss");
    EXPECT_EQ(both(k_compile, "a.o", {{"MAKEFLAGS", "-j4"}, {"MAKELEVEL", "2"}}), "hit");
    EXPECT_EQ(both(k_compile, "a.o"), "hit");
}

TEST_F(Exec, tells_dependencies_with_the_names_of_this_call)
{
    const Words words{"g++", "-MMD", "-MF", "a.o.d", "-c", "a.cpp", "-o", "a.o"};
    EXPECT_EQ(twice(words, "a.o.d"), "miss, hit");
    EXPECT_EQ(both({"g++", "-MMD", "-MF", "b.o.d", "-c", "a.cpp", "-o", "b.o"}, "b.o.d"), "hit");
    EXPECT_EQ(both({"g++", "-MMD", "-MF", "a.o.d", "-c", (scratch / "a.cpp").string(), "-o", "a.o"}, "a.o.d"), "miss");
    copy_to("new");
    EXPECT_EQ(both({"g++", "-MMD", "-MF", "c.o.d", "-c", (scratch / "new/a.cpp").string(), "-o", "c.o"}, "c.o.d"),
              "hit");
    EXPECT_NE(read(scratch / "c.o.d").find((scratch / "new/value.h").string()), std::string::npos);
    // Without a name of its own it lies beside the output.
    EXPECT_EQ(twice({"g++", "-MD", "-c", "a.cpp", "-o", "a.o"}, "a.d", {}, "new"), "miss, hit");
}

// gcc names a system directory by its real path where that is shorter.
TEST_F(Exec, tells_dependencies_in_directories_that_the_compiler_names_otherwise)
{
    write("a.cpp", "#include <inner.h>\nint value() { return VALUE; }\n");
    for (const char* folder : {"one", "another"}) {
        write(std::string(folder) + "/inc/inner.h", "#define VALUE 1\n");
        fs::create_directory(scratch / folder / "other");
    }
    for (const char* folder : {"one", "another"}) {
        const std::string include = (scratch / folder / "other/../inc").string();
        EXPECT_NE(
            twice({"g++", "-isystem", include, "-MD", "-MF", "a.d", "-c", "a.cpp", "-o", "a.o"}, "a.d").find("hit"),
            std::string::npos);
    }
}

TEST_F(Exec, reads_arguments_from_files)
{
    write("arguments", "-O1 -DMORE=1\n-c \"a.cpp\"");
    const Words words{"g++", "@arguments", "-o", "a.o"};
    EXPECT_EQ(twice(words, "a.o"), "miss, hit");
    write("arguments", "-O1 -DVALUE=7 -c a.cpp");
    EXPECT_EQ(both(words, "a.o"), "miss");
}

TEST_F(Exec, leaves_alone_what_is_no_compile)
{
    EXPECT_EQ(both({"g++", "--version"}, "none"), "");
    EXPECT_EQ(both({"g++", "-E", "a.cpp"}, "none"), "");
    EXPECT_EQ(both({"g++", "-c", "absent.cpp", "-o", "a.o"}, "a.o"), "past_the_cache");
    EXPECT_EQ(both({"g++", "-c", "a.cpp", "-o", "/dev/null"}, "none"), "past_the_cache");
    EXPECT_EQ(both({"g++", "-S", "a.cpp", "-o", "-"}, "none"), "past_the_cache");
    // Where its output cannot be put, the compiler says so.
    EXPECT_EQ(both(k_compile, "a.o"), "miss");
    EXPECT_EQ(both({"g++", "-O1", "-c", "a.cpp", "-o", "absent/a.o"}, "none"), "past_the_cache");
    EXPECT_EQ(exec({"no-such-compiler", "-c", "a.cpp"}).exit_code, 127);
    // A command that is not known is kept at the user's word alone.
    EXPECT_EQ(both({"sh", "-c", "cp a.cpp copy"}, "copy"), "past_the_cache");
}

TEST_F(Exec, links_what_it_compiles)
{
    const Words words{"g++", "-shared", "-fPIC", "a.cpp", "-o", "a.so", "-L.", "-lvalue"};
    const auto library = [&](int value) {
        write("v.cpp", "int other() { return " + std::to_string(value) + "; }\n");
        ASSERT_EQ(bare({"g++", "-c", "v.cpp", "-o", "v.o"}).exit_code, 0);
        fs::remove(scratch / "libvalue.a");
        ASSERT_EQ(bare({"ar", "rcs", "libvalue.a", "v.o"}).exit_code, 0);
    };
    write("a.cpp", "int other();\nint value() { return other(); }\n");
    library(1);
    EXPECT_EQ(twice(words, "a.so"), "miss, hit");
    library(2);
    EXPECT_EQ(both(words, "a.so"), "miss");
    // A library that would be found first.
    ASSERT_EQ(bare({"g++", "-shared", "-fPIC", "v.cpp", "-o", "libvalue.so"}).exit_code, 0);
    EXPECT_EQ(both(words, "a.so"), "miss");
    // From objects alone nothing is compiled.
    ASSERT_EQ(bare({"g++", "-c", "-fPIC", "a.cpp", "-o", "a.o"}).exit_code, 0);
    EXPECT_EQ(both({"g++", "-shared", "a.o", "-o", "b.so"}, "b.so"), "");
}

TEST_F(Exec, asks_what_the_path_leads_to_and_not_how_it_is_written)
{
    const std::string usual = "/usr/bin:/bin";
    fs::create_directory(scratch / "bin");
    EXPECT_EQ(both(k_compile, "a.o", {{"PATH", usual}}), "miss");
    EXPECT_EQ(both(k_compile, "a.o", {{"PATH", (scratch / "bin").string() + ":" + usual}}), "hit");
    EXPECT_EQ(both(k_compile, "a.o", {{"PATH", usual + ":/nowhere"}}), "hit");
    // An assembler that comes first there.
    write_program("bin/as", "#!/bin/sh\nexec /usr/bin/as \"$@\"\n");
    EXPECT_EQ(both(k_compile, "a.o", {{"PATH", usual}}), "hit");
    EXPECT_NE(both(k_compile, "a.o", {{"PATH", (scratch / "bin").string() + ":" + usual}}), "hit");
}

TEST_F(Exec, knows_what_a_script_or_specs_add)
{
    const auto script = [&](const std::string& text, const char* shell = "sh") {
        write_program("gcc", std::string("#!/bin/") + shell + "\nexec /usr/bin/gcc " + text + " \"$@\"\n");
    };
    for (const char* name : {"x.c", "new/x.c"})
        write(name, "int x;\n");
    const Words words{(scratch / "gcc").string(), "-c", "x.c", "-o", "x.o"};
    script("-g");
    EXPECT_EQ(twice(words, "x.o"), "miss, hit");
    EXPECT_EQ(both(words, "x.o", {}, "new"), "miss");
    script("-DWHERE=$PWD");
    EXPECT_EQ(both(words, "x.o"), "miss");
    EXPECT_EQ(both(words, "x.o", {}, "new"), "miss");
    // One that adds the same everywhere is asked once, whatever else is in the environment.
    script("-DVALUE=2");
    EXPECT_EQ(both(words, "x.o", {{"UNRELATED", "1"}}), "miss");
    EXPECT_EQ(both(words, "x.o", {{"UNRELATED", "2"}}, "new"), "hit");
    script("$MORE");
    EXPECT_EQ(both(words, "x.o"), "miss");
    EXPECT_EQ(both(words, "x.o", {{"MORE", "-Dx=y"}}), "miss");
    EXPECT_EQ(both(words, "x.o"), "hit");
    script("-DNOW=$EPOCHSECONDS", "bash");
    EXPECT_EQ(both(words, "x.o"), "past_the_cache");
    write("b/specs", "*cc1_options:\n+ -g\n");
    const Words specs{"gcc", "-B" + (scratch / "b").string() + "/", "-c", "x.c", "-o", "x.o"};
    EXPECT_EQ(twice(specs, "x.o"), "miss, hit");
    EXPECT_EQ(both(specs, "x.o", {}, "new"), "miss");
}

TEST_F(Exec, leaves_outputs_with_the_modes_that_the_compiler_gives_them)
{
    write("x.c", "int main(void) { return 0; }\n");
    const auto mode_after = [&](const Words& words, const char* mask, const char* before) {
        const std::string out = (scratch / "out").string();
        fs::remove(out);
        fs::remove(scratch / "real");
        std::string line = std::string("umask ") + mask + "; " + before + "; exec \"$@\"";
        Words all{"/bin/sh", "-c", line, "sh"};
        all.insert(all.end(), words.begin(), words.end());
        EXPECT_EQ(run_process(all, options_of({{"HEARTH_DIR", cache.string()}})).exit_code, 0);
        return std::pair(fs::status(out).permissions(), fs::is_symlink(out));
    };
    for (const char* kind : {"-o", "-S", "-c"})
        for (const char* mask : {"0022", "0111"})
            for (const char* before : {":", ": >out", "echo x >out; chmod 600 out", "echo x >real; ln -s real out"}) {
                const Words bare{"/usr/bin/gcc", "x.c", kind, std::string(kind) == "-o" ? "out" : "-oout"};
                Words ours{HEARTH_COMMAND};
                ours.insert(ours.end(), bare.begin(), bare.end());
                const auto expected = mode_after(bare, mask, before);
                EXPECT_EQ(mode_after(ours, mask, before), expected) << kind << mask << before;
                EXPECT_EQ(mode_after(ours, mask, before), expected) << kind << mask << before;
            }
}

TEST_F(Exec, sees_what_a_linker_finds_by_a_pattern)
{
    for (const char* folder : {"r/one", "r/two"})
        fs::create_directories(scratch / folder);
    const auto shared = [&](const std::string& text, const std::string& out, const Words& more = {}) {
        write("l.c", text);
        Words words{"gcc", "-shared", "-fPIC", "-nostdlib", "l.c", "-o", out};
        words.insert(words.end(), more.begin(), more.end());
        ASSERT_EQ(bare(words).exit_code, 0);
    };
    shared("int g(void) { return 1; }\n", "r/two/libg.so", {"-Wl,-soname,libg.so"});
    shared("int n;\n", "r/one/libg.so", {"-Wl,-soname,libg.so"});
    shared("int g(void); int f(void) { return g(); }\n", "libf.so", {"r/two/libg.so"});
    write("m.c", "int f(void); int _start(void) { return f(); }\n");
    const std::string root = (scratch / "r").string();
    write("r/etc/ld.so.conf", "include " + root + "/etc/conf.d/*.conf\n");
    write("r/etc/conf.d/b.conf", "/two\n");
    const Words words{"gcc", "-nostdlib", "m.c", "-L.", "-lf", "-Wl,--sysroot=" + root, "-o", "out"};
    EXPECT_EQ(twice(words, "out"), "miss, hit") << told;
    write("r/etc/conf.d/a.conf", "/one\n");
    EXPECT_NE(both(words, "out"), "hit");
}

TEST_F(Exec, knows_that_c_has_no_arguments_by_default_that_tell_who_calls)
{
    // As the C library's assert() does.
    write("include/where.h",
          "#define WHERE __builtin_FILE()\nstatic inline const char* where(void) { return WHERE; }\n");
    for (const char* directory : {"", "new/"})
        write(std::string(directory) + "a.c", "#include <where.h>\nchar value(void) { return *where(); }\n");
    // Not by the compiler's name.
    fs::create_directory(scratch / "bin");
    fs::create_symlink("/usr/bin/g++", scratch / "bin/cc");
    const std::string include = "-I" + (scratch / "include").string();
    for (const std::string& compiler : {std::string("gcc"), std::string("g++"), (scratch / "bin/cc").string()}) {
        const std::string elsewhere = (scratch / "new/a.c").string();
        EXPECT_EQ(both({compiler, include, "-c", "a.c", "-o", "a.o"}, "a.o"), "miss") << compiler;
        EXPECT_EQ(both({compiler, include, "-c", elsewhere, "-o", "a.o"}, "a.o"), compiler == "gcc" ? "hit" : "miss");
    }
}

TEST_F(Exec, keeps_nothing_that_holds_the_time_and_only_that)
{
    // Pieces of __DATE__ that nobody pastes, and __DATE__ that nobody uses.
    write("a.cpp", "#define PASTE(a, b) a##b\n#define NOW __DATE__\nint PASTE(val, ue)() { int D, A, T, E, __ = 1; "
                   "return __; }\n");
    EXPECT_EQ(twice(k_compile, "a.o"), "miss, hit");
    write("a.cpp", "const char* value() { return __DATE__; }\n");
    EXPECT_EQ(both(k_compile, "a.o"), "past_the_cache");
    write("a.cpp", "#define PASTE(a, b) a##b\nconst char* value() { return PASTE(__TIME, STAMP__); }\n");
    EXPECT_EQ(both(k_compile, "a.o"), "past_the_cache");
    // A time that a variable says is no secret.
    write("a.cpp", "const char* value() { return __DATE__; }\n");
    EXPECT_EQ(twice(k_compile, "a.o", {{"SOURCE_DATE_EPOCH", "1"}}), "miss, hit");
    EXPECT_EQ(both(k_compile, "a.o", {{"SOURCE_DATE_EPOCH", "1000000"}}), "miss");
}

TEST_F(Exec, holds_which_directories_are_the_same)
{
    fs::create_directory(scratch / "first");
    fs::create_directory_symlink("first", scratch / "second");
    fs::remove(scratch / "value.h");
    write("third/value.h", "#define VALUE 1\n");
    const Words words{"g++", "-Ifirst", "-Isecond", "-Ithird", "-S", "a.cpp", "-o", "a.s"};
    EXPECT_EQ(twice(words, "a.s"), "miss, hit");
    fs::remove(scratch / "second");
    write("second/value.h", "#define VALUE 8\n");
    EXPECT_EQ(both(words, "a.s"), "miss");
}

TEST_F(Exec, keeps_nothing_that_came_through_a_pipe)
{
    const auto piped = [&](const std::string& value) {
        const std::string line =
            "echo '#define PIPED " + value + "' | \"$0\" exec -- g++ -include /dev/stdin -S p.cpp -o p.s && cat p.s";
        return run_process({"/bin/sh", "-c", line, HEARTH_COMMAND}, options_of({{"HEARTH_DIR", cache.string()}})).out;
    };
    write("p.cpp", "int piped = PIPED;\n");
    const std::string one = piped("1");
    EXPECT_NE(one, piped("2"));
    EXPECT_NE(one, "");
}

TEST_F(Exec, asks_a_compiler_in_another_place_anew_and_one_whose_options_may_hold_paths)
{
    for (const char* place : {"one", "two"})
        write(std::string(place) + "/b.cpp", "int f(int a) { return 1 << a; }\n");
    for (const std::string option : {"-fsanitize=undefined", "-fverbose-asm", "-dP", "-fPIC"}) {
        const char* const there = option == "-fPIC" ? "hit" : "miss";
        EXPECT_EQ(both({"g++", option, "-S", "one/b.cpp", "-o", "b.s"}, "b.s"), "miss") << option;
        EXPECT_EQ(both({"g++", option, "-S", "two/b.cpp", "-o", "b.s"}, "b.s"), there) << option;
    }
    fs::create_symlink("/usr/bin/g++", scratch / "g++");
    EXPECT_EQ(both({"./g++", "-fPIC", "-S", "two/b.cpp", "-o", "b.s"}, "b.s"), "miss");
}

TEST_F(Exec, replaces_an_output_as_the_compiler_does_and_never_its_source)
{
    EXPECT_EQ(both(k_compile, "a.o"), "miss");
    const std::string source = read(scratch / "a.cpp");
    fs::create_symlink("a.cpp", scratch / "link");
    for (const char* output : {"a.cpp", "link"})
        EXPECT_NE(exec({"g++", "-O1", "-c", "a.cpp", "-o", output}).exit_code, 0);
    EXPECT_EQ(read(scratch / "a.cpp"), source);
    write("other", "of somebody else");
    fs::remove(scratch / "a.o");
    fs::create_symlink("other", scratch / "a.o");
    EXPECT_EQ(exec(k_compile).exit_code, 0);
    EXPECT_FALSE(fs::is_symlink(scratch / "a.o"));
    EXPECT_EQ(read(scratch / "other"), "of somebody else");
    // As a temporary file that was made for it: it is that file which is filled.
    const fs::path temporary = write("temporary.o", "");
    const fs::perms own = fs::perms::owner_read | fs::perms::owner_write;
    fs::permissions(temporary, own);
    EXPECT_EQ(exec({"g++", "-O1", "-c", "a.cpp", "-o", "temporary.o"}).exit_code, 0);
    EXPECT_EQ(fs::status(temporary).permissions(), own);
}

TEST_F(Exec, compiles_anew_when_a_name_appears_in_a_directory_that_was_listed)
{
    write("listed/one", "");
    fs::create_directory(scratch / "made");
    const Words words{"sh", "-c", "echo listed/* > $2", "sh", "-o", "made/out"};
    EXPECT_EQ(any(words, "made/out"), "miss: listed/one\n");
    EXPECT_EQ(any(words, "made/out"), "hit: listed/one\n");
    write("listed/two", "");
    EXPECT_EQ(any(words, "made/out"), "miss: listed/one listed/two\n");
    fs::remove(scratch / "listed/two");
    EXPECT_EQ(any(words, "made/out"), "hit: listed/one\n");
}

TEST_F(Exec, compiles_anew_when_a_library_appears_that_was_loaded_in_vain)
{
    const std::string library = (scratch / "libvalue.so").string();
    write("load.c", "#include <dlfcn.h>\n#include <stdio.h>\nint main(void) { fputs(dlopen(\"" + library +
                        "\", RTLD_NOW) ? \"there\" : \"absent\", fopen(\"out\", \"w\")); return 0; }\n");
    ASSERT_EQ(bare({"gcc", "load.c", "-o", "load"}).exit_code, 0);
    EXPECT_EQ(any({"./load", "-o", "out"}), "miss: absent");
    EXPECT_EQ(any({"./load", "-o", "out"}), "hit: absent");
    ASSERT_EQ(bare({"g++", "-shared", "-fPIC", "a.cpp", "-o", "libvalue.so"}).exit_code, 0);
    EXPECT_EQ(any({"./load", "-o", "out"}), "miss: there");
}

TEST_F(Exec, keeps_nothing_that_lists_where_it_writes_or_where_names_are_others_each_time)
{
    const std::string temporaries = fs::temp_directory_path().string() + "/*";
    for (const std::string& listed : {std::string("*"), temporaries, std::string("/proc/self/fd/*")}) {
        any_shell("echo " + listed + " > $2");
        EXPECT_NE(told.find("it lists the directory"), std::string::npos) << listed << ": " << told;
    }
}

// A test whose sources lie in two directories, and that wants one result of both.
class ExecFixed : public Exec {
protected:
    std::string compile(const std::string& folder, const Words& words)
    {
        EXPECT_EQ(exec(words, {{"HEARTH_STABLE_PATHS", "1"}}, folder).exit_code, 0) << told;
        return outcome();
    }
    void write_both(const std::string& name, const std::string& text)
    {
        for (const char* folder : {"one/", "another/"})
            write(folder + name, text);
    }
};

TEST_F(ExecFixed, gives_paths_that_are_the_same_in_every_directory)
{
    write_both("a.cpp", "#include \"value.h\"\n#include <inner.h>\nconst char* name() { return __FILE__; }\n"
                        "int value() { return VALUE + inner(); }\n");
    write_both("value.h", "#define VALUE 1\n");
    write_both("inc/inner.h", "inline int inner() { return __FILE__[0]; }\n");
    const auto words = [&](const std::string& compiler, const std::string& folder, bool whole) {
        const std::string place = whole ? (scratch / folder).string() + "/" : "";
        return Words{compiler, "-g", "-I" + place + "inc", "-c", place + "a.cpp", "-o", "a.o"};
    };
    for (const char* compiler : {"g++", "clang++"})
        for (const bool whole : {false, true}) {
            if (::access((std::string("/usr/bin/") + compiler).c_str(), X_OK) != 0)
                continue;
            EXPECT_EQ(compile("one", words(compiler, "one", whole)), "miss") << compiler << told;
            EXPECT_EQ(compile("another", words(compiler, "another", whole)), "hit") << compiler << told;
            const std::string object = read(scratch / "another/a.o");
            EXPECT_EQ(object, read(scratch / "one/a.o"));
            EXPECT_EQ(object.find(scratch.string()), std::string::npos);
            EXPECT_NE(object.find(whole ? "./a.cpp" : "a.cpp"), std::string::npos);
        }
    // What is beside the source still decides.
    write("another/inc/inner.h", "inline int inner() { return 2; }\n");
    EXPECT_EQ(compile("another", words("g++", "another", true)), "miss") << told;
}

TEST_F(ExecFixed, holds_paths_that_a_compiler_writes_though_it_was_told_others)
{
    write_both("a.cpp", "asm(\".ident \\\"\" PLACE \"\\\"\");\nint value;\n");
    // The path is written by a macro that both calls have.
    const Words words{"g++", "-g", "-DPLACE=\"" + (scratch / "one").string() + "\"", "-c", "a.cpp", "-o", "a.o"};
    EXPECT_EQ(compile("one", words), "miss") << told;
    EXPECT_EQ(compile("one", words), "hit") << told;
    EXPECT_EQ(compile("another", words), "miss") << told;
}

TEST_F(ExecClang, compiles_anew_when_a_newer_gcc_appears_where_clang_looks_for_them)
{
    const ProcessResult target = bare({"clang++", "--print-target-triple"});
    std::string triple = target.out.substr(0, target.out.find('\n'));
    const auto add_version = [&](const std::string& version) {
        write("root/lib/gcc/" + triple + "/" + version + "/crtbegin.o", "");
        write("root/include/c++/" + version + "/which.h", "#define VALUE " + version + "\n");
    };
    write("a.cpp", "#include <which.h>\nint value() { return VALUE; }\n");
    add_version("12");
    const Words words{"clang++", "--gcc-toolchain=" + (scratch / "root").string(), "-c", "a.cpp", "-o", "a.o"};
    EXPECT_EQ(twice(words, "a.o"), "miss, hit") << told;
    add_version("13");
    EXPECT_EQ(both(words, "a.o"), "miss") << told;
}

TEST_F(ExecClang, is_not_answered_where_a_file_may_hold_more_options)
{
    write("more.cfg", "-g\n");
    EXPECT_EQ(both({"clang++", "--config", (scratch / "more.cfg").string(), "-c", "a.cpp", "-o", "a.o"}, "a.o"),
              "past_the_cache");
}

// A hit would put them back to what they held after the first compile, and take away what was added since.
TEST_F(Exec, keeps_nothing_that_adds_to_a_file)
{
    const std::string log = (scratch / "log").string();
    for (const auto& [variable, value] :
         Variables{{"DEPENDENCIES_OUTPUT", "log"}, {"SUNPRO_DEPENDENCIES", log + " a.o"}}) {
        std::string logged;
        for (int i = 0; i < 2; ++i) {
            write("log", logged += "the user's own line\n");
            EXPECT_EQ(exec({"g++", "-c", "a.cpp"}, {{variable, value}}).exit_code, 0) << told;
            EXPECT_NE(told.find("past_the_cache: it appends to " + log), std::string::npos) << told;
            EXPECT_TRUE(read(log).starts_with(logged)) << read(log);
            EXPECT_GT(fs::file_size(log), logged.size());
            logged = read(log);
        }
    }
}

TEST_F(Exec, keeps_no_command_that_changes_a_file_that_is_not_its_own)
{
    const auto told_of = [&](const std::string& text) {
        write("in", "text\n");
        fs::remove(scratch / "out");
        for (int i = 0; i < 2; ++i) {
            write("log", "the user's\n");
            exec_any({"sh", "-c", text, "sh", "-o", "out"});
        }
        return told.substr(std::min(told.size(), std::string_view("hearth: sh: ").size()));
    };
    const std::string log = (scratch / "log").string();
    const std::string out = (scratch / "out").string();
    EXPECT_TRUE(told_of("cat in > $2").starts_with("hit")) << told_of("cat in > $2");
    EXPECT_TRUE(told_of("cat in >> $2").starts_with("past_the_cache: it appends to " + out)) << told_of("cat in >> $2");
    for (const auto& [text, why] : Variables{{"cat in > $2; echo x >> log", "it appends to " + log},
                                             {"cat in > $2; : >> log", "it appends to " + log},
                                             {"cat in > $2; echo x 1<> log", "it changes " + log},
                                             {"cat in > $2; echo x > log", "it writes " + log},
                                             {"cat in > $2; truncate -s 1 log", "it changes " + log},
                                             {"cat in > log; cat log > $2; rm log", "it removes " + log},
                                             {"cat in > other; mv other log; cat in > $2", ""}}) {
        const std::string said = told_of(text);
        EXPECT_TRUE(said.starts_with("past_the_cache: " + why)) << text << ": " << said;
    }
    // What it made for itself, and took away again, is nobody else's.
    const std::string temporary = "echo x >> made; echo y >> made; cat in made > $2; rm made";
    EXPECT_TRUE(told_of(temporary).starts_with("hit")) << told_of(temporary);
    EXPECT_TRUE(told_of("cat in > $2; echo x >> /dev/null").starts_with("hit"));
}

TEST_F(Exec, serves_any_command_at_the_users_word)
{
    write("in", "one");
    for (const Words& words : {Words{"sh", "-c", "cat in > $2", "sh", "-o", "out"},
                               Words{"sh", "-c", "cat in > out", "sh", "--output=out"}}) {
        EXPECT_EQ(any(words), "miss: one") << told;
        EXPECT_EQ(any(words), "hit: one") << told;
    }
    write("in", "two");
    EXPECT_EQ(any_shell("cat in > $2"), "miss: two");
    // A name that only the store would know is not written to.
    for (const Words& words : {Words{"sh", "-c", "cat in > out"}, Words{"sh", "-c", "cat in > $1", "sh", "out"},
                               Words{"sh", "-c", "cat in > $2; cat in > more", "sh", "-o", "out"}}) {
        EXPECT_EQ(any(words), "past_the_cache: two");
        EXPECT_NE(told.find("which it was not asked for"), std::string::npos) << told;
    }
    EXPECT_EQ(any_shell("cat in > $2; chmod +x $2"), "past_the_cache: two");
    EXPECT_NE(told.find("which may be executed"), std::string::npos) << told;
}

// What is written then is called by rules that every compiler has, which the reader of an entry knows too.
TEST_F(Exec, keeps_what_is_written_where_no_output_is_named)
{
    write("b.c.cpp", "int main() { return 0; }\n");
    EXPECT_EQ(twice({"g++", "-c", "a.cpp"}, "a.o"), "miss, hit");
    EXPECT_EQ(twice({"g++", "-S", "./b.c.cpp"}, "b.c.s"), "miss, hit");
    EXPECT_EQ(twice({"g++", "b.c.cpp"}, "a.out"), "miss, hit");
    EXPECT_EQ(exec({"g++", "b.c.cpp"}).exit_code, 0);
    EXPECT_EQ(::access((scratch / "a.out").c_str(), X_OK), 0);
    const Words two{"g++", "-c", "-MD", "a.cpp", "b.c.cpp"};
    EXPECT_EQ(both(two, "b.c.o"), "past_the_cache");
    EXPECT_NE(told.find("b.c.d, which it was not asked for"), std::string::npos) << told;
    EXPECT_EQ(twice({"g++", "-c", "a.cpp", "b.c.cpp"}, "b.c.o"), "miss, hit");
    fs::remove(scratch / "a.o");
    exec({"g++", "-c", "a.cpp", "b.c.cpp"});
    EXPECT_TRUE(fs::exists(scratch / "a.o"));
}

class ExecNvcc : public Exec {
protected:
    void SetUp() override
    {
        Exec::SetUp();
        need("/usr/local/cuda/bin/nvcc");
        write("k.cu", "#include \"value.h\"\n__global__ void k(int* x) { *x = VALUE; }\n");
    }
};

// That headers which only one pass includes count is in steps_test.
TEST_F(ExecNvcc, asks_for_its_flags_and_its_host_compiler)
{
    const Words words{"/usr/local/cuda/bin/nvcc", "-arch=sm_80", "-c", "k.cu", "-o", "k.o"};
    const auto outcome = [&](const Variables& environment = {}) {
        EXPECT_EQ(exec(words, environment).exit_code, 0) << told;
        return Exec::outcome();
    };
    EXPECT_EQ(outcome(), "miss");
    EXPECT_EQ(outcome({{"NVCC_APPEND_FLAGS", "-DMORE"}}), "miss");
    EXPECT_EQ(outcome(), "hit");
    // The host compiler is the one that PATH leads to, however that is written.
    const Variables longer{{"PATH", (scratch / "bin").string() + ":" + std::getenv("PATH")}};
    EXPECT_EQ(outcome(longer), "hit");
    write_program("bin/gcc", "#!/bin/sh\nexec /usr/bin/gcc -DVALUE=3 \"$@\"\n");
    EXPECT_NE(outcome(longer), "hit");
}

TEST_F(ExecNvcc, keeps_what_is_written_where_no_output_is_named)
{
    for (const auto& [line, made] : Variables{{"nvcc -arch=sm_80 -cubin k.cu", "k.cubin"},
                                              {"nvcc -arch=sm_80 -ptx k.cu", "k.ptx"},
                                              {"nvcc -arch=sm_80 -fatbin k.cu", "k.fatbin"},
                                              {"nvcc -arch=sm_80 -optix-ir k.cu", "k.optixir"},
                                              {"nvcc -arch=sm_80 -dc k.cu", "k.o"},
                                              {"nvcc -arch=sm_80 -cuda k.cu", "k.cu.cpp.ii"},
                                              {"ptxas -arch=sm_80 k.ptx", "elf.o"}})
        for (const char* expected : {"miss", "hit"}) {
            fs::remove(scratch / made);
            EXPECT_EQ(exec(words_of("/usr/local/cuda/bin/" + line)).exit_code, 0);
            EXPECT_EQ(outcome(), expected) << line << told;
            EXPECT_TRUE(fs::exists(scratch / made)) << line;
        }
}

// Lets the same tree lie in one directory after another, each of which is gone when the next is there.
class ExecNvccAnew : public ExecNvcc {
protected:
    void lie_in(const std::string& folder)
    {
        fs::remove_all(scratch / place);
        place = folder;
        write(place + "/k.cu",
              "#include <inner.h>\n#include \"value.h\"\n"
              "namespace { __device__ __noinline__ float hidden(float x) { return x * VALUE; } }\n"
              "__global__ void k(float* x, const char** s) { *x = inner(hidden(*x)); *s = __FILE__; }\n");
        write(place + "/value.h", "#define VALUE 2\n");
        write(place + "/inc/inner.h",
              "static __device__ __forceinline__ float inner(float x) { return x / 3; }\n" + more);
    }
    // With what comes before its paths.
    Words words(const std::string& kind, const std::string& before) const
    {
        return words_of("/usr/local/cuda/bin/nvcc " + kind + " -arch=sm_80 -lineinfo -I" + before + "inc " + before +
                        "k.cu -o " + (scratch / place / "out").string());
    }
    // Under a directory of the cache's own.
    std::string compile(const std::string& kind, bool whole, const std::string& into = "cache")
    {
        const std::string before = whole ? (scratch / place).string() + "/" : "";
        fs::remove(scratch / place / "out");
        result = exec(words(kind, before), {{"HEARTH_STABLE_PATHS", "1"}, {"HEARTH_DIR", (scratch / into).string()}},
                      whole ? "" : place);
        return content_of(scratch / place / "out");
    }
    bool is_hit() const { return outcome() == "hit"; }

    std::string place = "first";
    std::string more;
    ProcessResult result;
};

TEST_F(ExecNvccAnew, device_code_is_what_a_compile_there_gives)
{
    for (const bool whole : {true, false})
        for (const char* kind : {"-ptx", "-cubin", "-fatbin"}) {
            lie_in("one");
            compile(kind, whole);
            EXPECT_FALSE(is_hit()) << told;
            lie_in("a/longer/name");
            const std::string ours = compile(kind, whole);
            EXPECT_TRUE(is_hit()) << kind << whole << told;
            EXPECT_EQ(ours.find(scratch.string()), std::string::npos);
            EXPECT_NE(ours.find(whole ? "/proc/self/fd/640" : "/proc/self/cwd"), std::string::npos);
            fs::remove_all(scratch / "fresh");
            EXPECT_EQ(compile(kind, whole, "fresh"), ours) << kind << whole;
            EXPECT_FALSE(is_hit()) << told;
            // What is beside the source still decides.
            write(place + "/value.h", "#define VALUE 3\n");
            EXPECT_NE(compile(kind, whole), ours);
            EXPECT_FALSE(is_hit()) << told;
        }
}

TEST_F(ExecNvccAnew, objects_hold_their_paths_as_ever)
{
    lie_in("one");
    compile("-c", true);
    lie_in("another");
    EXPECT_NE(compile("-c", true).find((scratch / "another").string()), std::string::npos);
    EXPECT_FALSE(is_hit()) << told;
}

// A warning and an error, as nvcc itself says them.
TEST_F(ExecNvccAnew, messages_name_files_as_they_are)
{
    for (const char* text : {"__global__ void w() { int unused; }\n", "__global__ void e() { undeclared = 1; }\n"}) {
        more = text;
        lie_in("one");
        compile("-ptx", true);
        const std::string path = (scratch / place).string() + "/";
        const ProcessResult theirs = bare(words("-ptx", path));
        EXPECT_NE(theirs.err.find(path + "inc/inner.h"), std::string::npos) << theirs.err;
        EXPECT_EQ(result.err, theirs.err);
        EXPECT_EQ(result.out, theirs.out);
        EXPECT_EQ(result.exit_code, theirs.exit_code);
        lie_in("another");
        compile("-ptx", true);
        EXPECT_FALSE(is_hit()) << told;
        EXPECT_EQ(result.err.find("/proc/self"), std::string::npos) << result.err;
        EXPECT_NE(result.err.find((scratch / place / "inc/inner.h").string()), std::string::npos) << result.err;
    }
}

}  // namespace hearth::test
