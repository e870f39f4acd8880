// recipes and build: what programs compiled, recorded and built elsewhere (53).
#include "base/digest.hpp"
#include "format/recipe.hpp"
#include "recorded.hpp"

#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Build : public Recorded {
protected:
    ProcessResult build(Words more = {}, Environment environment = {})
    {
        more.insert(more.begin(), {"build", m_recipes});
        return run_clean(more, std::move(environment));
    }
    nlohmann::json build_json(Words more = {}, Environment environment = {})
    {
        more.insert(more.begin(), {"build", m_recipes});
        return json_of_clean(std::move(more), std::move(environment));
    }
};

}  // namespace

TEST_F(Build, what_was_recorded_is_listed)
{
    record("a.cu", "__global__ void a() {}");
    record("a.cu", "__global__ void a() {}");
    record("b.cu", "__global__ void b() { FAILS }", {"--arch", "compute_80"});
    const auto rows = json_lines_of({"recipes", "ls", m_recipes, "--json"});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].at("name"), (scratch / "a.cu").string());
    EXPECT_EQ(rows[0].at("target"), "sm_90");
    EXPECT_EQ(rows[0].at("options"), Words{"-arch=sm_90"});
    EXPECT_EQ(rows[0].at("uses"), 2);
    EXPECT_EQ(rows[0].at("processes"), 2);
    EXPECT_GT(rows[0].at("first_use_seconds").get<double>(), 0);
    EXPECT_EQ(rows[0].at("compiler"), "nvrtc 98.1");
    EXPECT_EQ(rows[0].at("source_bytes"), 22);
    EXPECT_EQ(rows[0].at("key").get<std::string>().size(), 64U);
    EXPECT_EQ(rows[1].at("status"), 6);
    const ProcessResult table = hearth({"recipes", "ls", m_recipes});
    EXPECT_TRUE(ends_printing(table, 0, "2 recipes, 3 uses"));
    EXPECT_NE(table.out.find("failed with 6"), std::string::npos) << table.out;
}

TEST_F(Build, files_are_merged)
{
    record("a.cu", "__global__ void a() {}");
    const std::string first = m_recipes;
    m_recipes = (scratch / "other.recipes").string();
    record("a.cu", "__global__ void a() {}");
    record("b.cu", "__global__ void b() {}");
    const std::string out = (scratch / "all.recipes").string();
    const nlohmann::json merged = json_of({"recipes", "merge", out, first, m_recipes, "--json"});
    EXPECT_EQ(merged.at("recipes"), 2);
    EXPECT_EQ(merged.at("uses"), 3);
    EXPECT_EQ(json_lines_of({"recipes", "ls", out, "--json"}).size(), 2U);
    const ProcessResult again = hearth({"recipes", "merge", out, out, first});
    EXPECT_EQ(again.out.find("Wrote 2 recipes with 3 uses to " + out), 0U) << again.out;
}

TEST_F(Build, merging_keeps_what_holds_other_things)
{
    record("a.cu", "__global__ void a() {}");
    write("letter.txt", "Dear cache, ...");
    std::filesystem::create_symlink("letter.txt", scratch / "all.recipes");
    EXPECT_EQ(hearth({"recipes", "merge", "all.recipes", m_recipes}).exit_code, 3);
    EXPECT_EQ(read(scratch / "letter.txt"), "Dear cache, ...");
    fs::create_directory(scratch / "folder");
    EXPECT_TRUE(ends_saying(hearth({"recipes", "merge", "folder", m_recipes}), 3, "cannot be replaced by a file"));
}

TEST_F(Build, a_signing_key_without_a_bundle_is_wrong_usage)
{
    record("a.cu", "__global__ void a() {}");
    EXPECT_TRUE(ends_saying(hearth({"build", m_recipes, "--sign-with", "nope"}), 2, "--sign-with"));
}

TEST_F(Build, into_the_cache_and_a_second_time_nothing)
{
    for (const char* name : {"a", "b", "c"})
        record(std::string(name) + ".cu", std::string("__global__ void ") + name + "() {}");
    const nlohmann::json first = build_json({"--arch", "sm_80,sm_90", "--jobs", "2"});
    EXPECT_EQ(first.at("exit"), 0);
    EXPECT_EQ(first.at("recipes"), 3);
    EXPECT_EQ(first.at("built"), 6);
    EXPECT_EQ(first.at("already_there"), 0);
    EXPECT_TRUE(first.at("problems").empty());
    EXPECT_TRUE(first.at("bundle").is_null());
    const nlohmann::json second = build_json({"--arch", "sm_80,sm_90,sm_100"});
    EXPECT_EQ(second.at("built"), 3);
    EXPECT_EQ(second.at("already_there"), 6);
    // Nothing but what a program would have put there.
    const auto rows = json_lines_of({"ls", "--json"});
    std::size_t kernels = 0;
    for (const nlohmann::json& row : rows)
        kernels += row.at("target") != "" ? 1 : 0;
    EXPECT_EQ(kernels, 9U);
    for (const nlohmann::json& row : rows)
        EXPECT_EQ(row.at("label").get<std::string>().find("headers of"), std::string::npos);
}

TEST_F(Build, a_process_that_dies_costs_its_recipe_alone)
{
    for (int i = 0; i < 4; ++i) {
        record("good" + std::to_string(i) + ".cu", "__global__ void g" + std::to_string(i) + "() {}");
        record("bad" + std::to_string(i) + ".cu", "__global__ void b" + std::to_string(i) + "() { DIES }");
    }
    const nlohmann::json result = build_json({"--jobs", "2"}, {{"FAKENVRTCDIES", "1"}});
    EXPECT_EQ(result.at("exit"), 1);
    EXPECT_EQ(result.at("built"), 4);
    EXPECT_EQ(result.at("failed"), 4);
    ASSERT_EQ(result.at("problems").size(), 4U);
    for (const nlohmann::json& problem : result.at("problems")) {
        EXPECT_NE(problem.at("name").get<std::string>().find("bad"), std::string::npos);
        EXPECT_EQ(problem.at("reason"), "The process that compiled it was ended by signal 6 (Aborted).");
    }
    EXPECT_EQ(build_json().at("built"), 4) << "once it lives, the rest";
}

TEST_F(Build, what_fails_is_listed_and_the_rest_is_built)
{
    record("good.cu", "__global__ void good() {}");
    record("failed_before.cu", "__global__ void f() { FAILS }");
    EXPECT_TRUE(ends_printing(build(), 0, "1 compile fails as when it was recorded."));

    record("timed.cu", "__global__ void t() { const char* t = __TIME__; }");
    const nlohmann::json timed = build_json();
    EXPECT_EQ(timed.at("exit"), 0) << "no cache can do anything about that";
    EXPECT_EQ(timed.at("past_the_cache"), 1);
    EXPECT_EQ(timed.at("already_there"), 1);
    EXPECT_NE(build().err.find("timed.cu goes past the cache: the source, an option or a header mentions the time"),
              std::string::npos);
}

TEST_F(Build, a_compile_error_that_was_none_is_exit_code_4)
{
    // Recorded by a compiler that takes it, built by one that does not.
    record("k.cu", "__global__ void k() { FAILS_LATER }");
    const ProcessResult result = build({"--nvrtc", HEARTH_NEXT_NVRTC, "--arch", "sm_80"});
    EXPECT_EQ(result.exit_code, 4) << result.out;
    EXPECT_NE(result.err.find((scratch / "k.cu").string() + " for sm_80 was not built: NVRTC returned 6: "),
              std::string::npos)
        << result.err;
}

TEST_F(Build, another_compiler_than_the_recorded_one_is_said_once)
{
    record("a.cu", "__global__ void a() {}");
    record("b.cu", "__global__ void b() {}");
    const ProcessResult result = build({"--nvrtc", HEARTH_NEXT_NVRTC});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const std::size_t said = result.err.find("2 of 2 recipes were recorded with another NVRTC (nvrtc 98.1, build ");
    ASSERT_NE(said, std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("another NVRTC", said + 60), std::string::npos) << result.err;
    EXPECT_EQ(build_json({"--nvrtc", HEARTH_NEXT_NVRTC}).at("recorded_with_another_compiler"), 2);
}

TEST_F(Build, nicely_gives_way_to_everything_else)
{
    record("k.cu", "__global__ void k() {}");
    ASSERT_EQ(build({"--nice"}).exit_code, 0);
    expect_compiled_nicely("k.cu");
}

// With an end of line and without.
TEST_F(Build, what_a_compiler_prints_is_no_answer)
{
    for (const std::string name : {"k", "l"})
        for (const std::string how : {"PRINTS", "MUTTERS"})
            record(name + how + ".cu", "__global__ void " + name + how + "() { " + how + " }");
    EXPECT_EQ(build_json({"--jobs", "1"}).at("built"), 4);
}

TEST_F(Build, a_target_of_any_bytes_costs_its_recipe_alone)
{
    record("a.cu", "__global__ void a() {}");
    format::Recipe odd;
    odd.key = Key::of("odd", 1);
    odd.target = "\xff\xfe\"\n";
    odd.options = {"-arch=" + odd.target};
    odd.source = base::sha256(as_bytes("__global__ void odd() {}"));
    std::ofstream(m_recipes, std::ios::app | std::ios::binary)
        << format::encode_content(odd.source, as_bytes("__global__ void odd() {}"), 0) << format::encode_recipe(odd);
    const nlohmann::json result = build_json();
    EXPECT_EQ(result.at("built"), 1);
    EXPECT_EQ(result.at("failed"), 1);
    EXPECT_EQ(result.at("exit"), 1);
}

TEST_F(Build, what_the_cache_did_not_keep_is_not_built)
{
    record("a.cu", "__global__ void a() {}");
    const nlohmann::json result = build_json({}, {{"HEARTH_MAX_BYTES", "1B"}});
    EXPECT_EQ(result.at("exit"), 1);
    EXPECT_EQ(result.at("built"), 0);
    EXPECT_EQ(result.at("failed"), 1);
}

TEST_F(Build, what_is_not_in_the_bundle_in_the_end_is_not_built)
{
    record("a.cu", "__global__ void a() { ERASES }");
    record("b.cu", "__global__ void b() { ERASES }");
    const std::string bundle = (scratch / "app.bundle").string();
    const nlohmann::json result = build_json({"--jobs", "1", "-o", bundle}, {{"FAKENVRTCERASES", "1"}});
    EXPECT_EQ(result.at("exit"), 1);
    EXPECT_EQ(result.at("built"), 1) << "the second, which has erased the first";
    EXPECT_EQ(result.at("failed"), 1);
    EXPECT_EQ(result.at("bundle").at("entries"), 1);
}

TEST_F(Build, how_a_compile_went_that_nobody_has_made_is_not_known)
{
    hearth({"compile", write("f.cu", "__global__ void f() { FAILS }").string(), "--arch", "sm_90"},
           with({{"HEARTH_RECORD", m_recipes}, {"HEARTH_FORBID_COMPILE", "1"}}));
    const auto rows = json_lines_of({"recipes", "ls", m_recipes, "--json"});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_TRUE(rows[0].at("status").is_null());
    EXPECT_TRUE(ends_saying(build(), 4, "it was not compiled when it was recorded"));
}

TEST_F(Build, a_bundle_is_written_and_then_added_to)
{
    record("a.cu", "__global__ void a() {}");
    const std::string bundle = (scratch / "app.bundle").string();
    const nlohmann::json first = build_json({"--arch", "sm_80,sm_90", "-o", bundle});
    EXPECT_EQ(first.at("exit"), 0);
    EXPECT_EQ(first.at("built"), 2);
    EXPECT_EQ(first.at("bundle").at("entries"), 2);
    EXPECT_FALSE(fs::exists(cache)) << "the cache of this machine is left alone";
    record("b.cu", "__global__ void b() {}");
    const nlohmann::json second = build_json({"--arch", "sm_80,sm_90", "-o", bundle});
    EXPECT_EQ(second.at("built"), 2);
    EXPECT_EQ(second.at("already_there"), 2);
    EXPECT_EQ(second.at("bundle").at("entries"), 4);
    const std::string before = read(bundle);
    const nlohmann::json third = build_json({"--arch", "sm_80,sm_90", "-o", bundle});
    EXPECT_EQ(third.at("exit"), 0);
    EXPECT_EQ(third.at("already_there"), 4);
    EXPECT_EQ(read(bundle), before) << "nothing new: nothing is written";
    // From the bundle alone, by a program that may not compile.
    for (const char* name : {"a.cu", "b.cu"}) {
        const ProcessResult hit = hearth({"compile", (scratch / name).string(), "--arch", "sm_80", "--json"},
                                         with({{"HEARTH_BUNDLES", bundle}, {"HEARTH_FORBID_COMPILE", "1"}}));
        EXPECT_EQ(hit.exit_code, 0) << hit.err;
        EXPECT_EQ(nlohmann::json::parse(hit.out).at("outcome"), "hit");
    }
}

TEST_F(Build, a_bundle_that_cannot_be_added_to_is_left_as_it_is)
{
    record("a.cu", "__global__ void a() {}");
    const std::string text = write("text", "not a bundle").string();
    const ProcessResult no_bundle = build({"-o", text});
    EXPECT_EQ(no_bundle.exit_code, 3);
    EXPECT_EQ(read(text), "not a bundle");
    EXPECT_TRUE(ends_saying(build({"-o", (scratch / "no/such/app.bundle").string()}), 3, "no/such"));
    const std::string key = (scratch / "build.key").string();
    ASSERT_EQ(hearth({"keygen", key}).exit_code, 0);
    const std::string bundle = (scratch / "app.bundle").string();
    ASSERT_EQ(build({"-o", bundle, "--sign-with", key}).exit_code, 0);
    const std::string before = read(bundle);
    record("b.cu", "__global__ void b() {}");
    EXPECT_TRUE(ends_saying(build({"-o", bundle}), 3, "--sign-with"));
    EXPECT_EQ(read(bundle), before);
    EXPECT_EQ(build_json({"-o", bundle, "--sign-with", key}).at("bundle").at("entries"), 2);
}

TEST_F(Build, what_somebody_else_has_made_is_not_signed)
{
    record("a.cu", "__global__ void a() {}");
    const std::string ours = (scratch / "ours.key").string();
    const std::string theirs = (scratch / "theirs.key").string();
    ASSERT_EQ(hearth({"keygen", ours}).exit_code, 0);
    ASSERT_EQ(hearth({"keygen", theirs}).exit_code, 0);
    const std::string bundle = (scratch / "app.bundle").string();
    ASSERT_EQ(build({"-o", bundle}).exit_code, 0);
    record("b.cu", "__global__ void b() {}");
    for (const char* whose : {"not signed", "signed by another key"}) {
        const std::string before = read(bundle);
        EXPECT_TRUE(ends_saying(build({"-o", bundle, "--sign-with", ours}), 3, whose));
        EXPECT_EQ(read(bundle), before);
        EXPECT_EQ(hearth({"bundle", "merge", bundle, bundle, "--sign-with", ours}).exit_code, 3);
        EXPECT_EQ(read(bundle), before);
        fs::remove(bundle);
        ASSERT_EQ(build({"-o", bundle, "--sign-with", theirs}).exit_code, 0);
    }
    // Unless its key is trusted.
    given["HEARTH_TRUSTED_KEYS"] = write("theirs.pub", hearth({"keygen", "--public", theirs}).out).string();
    ASSERT_EQ(hearth({"bundle", "merge", bundle, bundle, "--sign-with", ours}).exit_code, 0);
    EXPECT_EQ(build_json({"-o", bundle, "--sign-with", ours}).at("already_there"), 2);
}

TEST_F(Build, two_at_once_into_one_bundle_lose_nothing)
{
    std::vector<std::string> files;
    for (int i = 0; i < 4; ++i) {
        m_recipes = (scratch / ("r" + std::to_string(i))).string();
        record("k" + std::to_string(i) + ".cu", "__global__ void k" + std::to_string(i) + "() {}");
        files.push_back(m_recipes);
    }
    const std::string bundle = (scratch / "app.bundle").string();
    std::vector<std::thread> threads;
    for (const std::string& file : files)
        threads.emplace_back([&, file] {
            EXPECT_EQ(hearth({"build", file, "--arch", "sm_80,sm_90", "-o", bundle}, with()).exit_code, 0);
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(json_of({"bundle", "ls", bundle, "--facts", "--json"}).at("entries"), 8);
}

TEST_F(Build, into_a_bundle_waits_for_nobody_who_can_only_read_its_folder)
{
    record("k.cu", "__global__ void k() {}");
    const fs::path folder = scratch / "folder";
    fs::create_directory(folder);
    const int held = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_EQ(::flock(held, LOCK_EX), 0);
    EXPECT_EQ(build({"-o", (folder / "app.bundle").string()}).exit_code, 0);
    ::close(held);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1) << "the bundle";
}

TEST_F(Build, nothing_built_is_no_bundle)
{
    record("f.cu", "__global__ void f() { FAILS }");
    const std::string bundle = (scratch / "app.bundle").string();
    EXPECT_EQ(build({"-o", bundle}).exit_code, 1);
    EXPECT_FALSE(fs::exists(bundle));
}

TEST_F(Build, stopped_by_a_signal_leaves_nothing_behind)
{
    record("w.cu", "__global__ void w() { WAITS }");
    const std::string mark = (scratch / "waiting").string();
    const std::string bundle = (scratch / "app.bundle").string();
    EXPECT_EQ(
        stopped(
            {"build", m_recipes, "-o", bundle}, SIGINT, [&] { return fs::exists(mark); },
            {{"HEARTH_NVRTC", HEARTH_FAKE_NVRTC}, {"TMPDIR", (scratch / "tmp").string()}, {"FAKENVRTCWAITS", mark}}),
        128 + SIGINT);
    EXPECT_TRUE(fs::is_empty(scratch / "tmp"));
    EXPECT_FALSE(fs::exists(bundle));
}

TEST_F(Build, a_compile_that_is_stopped_by_a_signal_is_no_compile_error)
{
    const std::string mark = (scratch / "waiting").string();
    const std::string file = write("w.cu", "__global__ void w() { WAITS }").string();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        fs::remove(mark);
        EXPECT_EQ(stopped({"compile", file, "--target", "sm_90", "-o", "w.ptx"}, signal,
                          [&] { return fs::exists(mark); },
                          {{"HEARTH_NVRTC", HEARTH_FAKE_NVRTC}, {"FAKENVRTCWAITS", mark}}),
                  128 + signal);
    }
    EXPECT_FALSE(fs::exists(scratch / "w.ptx"));
    for (const nlohmann::json& row : json_lines_of({"ls", "--json"}))
        EXPECT_EQ(row.at("status"), 0) << "no failure is remembered: " << row;
}

TEST_F(Build, stopped_as_soon_as_there_is_something_to_leave_behind_leaves_nothing)
{
    record("w.cu", "__global__ void w() { WAITS }");
    const std::string mark = (scratch / "waiting").string();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        EXPECT_EQ(stopped({"build", m_recipes}, signal, [&] { return !fs::is_empty(scratch / "tmp"); },
                          {{"HEARTH_NVRTC", HEARTH_FAKE_NVRTC},
                           {"TMPDIR", (scratch / "tmp").string()},
                           {"FAKENVRTCWAITS", mark}}),
                  128 + signal);
        EXPECT_TRUE(fs::is_empty(scratch / "tmp"));
    }
}

TEST_F(Build, by_several_processes_into_one_file_at_once)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        write("k" + std::to_string(i % 4) + ".cu", "__global__ void k" + std::to_string(i % 4) + "() {}");
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, i] {
            hearth({"compile", (scratch / ("k" + std::to_string(i % 4) + ".cu")).string(), "--arch", "sm_90"},
                   with({{"HEARTH_RECORD", m_recipes}}));
        });
    for (std::thread& thread : threads)
        thread.join();
    const auto rows = json_lines_of({"recipes", "ls", m_recipes, "--json"});
    ASSERT_EQ(rows.size(), 4U);
    for (const nlohmann::json& row : rows) {
        EXPECT_EQ(row.at("uses"), 2);
        EXPECT_EQ(row.at("missing"), "");
    }
}

TEST_F(Build, of_what_is_no_recipe_file_says_so)
{
    m_recipes = write("text", "not recipes").string();
    EXPECT_TRUE(ends_saying(build(), 3, "is no recipe file"));
    EXPECT_EQ(hearth({"recipes", "ls", m_recipes}).exit_code, 3);
    m_recipes = (scratch / "none").string();
    EXPECT_EQ(build().exit_code, 3);
    m_recipes = write("empty", "").string();
    EXPECT_EQ(build().exit_code, 1);
    EXPECT_EQ(hearth({"recipes", "ls", m_recipes}).out, "No recipe was recorded.\n");
    EXPECT_EQ(build({"--arch", "sm_80,soup"}).exit_code, 2);
    EXPECT_EQ(build({"--jobs", "0"}).exit_code, 2);
    EXPECT_EQ(hearth({"build"}).exit_code, 2);
    EXPECT_EQ(hearth({"recipes"}).exit_code, 2);
    EXPECT_EQ(hearth({"recipes", "merge", "out"}).exit_code, 2);
}

TEST_F(Build, of_a_damaged_file_builds_the_rest_and_says_so)
{
    record("a.cu", "__global__ void a() {}");
    record("b.cu", "__global__ void b() {}");
    std::string bytes = read(m_recipes);
    bytes[bytes.find("void a()")] ^= 1;
    write("r.recipes", bytes + "torn");
    const ProcessResult result = build();
    EXPECT_TRUE(ends_saying(result, 1, "2 places of the recipes are damaged"));
    EXPECT_NE(result.out.find("1 built, 0 already there, 1 not built"), std::string::npos) << result.out;
    const ProcessResult listed = hearth({"recipes", "ls", m_recipes});
    EXPECT_NE(listed.out.find("incomplete"), std::string::npos) << listed.out;
}

TEST_F(Build, without_a_compiler_says_where_one_is_looked_for)
{
    record("a.cu", "__global__ void a() {}");
    EXPECT_TRUE(ends_saying(build({"--nvrtc", (scratch / "none.so").string()}), 3, "none.so"));
}

TEST_F(Build, recording_where_that_cannot_be_is_a_warning_and_the_compile_goes_on)
{
    EXPECT_TRUE(ends_saying(hearth({"compile", write("k.cu", "__global__ void k() {}").string(), "--arch", "sm_90"},
                                   with({{"HEARTH_RECORD", (scratch / "no/such/r").string()}})),
                            0, "warning: Cannot append to"));
}

TEST_F(Build, while_it_builds_nothing_is_recorded_and_settings_that_forbid_do_not_count)
{
    record("a.cu", "__global__ void a() {}");
    const std::string before = read(m_recipes);
    const nlohmann::json result =
        build_json({}, {{"HEARTH_RECORD", m_recipes}, {"HEARTH_FORBID_COMPILE", "1"}, {"HEARTH_DISABLE", "1"}});
    EXPECT_EQ(result.at("built"), 1);
    EXPECT_EQ(read(m_recipes), before);
}

namespace {

// With the real compiler.
class BuildForReal : public Build {
protected:
    void SetUp() override
    {
        Build::SetUp();
        need_real_compiler();
    }
    ProcessOptions really(std::map<std::string, std::optional<std::string>> environment = {}) const
    {
        environment.try_emplace("HEARTH_NVRTC", std::nullopt);
        return with(std::move(environment));
    }
};

}  // namespace

TEST_F(BuildForReal, recorded_here_built_there_and_no_compile_where_the_headers_lie_elsewhere)
{
    fs::create_directories(scratch / "app/inc/detail");
    write("app/beside.h", "#define BESIDE 1\n");
    write("app/inc/value.h", "#include \"detail/number.h\"\n#define VALUE NUMBER\n");
    write("app/inc/detail/number.h", "#define NUMBER 7\n");
    write("app/one.cu",
          "#include \"beside.h\"\n#include <value.h>\n__global__ void one(int* x) { *x = VALUE + BESIDE; }");
    write("app/two.cu", "#include <value.h>\ntemplate <class T> __global__ void two(T* x) { *x = VALUE; }");
    const auto compile = [&](const std::string& app, const std::string& directory, const std::string& arch,
                             std::map<std::string, std::optional<std::string>> environment) {
        std::string cubins;
        for (const Words& words : {Words{(scratch / app / "one.cu").string()},
                                   Words{(scratch / app / "two.cu").string(), "--name-expr", "two<float>"}}) {
            const std::string out = (scratch / "out.cubin").string();
            Words all{"--dir", (scratch / directory).string(), "compile"};
            all.insert(all.end(), words.begin(), words.end());
            all.insert(all.end(), {"--arch", arch, "-I", (scratch / app / "inc").string(), "-o", out});
            const ProcessResult result = hearth(all, really(environment));
            EXPECT_EQ(result.exit_code, 0) << result.err;
            cubins += read(out);
        }
        return cubins;
    };
    const std::string recorded = compile("app", "recording", "sm_90", {{"HEARTH_RECORD", m_recipes}});
    fs::rename(scratch / "app", scratch / "moved");

    const std::string bundle = (scratch / "app.bundle").string();
    EXPECT_TRUE(
        ends_printing(hearth({"build", m_recipes, "--arch", "sm_80,sm_90", "--jobs", "2", "-o", bundle}, really()), 0,
                      "2 recipes for sm_80, sm_90: 4 built"));
    const std::map<std::string, std::optional<std::string>> strict{{"HEARTH_BUNDLES", bundle},
                                                                   {"HEARTH_FORBID_COMPILE", "1"}};
    EXPECT_EQ(compile("moved", "fresh", "sm_90", strict), recorded);
    EXPECT_NE(compile("moved", "fresh", "sm_80", strict), recorded);

    // The same into a directory.
    ASSERT_EQ(hearth({"--dir", (scratch / "warm").string(), "build", m_recipes}, really()).exit_code, 0);
    EXPECT_EQ(compile("moved", "warm", "sm_90", {{"HEARTH_FORBID_COMPILE", "1"}}), recorded);
}

}  // namespace hearth::test
