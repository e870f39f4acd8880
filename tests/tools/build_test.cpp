// recipes and build: what programs compiled, recorded and built elsewhere (53).
#include "base/digest.hpp"
#include "format/recipe.hpp"
#include "recorded.hpp"

#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Build : public Recorded {
protected:
    ProcessResult build(const Words& more = {}, Environment environment = {})
    {
        return run_clean(joined({"build", m_recipes}, more), std::move(environment));
    }
    nlohmann::json build_json(const Words& more = {}, Environment environment = {})
    {
        return object_of(build(joined(more, {"--json"}), std::move(environment)));
    }

    const std::string bundle = (scratch / "app.bundle").string();
};

}  // namespace

TEST_F(Build, what_was_recorded_is_listed)
{
    record("a.cu", "__global__ void a() {}");
    record("a.cu", "__global__ void a() {}");
    record("b.cu", "__global__ void b() { FAILS }", {"--arch", "compute_80"});
    const auto rows = json_lines_of({"recipes", "ls", m_recipes, "--json"});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_TRUE(
        holds(rows[0], {{"name", (scratch / "a.cu").string()}, {"target", "sm_90"}, {"options/0", "-arch=sm_90"}}));
    EXPECT_TRUE(holds(rows[0], {{"uses", 2}, {"processes", 2}, {"compiler", "nvrtc 98.1"}, {"source_bytes", 22}}));
    EXPECT_EQ(rows[0].at("options").size(), 1U);
    EXPECT_GT(rows[0].at("first_use_seconds").get<double>(), 0);
    EXPECT_EQ(rows[0].at("key").get<std::string>().size(), 64U);
    EXPECT_EQ(rows[1].at("status"), 6);
    EXPECT_TRUE(ends_printing(hearth({"recipes", "ls", m_recipes}), 0, "2 recipes, 3 uses", "failed with 6"));
}

TEST_F(Build, files_are_merged)
{
    record("a.cu", "__global__ void a() {}");
    const std::string first = m_recipes;
    m_recipes = (scratch / "other.recipes").string();
    record("a.cu", "__global__ void a() {}");
    record("b.cu", "__global__ void b() {}");
    const std::string out = (scratch / "all.recipes").string();
    EXPECT_TRUE(holds(json_of({"recipes", "merge", out, first, m_recipes, "--json"}), {{"recipes", 2}, {"uses", 3}}));
    EXPECT_EQ(json_lines_of({"recipes", "ls", out, "--json"}).size(), 2U);
    EXPECT_TRUE(
        ends_printing(hearth({"recipes", "merge", out, out, first}), 0, "Wrote 2 recipes with 3 uses to " + out));
}

TEST_F(Build, into_the_cache_and_a_second_time_nothing)
{
    record_some();
    const nlohmann::json first = build_json({"--arch", "sm_80,sm_90", "--jobs", "2"});
    EXPECT_TRUE(holds(first, {{"exit", 0}, {"recipes", 3}, {"built", 6}, {"already_there", 0}, {"bundle", nullptr}}));
    EXPECT_TRUE(first.at("problems").empty());
    EXPECT_TRUE(holds(build_json({"--arch", "sm_80,sm_90,sm_100"}), {{"built", 3}, {"already_there", 6}}));
    // Nothing but what a program would have put there.
    std::size_t kernels = 0;
    for (const nlohmann::json& row : json_lines_of({"ls", "--json"})) {
        kernels += row.at("target") != "" ? 1 : 0;
        EXPECT_EQ(row.at("label").get<std::string>().find("headers of"), std::string::npos);
    }
    EXPECT_EQ(kernels, 9U);
}

TEST_F(Build, a_process_that_dies_costs_its_recipe_alone)
{
    for (int i = 0; i < 4; ++i) {
        record("good" + std::to_string(i) + ".cu", "__global__ void g" + std::to_string(i) + "() {}");
        record("bad" + std::to_string(i) + ".cu", "__global__ void b" + std::to_string(i) + "() { DIES }");
    }
    const nlohmann::json result = build_json({"--jobs", "2"}, {{"FAKENVRTCDIES", "1"}});
    EXPECT_TRUE(holds(result, {{"exit", 1}, {"built", 4}, {"failed", 4}}));
    ASSERT_EQ(result.at("problems").size(), 4U);
    for (const nlohmann::json& problem : result.at("problems")) {
        EXPECT_NE(problem.at("name").get<std::string>().find("bad"), std::string::npos);
        EXPECT_EQ(problem.at("reason"), "The process that compiled it was ended by signal 6 (Aborted).");
    }
    EXPECT_EQ(build_json().at("built"), 4) << "once it lives, the rest";
}

TEST_F(Build, what_fails_is_listed_and_the_rest_is_built)
{
    record("failed_before.cu", "__global__ void f() { FAILS }");
    EXPECT_EQ(build({"-o", bundle}).exit_code, 1);
    EXPECT_FALSE(fs::exists(bundle)) << "nothing built is no bundle";
    record("good.cu", "__global__ void good() {}");
    EXPECT_TRUE(ends_printing(build(), 0, "1 compile fails as when it was recorded."));

    record("timed.cu", "__global__ void t() { const char* t = __TIME__; }");
    EXPECT_TRUE(holds(build_json(), {{"exit", 0}, {"past_the_cache", 1}, {"already_there", 1}}))
        << "no cache can do anything about that";
    EXPECT_TRUE(
        ends_saying(build(), 0, "timed.cu goes past the cache: the source, an option or a header mentions the time"));
}

TEST_F(Build, a_compile_error_that_was_none_is_exit_code_4)
{
    // Recorded by a compiler that takes it, built by one that does not.
    record("k.cu", "__global__ void k() { FAILS_LATER }");
    EXPECT_TRUE(ends_saying(build({"--nvrtc", HEARTH_NEXT_NVRTC, "--arch", "sm_80"}), 4,
                            (scratch / "k.cu").string() + " for sm_80 was not built: NVRTC returned 6: "));
}

TEST_F(Build, no_compiler_is_said_and_another_than_the_recorded_one_once)
{
    record("a.cu", "__global__ void a() {}");
    record("b.cu", "__global__ void b() {}");
    EXPECT_TRUE(ends_saying(build({"--nvrtc", (scratch / "none.so").string()}), 3, "none.so"));
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
    EXPECT_TRUE(holds(result, {{"exit", 1}, {"built", 1}, {"failed", 1}}));
}

TEST_F(Build, what_the_cache_did_not_keep_is_not_built)
{
    record("a.cu", "__global__ void a() {}");
    EXPECT_TRUE(holds(build_json({}, {{"HEARTH_MAX_BYTES", "1B"}}), {{"exit", 1}, {"built", 0}, {"failed", 1}}));
}

TEST_F(Build, what_is_not_in_the_bundle_in_the_end_is_not_built)
{
    record("a.cu", "__global__ void a() { ERASES }");
    record("b.cu", "__global__ void b() { ERASES }");
    const nlohmann::json result = build_json({"--jobs", "1", "-o", bundle}, {{"FAKENVRTCERASES", "1"}});
    EXPECT_TRUE(holds(result, {{"exit", 1}, {"built", 1}, {"failed", 1}, {"bundle/entries", 1}}))
        << "the second, which has erased the first";
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
    const Words both{"--arch", "sm_80,sm_90", "-o", bundle};
    EXPECT_TRUE(holds(build_json(both), {{"exit", 0}, {"built", 2}, {"bundle/entries", 2}}));
    EXPECT_FALSE(fs::exists(cache)) << "the cache of this machine is left alone";
    record("b.cu", "__global__ void b() {}");
    EXPECT_TRUE(holds(build_json(both), {{"built", 2}, {"already_there", 2}, {"bundle/entries", 4}}));
    const std::string before = read(bundle);
    EXPECT_TRUE(holds(build_json(both), {{"exit", 0}, {"already_there", 4}}));
    EXPECT_EQ(read(bundle), before) << "nothing new: nothing is written";
    // From the bundle alone, by a program that may not compile.
    for (const char* name : {"a.cu", "b.cu"}) {
        const ProcessResult hit = hearth({"compile", (scratch / name).string(), "--arch", "sm_80", "--json"},
                                         with({{"HEARTH_BUNDLES", bundle}, {"HEARTH_FORBID_COMPILE", "1"}}));
        EXPECT_TRUE(holds(object_of(hit), {{"exit", 0}, {"outcome", "hit"}}));
    }
}

TEST_F(Build, a_bundle_that_cannot_be_added_to_is_left_as_it_is)
{
    record("a.cu", "__global__ void a() {}");
    const std::string text = write("text", "not a bundle").string();
    EXPECT_EQ(build({"-o", text}).exit_code, 3);
    EXPECT_EQ(read(text), "not a bundle");
    EXPECT_TRUE(ends_saying(build({"-o", (scratch / "no/such/app.bundle").string()}), 3, "no/such"));
    const std::string key = (scratch / "build.key").string();
    ASSERT_EQ(hearth({"keygen", key}).exit_code, 0);
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

TEST_F(Build, stopped_by_a_signal_leaves_nothing_behind)
{
    record("w.cu", "__global__ void w() { WAITS }");
    EXPECT_EQ(stopped_in_a_compile({"build", m_recipes, "-o", bundle}, SIGINT), 128 + SIGINT);
    EXPECT_TRUE(fs::is_empty(scratch / "tmp"));
    EXPECT_FALSE(fs::exists(bundle));
    // As soon as there is something to leave behind, too.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const auto begun = [&] { return !fs::is_empty(scratch / "tmp"); };
        EXPECT_EQ(stopped_in_a_compile({"build", m_recipes}, signal, begun), 128 + signal);
        EXPECT_TRUE(fs::is_empty(scratch / "tmp"));
    }
}

TEST_F(Build, a_compile_that_is_stopped_by_a_signal_is_no_compile_error)
{
    const std::string file = write("w.cu", "__global__ void w() { WAITS }").string();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        EXPECT_EQ(stopped_in_a_compile({"compile", file, "--target", "sm_90", "-o", "w.ptx"}, signal), 128 + signal);
    EXPECT_FALSE(fs::exists(scratch / "w.ptx"));
    for (const nlohmann::json& row : json_lines_of({"ls", "--json"}))
        EXPECT_EQ(row.at("status"), 0) << "no failure is remembered: " << row;
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
}

TEST_F(Build, of_a_damaged_file_builds_the_rest_and_says_so)
{
    record_damaged();
    const ProcessResult result = build();
    EXPECT_TRUE(ends_saying(result, 1, "2 places of the recipes are damaged"));
    EXPECT_TRUE(ends_printing(result, 1, "1 built, 0 already there, 1 not built"));
    EXPECT_NE(hearth({"recipes", "ls", m_recipes}).out.find("incomplete"), std::string::npos);
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

using BuildForReal = ForReal<Build>;

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
                             const Environment& environment) {
        std::string cubins;
        for (const Words& words : {Words{(scratch / app / "one.cu").string()},
                                   Words{(scratch / app / "two.cu").string(), "--name-expr", "two<float>"}}) {
            const std::string out = (scratch / "out.cubin").string();
            const Words all{"--arch", arch, "-I", (scratch / app / "inc").string(), "-o", out, "--dir", directory};
            const ProcessResult result = hearth(joined(joined({"compile"}, words), all), with(environment));
            EXPECT_EQ(result.exit_code, 0) << result.err;
            cubins += read(out);
        }
        return cubins;
    };
    const std::string recorded = compile("app", "recording", "sm_90", {{"HEARTH_RECORD", m_recipes}});
    fs::rename(scratch / "app", scratch / "moved");

    EXPECT_TRUE(ends_printing(build({"--arch", "sm_80,sm_90", "--jobs", "2", "-o", bundle}), 0,
                              "2 recipes for sm_80, sm_90: 4 built"));
    const Environment strict{{"HEARTH_BUNDLES", bundle}, {"HEARTH_FORBID_COMPILE", "1"}};
    EXPECT_EQ(compile("moved", "fresh", "sm_90", strict), recorded);
    EXPECT_NE(compile("moved", "fresh", "sm_80", strict), recorded);

    // The same into a directory.
    ASSERT_EQ(build({"--dir", "warm"}).exit_code, 0);
    EXPECT_EQ(compile("moved", "warm", "sm_90", {{"HEARTH_FORBID_COMPILE", "1"}}), recorded);
}

TEST_F(Build, into_a_bundle_follows_no_link_of_another_user)
{
    record_some();
    const fs::path lock = write(".chosen.lock", "not ours");
    fs::create_symlink(scratch / "chosen", bundle);
    if (::lchown(bundle.c_str(), 12345, 12345) != 0)
        GTEST_SKIP() << "only root can give a link away";
    EXPECT_TRUE(ends_saying(build({"--arch", "sm_90", "-o", bundle}), 3, "is a link of another user"));
    EXPECT_FALSE(fs::exists(scratch / "chosen"));
    EXPECT_EQ(read(lock), "not ours") << "no lock was made and removed there";
}

}  // namespace hearth::test
