// Commands of compilers that are recorded, and built again by 'hearth build': elsewhere, and where paths matter in
// place.
#include "format/recipe.hpp"
#include "support/eventually.hpp"
#include "tools/command.hpp"

#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>

#include <sys/stat.h>
#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

constexpr const char* k_nvcc = "/usr/local/cuda/bin/nvcc";

class CommandRecipes : public Command {
protected:
    void SetUp() override
    {
        if (::access("/usr/bin/g++", X_OK) != 0)
            GTEST_SKIP() << "No g++ is installed.";
        m_recipes = (scratch / "r.recipes").string();
        m_bundle = (scratch / "x.bundle").string();
        fs::create_directory(scratch / "tmp");
        make_project("project");
    }

    void make_project(const std::string& name, const std::string& value = "1")
    {
        fs::create_directories(scratch / name / "inc");
        write(name + "/inc/value.h", "#define VALUE " + value + "\n");
        write(name + "/beside.h", "#define BESIDE 2\n");
        write(name + "/a.cpp", "#include <cstddef>\n#include <value.h>\n#include \"beside.h\"\n"
                               "int value() { return VALUE + BESIDE; }\n");
        write(name + "/k.cu", "#include <value.h>\n__global__ void k(int* x) { *x = VALUE; }\n");
    }

    ProcessResult exec(Words words, const std::string& directory, Environment environment)
    {
        words.insert(words.begin(), {"exec", "--verbose", "--"});
        return hearth(words, {.environment = std::move(environment), .directory = (scratch / directory).string()});
    }
    void record(const Words& words, const std::string& directory = "project", Environment more = {})
    {
        more.try_emplace("HEARTH_RECORD", m_recipes);
        more.try_emplace("HEARTH_DIR", (scratch / "recording").string());
        const ProcessResult result = exec(words, directory, std::move(more));
        EXPECT_EQ(result.exit_code, 0) << result.err;
    }

    // 'hearth build' of everything into the bundle, which leaves nothing else behind.
    nlohmann::json build(const Words& more = {}, int expected = 0)
    {
        Words words{"build", m_recipes, "-o", m_bundle, "--json"};
        words.insert(words.end(), more.begin(), more.end());
        const ProcessResult result = hearth(words, {.environment = {{"TMPDIR", (scratch / "tmp").string()}}});
        EXPECT_EQ(result.exit_code, expected) << result.out << result.err;
        EXPECT_TRUE(fs::is_empty(scratch / "tmp")) << "scratch files are left";
        const auto json = nlohmann::json::parse(result.out, nullptr, false);
        EXPECT_TRUE(json.is_object()) << result.out << result.err;
        return json;
    }
    // Why the only recipe was not built.
    std::string why_not_built()
    {
        const nlohmann::json built = build({}, 1);
        EXPECT_EQ(built.value("built", -1), 0) << built;
        EXPECT_EQ(built["problems"].size(), 1U) << built;
        return built["problems"].empty() ? "" : built["problems"][0].value("reason", "");
    }

    // Builds what was recorded of the project, which is gone, and expects that it serves another copy of it.
    void expect_built_elsewhere(const std::vector<Words>& commands, const Environment& environment = {})
    {
        fs::remove_all(scratch / "project");
        EXPECT_EQ(build()["built"], commands.size());
        EXPECT_FALSE(fs::exists(scratch / "project")) << "a build writes nothing where the command was recorded";
        make_project("elsewhere");
        for (const Words& words : commands)
            EXPECT_EQ(outcome(words, "elsewhere", environment), "hit") << words.back();
    }
    std::vector<nlohmann::json> listed() { return json_lines_of({"recipes", "ls", m_recipes, "--json"}); }

    // A script that may be taken for a compiler.
    std::string write_compiler(const std::string& name, const std::string& line)
    {
        fs::create_directories((scratch / name).parent_path());
        const fs::path path = write(name, "#!/bin/sh\n" + line + "\n");
        fs::permissions(path, fs::perms::owner_all);
        return path.string();
    }

    // Writes what was recorded again as somebody else may have changed it, under the same name.
    void forge(const std::function<void(format::Recipe&)>& change)
    {
        const std::string bytes = read(m_recipes);
        Result<format::DecodedRecipes> decoded = format::decode_recipes(as_bytes(bytes), m_recipes);
        ASSERT_TRUE(decoded.ok()) << decoded.error().message;
        std::string forged;
        for (const auto& [digest, content] : decoded->contents)
            forged += format::encode_content(digest, content);
        for (format::Recipe& recipe : decoded->recipes) {
            change(recipe);
            forged += format::encode_recipe(recipe);
        }
        write("r.recipes", forged);
    }

    // What a program is told that has nothing but the bundle.
    std::string outcome(const Words& words, const std::string& directory, Environment environment = {})
    {
        environment["HEARTH_DIR"] = (scratch / "empty").string();
        environment["HEARTH_BUNDLES"] = m_bundle;
        environment["HEARTH_FORBID_COMPILE"] = "1";
        const ProcessResult result = exec(words, directory, std::move(environment));
        fs::remove_all(scratch / "empty");
        if (result.exit_code == 0)
            return result.err.find("hit: bundle") != std::string::npos ? "hit" : result.err;
        return result.err.find("may not compile") != std::string::npos ? "missing" : result.err;
    }

    std::string m_recipes;
    std::string m_bundle;
};

// Whether no process has this word in its command line any more, after a while at most.
testing::AssertionResult ends_soon(const std::string& word)
{
    const auto is_there = [&] {
        for (const fs::directory_entry& process : fs::directory_iterator("/proc")) {
            std::ifstream line(process.path() / "cmdline");
            const std::string words{std::istreambuf_iterator<char>(line), {}};
            if (words.find(word) != std::string::npos)
                return true;
        }
        return false;
    };
    return eventually("no process has it", [&] { return !is_there(); });
}

const Words k_compile{"g++", "-O1", "-Iinc", "-c", "a.cpp", "-o", "a.o"};

}  // namespace

TEST_F(CommandRecipes, are_built_without_their_project_and_serve_any_copy_of_it)
{
    record(k_compile);
    expect_built_elsewhere({k_compile});
    const std::string here = (scratch / "elsewhere").string();
    EXPECT_EQ(outcome({"g++", "-O1", "-I" + here + "/inc", "-c", here + "/a.cpp", "-o", "b.o"}, "elsewhere"), "hit");
    make_project("edited", "7");
    EXPECT_EQ(outcome(k_compile, "edited"), "missing");
    EXPECT_EQ(build()["already_there"], 1);
}

TEST_F(CommandRecipes, are_not_built_where_times_tell_two_headers_apart)
{
    const std::string header = "#pragma once\n#ifdef FIRST\n#define SECOND\n#else\n#define FIRST\n#endif\n";
    for (const char* name : {"project/one/h.h", "project/two/h.h"}) {
        fs::create_directories((scratch / name).parent_path());
        write(name, header);
    }
    write("project/a.cpp", "#include \"one/h.h\"\n#include \"two/h.h\"\n#ifdef SECOND\nint two();\n#endif\n");
    fs::last_write_time(scratch / "project/one/h.h", fs::file_time_type::clock::now() - std::chrono::hours(24));
    record(k_compile);
    EXPECT_EQ(build({}, 1)["not_buildable"], 1);
}

TEST_F(CommandRecipes, of_nvcc_and_its_host_compiler_are_one_build_though_steps_were_answered)
{
    if (::access(k_nvcc, X_OK) != 0)
        GTEST_SKIP() << "No nvcc is installed.";
    const Words device{k_nvcc, "-gencode", "arch=compute_90,code=sm_90", "-Iinc", "-MD", "-c", "k.cu", "-o", "k.o"};
    Words more = device;
    more.insert(more.end(), {"-gencode", "arch=compute_80,code=sm_80"});
    for (const Words& words : {k_compile, device, more})
        record(words);
    fs::remove_all(scratch / "project");
    const nlohmann::json built = build({"--target", "sm_80"});
    EXPECT_EQ(built["built"], 3) << built;
    make_project("elsewhere");
    EXPECT_EQ(outcome(k_compile, "elsewhere"), "hit");
    EXPECT_EQ(outcome(more, "elsewhere"), "hit");
    EXPECT_EQ(outcome(device, "elsewhere"), "hit") << "a command is built as it was recorded, whatever the target";
    EXPECT_NE(read(scratch / "elsewhere/k.d").find("inc/value.h"), std::string::npos);
    const std::vector<nlohmann::json> listed = this->listed();
    ASSERT_EQ(listed.size(), 3U);
    EXPECT_EQ(listed[1]["kind"], "command");
    EXPECT_EQ(listed[1]["compiler"], "nvcc");
    EXPECT_EQ(listed[1]["target"], "sm_90");
}

TEST_F(CommandRecipes, are_recorded_from_hits_and_add_only_a_use_the_second_time)
{
    EXPECT_EQ(exec(k_compile, "project", {}).exit_code, 0);
    const Environment warm{{"HEARTH_DIR", cache.string()}};
    record(k_compile, "project", warm);
    const std::uintmax_t once = fs::file_size(m_recipes);
    record(k_compile, "project", warm);
    EXPECT_LT(fs::file_size(m_recipes) - once, 200U) << "contents were written twice";
    const std::vector<nlohmann::json> listed = this->listed();
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0]["uses"], 2);
    EXPECT_EQ(listed[0]["headers"], 2) << "those of the system are on every machine with this compiler";
    EXPECT_EQ(build()["built"], 1);
}

TEST_F(CommandRecipes, of_commands_are_built_elsewhere_however_they_name_their_files)
{
    const auto by_whole_paths = [&](const std::string& project) {
        const std::string at = (scratch / project).string();
        return Words{"g++",  "-isystem", at + "/inc", "-c", at + "/a.cpp",
                     "-MMD", "-MF",      at + "/a.d", "-o", at + "/b.o"};
    };
    const Words through_empty_directories{"g++", "-Igen/../inc", "-Iabsent", "-c", "gen/../a.cpp", "-o", "gen/a.o"};
    const Words by_a_file_without_an_output{"g++", "-c", "@arguments", "a.cpp"};
    for (const std::string project : {"project", "elsewhere"}) {
        fs::create_directories(scratch / project / "gen");
        write(project + "/arguments", "-O1 -Iinc");
    }
    for (const Words& words : {by_whole_paths("project"), through_empty_directories, by_a_file_without_an_output})
        record(words);
    expect_built_elsewhere({by_whole_paths("elsewhere"), through_empty_directories, by_a_file_without_an_output});
    EXPECT_TRUE(fs::exists(scratch / "elsewhere/a.o"));
}

TEST_F(CommandRecipes, whose_results_hold_paths_are_built_only_where_the_same_files_are)
{
    const Words words{"g++", "-g", "-Iinc", "-c", "a.cpp", "-o", "a.o"};
    record(words);
    write("project/a.o", "the user's own");
    const auto before = snapshot(scratch / "project");
    EXPECT_EQ(build()["built"], 1);
    EXPECT_EQ(snapshot(scratch / "project"), before);
    EXPECT_EQ(outcome(words, "project"), "hit");

    fs::remove(m_bundle);
    make_project("project", "7");
    EXPECT_NE(why_not_built().find("value.h is another file"), std::string::npos) << why_not_built();
    fs::remove_all(scratch / "project");
    EXPECT_NE(why_not_built().find("not on this machine"), std::string::npos) << why_not_built();
}

TEST_F(CommandRecipes, whose_words_name_no_output_are_not_built_over_what_the_user_has)
{
    fs::create_directory(scratch / "project/out");
    write("project/arguments", "-Iinc -o out/a.o");
    const std::tuple<Words, const char*, const char*> unnamed[] = {
        {{"g++", "-g", "-Iinc", "-c", "a.cpp"}, "project/a.o", "names no output"},
        {{"g++", "-g", "-c", "@arguments", "a.cpp"}, "project/out/a.o", "out/a.o"}};
    for (const auto& [words, output, why] : unnamed) {
        record(words);
        write(output, "the user's own");
        EXPECT_NE(why_not_built().find(why), std::string::npos);
        EXPECT_EQ(read(scratch / output), "the user's own");
        fs::remove(m_recipes);
    }
    record({"g++", "-c", "@arguments", "a.cpp"});
    fs::remove_all(scratch / "project");
    EXPECT_EQ(build()["built"], 1) << "in a tree the file lies there too";
}

TEST_F(CommandRecipes, are_built_from_the_recorded_headers_and_not_from_those_that_are_there)
{
    record(k_compile);
    make_project("project", "7");
    EXPECT_EQ(build()["built"], 1);
    EXPECT_EQ(outcome(k_compile, "project"), "missing") << "that would be the result of another header";
    make_project("project");
    EXPECT_EQ(outcome(k_compile, "project"), "hit");
}

TEST_F(CommandRecipes, of_what_was_forbidden_are_built_where_it_was_asked_for)
{
    EXPECT_NE(exec(k_compile, "project", {{"HEARTH_RECORD", m_recipes}, {"HEARTH_FORBID_COMPILE", "1"}}).exit_code, 0);
    const std::vector<nlohmann::json> listed = this->listed();
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_TRUE(listed[0]["status"].is_null());
    EXPECT_EQ(build()["built"], 1);
    EXPECT_FALSE(fs::exists(scratch / "project/a.o"));
    // Which variables it asks for is not known either: it is built with those of whoever builds it.
    EXPECT_EQ(outcome(k_compile, "project", {{"TMPDIR", (scratch / "tmp").string()}}), "hit");
    EXPECT_EQ(build()["already_there"], 1);
    fs::remove(m_bundle);
    write("project/a.cpp", "int other;\n");
    EXPECT_NE(why_not_built().find("a.cpp is another file"), std::string::npos);
}

TEST_F(CommandRecipes, are_not_built_by_another_compiler_nor_without_it)
{
    const std::string compiler = write_compiler("tools/g++", "exec /usr/bin/g++ \"$@\"");
    Words words = k_compile;
    words.front() = compiler;
    record(words);
    EXPECT_EQ(build()["built"], 1);
    EXPECT_EQ(outcome(words, "project"), "hit");
    fs::remove(m_bundle);
    write_compiler("tools/g++", "exec /usr/bin/g++ -O2 \"$@\"");
    EXPECT_NE(why_not_built().find("is another one here"), std::string::npos);
    fs::remove(compiler);
    EXPECT_NE(why_not_built().find(compiler + " is not on this machine"), std::string::npos);
}

TEST_F(CommandRecipes, of_a_toolkit_whose_headers_differ_here_are_reported)
{
    const std::string compiler =
        write_compiler("kit/bin/g++", "exec /usr/bin/g++ -isystem " + (scratch / "kit/include").string() + " \"$@\"");
    fs::create_directories(scratch / "kit/include");
    write("kit/include/kit.h", "#define KIT 1\n");
    write("project/kit.cpp", "#include <kit.h>\nint kit = KIT;\n");
    record({compiler, "-c", "kit.cpp", "-o", "kit.o"});
    write("kit/include/kit.h", "#define KIT 2\n");
    EXPECT_NE(why_not_built().find("kit.h"), std::string::npos);
    fs::remove(scratch / "kit/include/kit.h");
    EXPECT_NE(why_not_built().find("kit.h is not on this machine"), std::string::npos);
}

TEST_F(CommandRecipes, are_built_with_the_variables_that_they_were_recorded_with)
{
    const Environment environment{{"CPATH", "inc"}};
    const Words words{"g++", "-c", "a.cpp", "-o", "a.o"};
    record(words, "project", environment);
    expect_built_elsewhere({words}, environment);
    EXPECT_EQ(outcome(words, "elsewhere"), "missing");
}

TEST_F(CommandRecipes, have_no_value_that_may_be_a_secret_and_are_built_where_it_is_the_same)
{
    const std::string secret = "hunter2";
    const std::string compiler = write_compiler("project/g++", "exec /usr/bin/g++ \"-DTOKEN=$API_TOKEN\" \"$@\"");
    const Words words{compiler, "-Iinc", "-c", "a.cpp", "-o", "a.o"};
    record(words, "project", {{"API_TOKEN", secret}});
    EXPECT_EQ(read(m_recipes).find(secret), std::string::npos);
    EXPECT_NE(why_not_built().find("the variable API_TOKEN"), std::string::npos);
    given["API_TOKEN"] = secret;
    EXPECT_EQ(build()["built"], 1);
    EXPECT_EQ(outcome(words, "project"), "hit");
}

TEST_F(CommandRecipes, of_commands_that_were_typed_at_a_terminal_are_built_without_one)
{
    // Warnings have colours there, and paths.
    write("project/a.cpp", "#include <value.h>\nstatic int unused() { return VALUE; }\n");
    const Words words{"exec", "--", "g++", "-Wall", "-Iinc", "-c", "a.cpp", "-o", "a.o"};
    ProcessOptions options;
    options.directory = (scratch / "project").string();
    options.output = Output::terminal;
    options.environment = {{"HEARTH_RECORD", m_recipes}, {"HEARTH_DIR", (scratch / "recording").string()}};
    const ProcessResult compiled = hearth(words, options);
    EXPECT_NE(compiled.out.find("\x1b["), std::string::npos) << compiled.out;
    EXPECT_EQ(build()["built"], 1);
    options.environment = {{"HEARTH_BUNDLES", m_bundle}, {"HEARTH_FORBID_COMPILE", "1"}};
    EXPECT_EQ(hearth(words, options).out, compiled.out);
}

TEST_F(CommandRecipes, of_what_fails_links_or_goes_past_the_cache_are_none_or_say_so)
{
    const Environment recording{{"HEARTH_RECORD", m_recipes}};
    write("project/wrong.cpp", "int wrong(\n");
    EXPECT_NE(exec({"g++", "-c", "wrong.cpp"}, "project", recording).exit_code, 0);
    EXPECT_EQ(exec({"g++", "--version"}, "project", recording).exit_code, 0);
    EXPECT_FALSE(fs::exists(m_recipes));
    write("project/time.cpp", "const char* now = __TIME__;\n");
    record({"g++", "-c", "time.cpp", "-o", "time.o"});
    const std::vector<nlohmann::json> listed = this->listed();
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_NE(listed[0]["past_the_cache"], "");
    EXPECT_EQ(build({}, 1)["past_the_cache"], 1);
}

TEST_F(CommandRecipes, whose_build_is_stopped_leave_no_compiler_running)
{
    const std::string flag = (scratch / "flag").string();
    const std::string mark = (scratch / "waiting").string();
    const std::string compiler =
        write_compiler("tools/g++", "if [ -e " + flag + " ]; then touch " + mark + "; exec cat " + flag +
                                        "; fi\nexec /usr/bin/g++ \"$@\"");
    Words words = k_compile;
    words.front() = compiler;
    record(words);
    ASSERT_EQ(::mkfifo(flag.c_str(), 0600), 0);  // nobody will ever write to it
    for (const int signal : {SIGINT, SIGTERM}) {
        fs::remove(mark);
        EXPECT_EQ(stopped({"build", m_recipes, "-o", m_bundle}, signal, [&] { return fs::exists(mark); },
                          {{"TMPDIR", (scratch / "tmp").string()}}),
                  128 + signal);
        EXPECT_TRUE(ends_soon(flag)) << "a compiler is still running";
        EXPECT_TRUE(fs::is_empty(scratch / "tmp")) << "scratch files are left";
        EXPECT_FALSE(fs::exists(m_bundle));
    }
}

TEST_F(CommandRecipes, that_somebody_else_wrote_start_no_other_program)
{
    format::Recipe recipe;
    recipe.kind = format::RecipeKind::command;
    recipe.options = {"/bin/sh", "-c", "touch " + (scratch / "touched").string()};
    recipe.name = "a.cpp";
    recipe.working_directory = (scratch / "project").string();
    recipe.builtins = std::string(64, 'a');
    recipe.names = {"streams: no terminal no terminal no terminal"};
    recipe.key = Key::of("command recipe", recipe.builtins, std::string(64, '0'));
    write("r.recipes",
          format::encode_content(base::sha256(as_bytes(std::string_view("x"))), as_bytes(std::string_view("x")), 0) +
              format::encode_recipe(recipe));
    EXPECT_NE(why_not_built().find("no compiler that is known"), std::string::npos);
    EXPECT_FALSE(fs::exists(scratch / "touched"));
}

TEST_F(CommandRecipes, that_hand_options_to_the_linker_are_not_built)
{
    write("project/main.cpp", "int main() {}\n");
    write("project/arguments", "-Wl,--no-as-needed");
    std::vector<Words> all{{"g++", "-Wl,--as-needed"}, {"g++", "-Xlinker", "--as-needed"}, {"g++", "@arguments"}};
    if (::access(k_nvcc, X_OK) == 0)
        for (const char* option : {"-Xlinker", "--linker-options"})
            all.push_back({k_nvcc, option, "--as-needed"});
    for (Words& words : all) {
        words.insert(words.end(), {"main.cpp", "-o", "main"});
        fs::remove(m_recipes);
        record(words);
        const std::string why = why_not_built();
        EXPECT_NE(why.find("to the linker"), std::string::npos) << words[1] << ": " << why;
    }
}

TEST_F(CommandRecipes, that_put_a_library_into_every_program_are_not_built)
{
    record(k_compile, "project", {{"LD_PRELOAD", "libm.so.6"}});
    EXPECT_NE(why_not_built().find("LD_PRELOAD=libm.so.6"), std::string::npos);
    fs::remove(m_recipes);
    record(k_compile);
    forge([](format::Recipe& recipe) { recipe.environment = "LD_PRELOAD=libm.so.6"; });
    EXPECT_NE(why_not_built().find("another variable than PATH"), std::string::npos);
}

}  // namespace hearth::test
