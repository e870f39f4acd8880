// `hearth exec` beside the compiler itself, in worlds that change: the same files, messages and exit codes, and no
// compile where nothing that was asked has changed.
#include "tools/command.hpp"

#include <fstream>
#include <regex>

#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

class Exec : public Command {
protected:
    void SetUp() override
    {
        if (std::string_view(HEARTH_DROPINS).empty())
            GTEST_SKIP() << "The recorder is not built: a sanitizer's library cannot be loaded into other programs.";
        if (::access("/usr/bin/g++", X_OK) != 0)
            GTEST_SKIP() << "No g++ is installed.";
        write("a.cpp", "#include \"value.h\"\nint value() { return VALUE; }\n");
        write("value.h", "#define VALUE 1\n");
    }

    ProcessResult bare(Words words, const Variables& environment = {}, const std::string& directory = {})
    {
        if (words.front().find('/') == std::string::npos)
            words.front().insert(0, "/usr/bin/");
        return run_process(words, options_of(environment, directory));
    }
    ProcessResult exec(Words words, const Variables& environment = {}, const std::string& directory = {})
    {
        words.insert(words.begin(), {"exec", "--verbose", "--"});
        ProcessResult result = hearth(words, options_of(environment, directory));
        // The last line is ours.
        const std::size_t line = result.err.rfind("hearth: ");
        told = line == std::string::npos ? "" : result.err.substr(line);
        result.err.resize(std::min(line, result.err.size()));
        return result;
    }
    // Runs the command through the cache, then bare, and expects the same of both. Returns what the first said.
    std::string both(const Words& words, const std::string& output, const Variables& environment = {},
                     const std::string& directory = {})
    {
        const fs::path file = scratch / directory / output;
        fs::remove(file);
        const ProcessResult ours = exec(words, environment, directory);
        const std::string made = fs::exists(file) ? read(file) : "nothing";
        fs::remove(file);
        const ProcessResult theirs = bare(words, environment, directory);
        EXPECT_EQ(ours.exit_code, theirs.exit_code) << ours.err;
        EXPECT_EQ(ours.out, theirs.out);
        EXPECT_EQ(ours.err, theirs.err);
        EXPECT_EQ(made, fs::exists(file) ? read(file) : "nothing");
        const std::size_t colon = told.find(": ", std::string_view("hearth: ").size());
        return colon == std::string::npos ? told
                                          : told.substr(colon + 2, told.find_first_of(":,", colon + 2) - colon - 2);
    }

    std::string told;

private:
    ProcessOptions options_of(const Variables& environment, const std::string& directory)
    {
        ProcessOptions options;
        options.directory = (scratch / directory).string();
        for (const auto& [name, value] : environment)
            options.environment[name] = value;
        return options;
    }
};

const Words k_compile{"g++", "-O1", "-c", "a.cpp", "-o", "a.o"};

}  // namespace

TEST_F(Exec, gives_what_the_compiler_gives_and_the_second_time_without_it)
{
    EXPECT_EQ(both(k_compile, "a.o"), "miss");
    EXPECT_EQ(both(k_compile, "a.o"), "hit");
    EXPECT_EQ(both({"g++", "-O1", "-c", "a.cpp", "-o", "other.o"}, "other.o"), "hit");
    EXPECT_EQ(both({"g++", "-O2", "-c", "a.cpp", "-o", "a.o"}, "a.o"), "miss");
    // The cache answers, not the compiler.
    EXPECT_EQ(exec(k_compile, {{"HEARTH_FORBID_COMPILE", "1"}}).exit_code, 0) << told;
}

TEST_F(Exec, is_a_hit_from_a_new_directory_unless_the_output_holds_its_path)
{
    EXPECT_EQ(both(k_compile, "a.o"), "miss");
    fs::create_directory(scratch / "new");
    for (const char* name : {"a.cpp", "value.h"})
        fs::copy(scratch / name, scratch / "new" / name);
    EXPECT_EQ(both(k_compile, "a.o", {}, "new"), "hit");
    const std::string whole = (scratch / "new/a.cpp").string();
    EXPECT_EQ(both({"g++", "-O1", "-c", whole, "-o", "a.o"}, "a.o"), "hit");
    const Words with_lines{"g++", "-g", "-c", "a.cpp", "-o", "a.o"};
    EXPECT_EQ(both(with_lines, "a.o"), "miss");
    EXPECT_EQ(both(with_lines, "a.o"), "hit");
    EXPECT_EQ(both(with_lines, "a.o", {}, "new"), "miss");
    write("a.cpp", "const char* value() { return __FILE__; }\n");
    fs::copy(scratch / "a.cpp", scratch / "new/a.cpp", fs::copy_options::overwrite_existing);
    EXPECT_EQ(both({"g++", "-c", (scratch / "a.cpp").string(), "-o", "a.o"}, "a.o"), "miss");
    EXPECT_EQ(both({"g++", "-c", whole, "-o", "a.o"}, "a.o"), "miss");
}

TEST_F(Exec, compiles_anew_when_a_header_changes_and_knows_the_old_one_when_it_is_back)
{
    EXPECT_EQ(both(k_compile, "a.o"), "miss");
    write("value.h", "#define VALUE 2\n");
    EXPECT_EQ(both(k_compile, "a.o"), "miss");
    write("value.h", "#define VALUE 1\n");
    EXPECT_EQ(both(k_compile, "a.o"), "hit");
}

TEST_F(Exec, compiles_anew_when_a_header_appears_where_it_was_looked_for)
{
    fs::create_directories(scratch / "first");
    fs::create_directories(scratch / "second");
    fs::rename(scratch / "value.h", scratch / "second/value.h");
    const Words words{"g++", "-Ifirst", "-Isecond", "-c", "a.cpp", "-o", "a.o"};
    EXPECT_EQ(both(words, "a.o"), "miss");
    EXPECT_EQ(both(words, "a.o"), "hit");
    write("first/value.h", "#define VALUE 3\n");
    EXPECT_EQ(both(words, "a.o"), "miss");
    fs::remove(scratch / "first/value.h");
    EXPECT_EQ(both(words, "a.o"), "hit");
}

TEST_F(Exec, compiles_anew_when_a_variable_that_was_asked_for_changes)
{
    fs::create_directories(scratch / "by_variable");
    fs::rename(scratch / "value.h", scratch / "by_variable/value.h");
    write("value.h.off", "");
    const Variables found{{"CPATH", (scratch / "by_variable").string()}};
    EXPECT_EQ(both(k_compile, "a.o"), "past_the_cache");  // it fails
    EXPECT_EQ(both(k_compile, "a.o", found), "miss");
    EXPECT_EQ(both(k_compile, "a.o", found), "hit");
    EXPECT_EQ(both(k_compile, "a.o"), "past_the_cache");
    EXPECT_EQ(both(k_compile, "a.o", {{"CPATH", found.at("CPATH")}, {"NOBODY_ASKS", "1"}}), "hit");
}

TEST_F(Exec, replays_warnings_and_keeps_no_failure)
{
    write("a.cpp", "int value() { int unused; return 1; }\n");
    const Words words{"g++", "-Wall", "-c", "a.cpp", "-o", "a.o"};
    EXPECT_EQ(both(words, "a.o"), "miss");
    EXPECT_EQ(both(words, "a.o"), "hit");
    write("a.cpp", "int value() { return nothing; }\n");
    EXPECT_EQ(both(words, "a.o"), "past_the_cache");
    EXPECT_EQ(both(words, "a.o"), "past_the_cache");
    EXPECT_NE(told.find("it failed"), std::string::npos) << told;
}

TEST_F(Exec, tells_dependencies_with_the_names_of_this_call)
{
    const Words words{"g++", "-MMD", "-MF", "a.o.d", "-c", "a.cpp", "-o", "a.o"};
    EXPECT_EQ(both(words, "a.o.d"), "miss");
    EXPECT_EQ(both(words, "a.o.d"), "hit");
    EXPECT_EQ(both({"g++", "-MMD", "-MF", "b.o.d", "-c", "a.cpp", "-o", "b.o"}, "b.o.d"), "hit");
    EXPECT_EQ(both({"g++", "-MMD", "-MF", "a.o.d", "-c", (scratch / "a.cpp").string(), "-o", "a.o"}, "a.o.d"), "miss");
    fs::create_directories(scratch / "new");
    for (const char* name : {"a.cpp", "value.h"})
        fs::rename(scratch / name, scratch / "new" / name);
    EXPECT_EQ(both({"g++", "-MMD", "-MF", "c.o.d", "-c", (scratch / "new/a.cpp").string(), "-o", "c.o"}, "c.o.d"),
              "hit");
    EXPECT_NE(read(scratch / "c.o.d").find((scratch / "new/value.h").string()), std::string::npos);
    // Without a name of its own it lies beside the output.
    EXPECT_EQ(both({"g++", "-MD", "-c", "a.cpp", "-o", "a.o"}, "a.d", {}, "new"), "miss");
    EXPECT_EQ(both({"g++", "-MD", "-c", "a.cpp", "-o", "a.o"}, "a.d", {}, "new"), "hit");
}

TEST_F(Exec, reads_arguments_from_files)
{
    write("arguments", "-O1 -DMORE=1\n-c \"a.cpp\"");
    const Words words{"g++", "@arguments", "-o", "a.o"};
    EXPECT_EQ(both(words, "a.o"), "miss");
    EXPECT_EQ(both(words, "a.o"), "hit");
    write("arguments", "-O1 -DVALUE=7 -c a.cpp");
    EXPECT_EQ(both(words, "a.o"), "miss");
}

TEST_F(Exec, leaves_alone_what_is_no_compile)
{
    EXPECT_EQ(both({"g++", "--version"}, "none"), "past_the_cache");
    EXPECT_EQ(both({"g++", "-E", "a.cpp"}, "none"), "past_the_cache");
    EXPECT_EQ(both({"g++", "-shared", "-fPIC", "a.cpp", "-o", "a.so"}, "a.so"), "past_the_cache");
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

// Worlds in which the first version was wrong, or nearly.
TEST_F(Exec, holds_what_system_headers_say_though_their_real_path_is_asked_first)
{
    const Words words{"g++", "-isystem", "system", "-S", "a.cpp", "-o", "a.s"};
    fs::create_directory(scratch / "system");
    fs::rename(scratch / "value.h", scratch / "system/value.h");
    EXPECT_EQ(both(words, "a.s"), "miss");
    EXPECT_EQ(both(words, "a.s"), "hit");
    write("system/value.h", "#define VALUE 9\n");
    EXPECT_EQ(both(words, "a.s"), "miss");
}

TEST_F(Exec, holds_which_directories_are_the_same)
{
    for (const char* name : {"first", "third"})
        fs::create_directory(scratch / name);
    fs::create_directory_symlink("first", scratch / "second");
    fs::rename(scratch / "value.h", scratch / "third/value.h");
    const Words words{"g++", "-Ifirst", "-Isecond", "-Ithird", "-S", "a.cpp", "-o", "a.s"};
    EXPECT_EQ(both(words, "a.s"), "miss");
    EXPECT_EQ(both(words, "a.s"), "hit");
    fs::remove(scratch / "second");
    fs::create_directory(scratch / "second");
    write("second/value.h", "#define VALUE 8\n");
    EXPECT_EQ(both(words, "a.s"), "miss");
}

TEST_F(Exec, keeps_nothing_that_came_through_a_pipe_or_looked_for_its_own_output)
{
    const auto piped = [&](const std::string& value) {
        const ProcessResult result = run_process(
            {"/bin/sh", "-c",
             "echo '#define PIPED " + value + "' | \"$0\" exec -- g++ -include /dev/stdin -S p.cpp -o p.s && cat p.s",
             HEARTH_COMMAND},
            [this] {
                ProcessOptions options;
                options.directory = scratch.string();
                options.environment["HEARTH_DIR"] = cache.string();
                return options;
            }());
        return result.out;
    };
    write("p.cpp", "int piped = PIPED;\n");
    const std::string one = piped("1");
    EXPECT_NE(one, piped("2"));
    write("a.cpp", "#if __has_include(\"a.o\")\nint there;\n#endif\n");
    EXPECT_EQ(exec(k_compile).exit_code, 0);
    EXPECT_EQ(exec(k_compile).exit_code, 0);
    EXPECT_NE(read(scratch / "a.o").find("there"), std::string::npos) << told;
}

TEST_F(Exec, asks_a_compiler_in_another_place_anew_and_one_whose_options_may_hold_paths)
{
    fs::create_directories(scratch / "one");
    fs::create_directories(scratch / "two");
    for (const char* place : {"one", "two"})
        write(std::string(place) + "/b.cpp", "int f(int a) { return 1 << a; }\n");
    for (const char* option : {"-fsanitize=undefined", "-fverbose-asm", "-dP", "--debug"}) {
        EXPECT_EQ(both({"g++", option, "-S", "one/b.cpp", "-o", "b.s"}, "b.s"), "miss") << option;
        EXPECT_EQ(both({"g++", option, "-S", "two/b.cpp", "-o", "b.s"}, "b.s"), "miss") << option;
    }
    EXPECT_EQ(both({"g++", "-fPIC", "-S", "one/b.cpp", "-o", "b.s"}, "b.s"), "miss");
    EXPECT_EQ(both({"g++", "-fPIC", "-S", "two/b.cpp", "-o", "b.s"}, "b.s"), "hit");
    fs::create_symlink("/usr/bin/g++", scratch / "g++");
    EXPECT_EQ(both({"./g++", "-fPIC", "-S", "two/b.cpp", "-o", "b.s"}, "b.s"), "miss");
}

TEST_F(Exec, never_puts_its_output_in_the_place_of_its_source)
{
    EXPECT_EQ(both(k_compile, "a.o"), "miss");
    const std::string source = read(scratch / "a.cpp");
    EXPECT_NE(exec({"g++", "-O1", "-c", "a.cpp", "-o", "a.cpp"}).exit_code, 0);
    fs::create_symlink("a.cpp", scratch / "link");
    EXPECT_NE(exec({"g++", "-O1", "-c", "a.cpp", "-o", "link"}).exit_code, 0);
    EXPECT_EQ(read(scratch / "a.cpp"), source);
}

TEST_F(Exec, replaces_an_output_as_the_compiler_does)
{
    EXPECT_EQ(both(k_compile, "a.o"), "miss");
    write("other", "of somebody else");
    fs::remove(scratch / "a.o");
    fs::create_symlink("other", scratch / "a.o");
    EXPECT_EQ(exec(k_compile).exit_code, 0);
    EXPECT_FALSE(fs::is_symlink(scratch / "a.o"));
    EXPECT_EQ(read(scratch / "other"), "of somebody else");
    // As a temporary file that was made for it: it is that file which is filled.
    write("temporary.o", "");
    fs::permissions(scratch / "temporary.o", fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(exec({"g++", "-O1", "-c", "a.cpp", "-o", "temporary.o"}).exit_code, 0);
    EXPECT_EQ(fs::status(scratch / "temporary.o").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Exec, asks_for_all_variables_behind_a_compiler_that_is_a_script)
{
    write("g++", "#!/bin/sh\nexec /usr/bin/g++ $MORE \"$@\"\n");
    fs::permissions(scratch / "g++", fs::perms::owner_all);
    const Words words{"./g++", "-O1", "-c", "a.cpp", "-o", "a.o"};
    EXPECT_EQ(both(words, "a.o"), "miss");
    EXPECT_EQ(both(words, "a.o"), "hit");
    EXPECT_EQ(both(words, "a.o", {{"MORE", "-DVALUE=5"}}), "miss");
    EXPECT_EQ(both(words, "a.o"), "hit");
    write("g++", "#!/bin/sh\nexec /usr/bin/g++ -DVALUE=6 \"$@\"\n");
    EXPECT_EQ(both(words, "a.o"), "miss");
}

TEST_F(Exec, serves_any_command_at_the_users_word)
{
    write("in", "one");
    const auto copy = [this] {
        fs::remove(scratch / "out");
        hearth({"exec", "--any", "--verbose", "--", "sh", "-c", "cat in > out"}, [this] {
            ProcessOptions options;
            options.directory = scratch.string();
            return options;
        }());
        return read(scratch / "out");
    };
    EXPECT_EQ(copy(), "one");
    EXPECT_EQ(copy(), "one");
    write("in", "two");
    EXPECT_EQ(copy(), "two");
}

TEST_F(Exec, lets_one_of_many_compile)
{
    const ProcessResult result = run_process(
        {"/bin/sh", "-c", "for i in 1 2 3 4; do \"$0\" exec -- g++ -O1 -c a.cpp -o $i.o & done; wait", HEARTH_COMMAND},
        [this] {
            ProcessOptions options;
            options.directory = scratch.string();
            options.environment["HEARTH_DIR"] = cache.string();
            return options;
        }());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    for (const char* name : {"2.o", "3.o", "4.o"})
        EXPECT_EQ(read(scratch / name), read(scratch / "1.o"));
    EXPECT_EQ(json_of({"stats", "--json"})["compiles"], 1);
}

class ExecNvcc : public Exec {
protected:
    void SetUp() override
    {
        Exec::SetUp();
        if (IsSkipped())
            return;
        if (::access("/usr/local/cuda/bin/nvcc", X_OK) != 0)
            GTEST_SKIP() << "No nvcc is installed.";
        write("k.cu", "#include \"value.h\"\n"
                      "#ifndef __CUDA_ARCH__\n#include \"host.h\"\n#endif\n"
                      "__global__ void k(int* x) { *x = VALUE; }\n");
        write("host.h", "inline int host() { return 1; }\n");
    }
};

TEST_F(ExecNvcc, is_right_where_only_one_pass_includes_a_header)
{
    const std::string nvcc = "/usr/local/cuda/bin/nvcc";
    const Words words{nvcc, "-arch=sm_80", "-c", "k.cu", "-o", "k.o"};
    const auto outcome = [&](const Variables& environment = {}) {
        EXPECT_EQ(exec(words, environment).exit_code, 0) << told;
        return std::regex_replace(told, std::regex("^hearth: k.cu: ([a-z_]+)[^]*"), "$1");
    };
    EXPECT_EQ(outcome(), "miss");
    const std::string first = read(scratch / "k.o");
    EXPECT_EQ(outcome(), "hit");
    EXPECT_EQ(read(scratch / "k.o"), first);
    write("host.h", "inline int host() { return 2; }\nint more() { return host(); }\n");
    EXPECT_EQ(outcome(), "miss");
    EXPECT_NE(read(scratch / "k.o").find("_Z4morev"), std::string::npos);
    EXPECT_EQ(outcome({{"NVCC_APPEND_FLAGS", "-DMORE"}}), "miss");
    EXPECT_EQ(outcome(), "hit");
}

}  // namespace hearth::test
