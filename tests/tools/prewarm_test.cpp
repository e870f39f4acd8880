// prewarm: what a program will ask for, brought here beforehand (52).
#include "recorded.hpp"

#include <csignal>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Prewarm : public Recorded {
protected:
    // What was recorded, as a bundle.
    std::string bundle(const Words& more = {})
    {
        const std::string file = (scratch / "app.bundle").string();
        EXPECT_EQ(hearth(joined({"--dir", "recording", "bundle", "create", file}, more)).exit_code, 0);
        return file;
    }
    // On the disk, for a program that may not compile.
    testing::AssertionResult is_hit(const std::string& name)
    {
        const Words words{"compile", (scratch / name).string(), "--arch", "sm_90", "--json"};
        const ProcessResult result = hearth(words, with({{"HEARTH_FORBID_COMPILE", "1"}}));
        if (result.exit_code != 0)
            return testing::AssertionFailure() << result.err;
        return holds(object_of(result), {{"outcome", "hit"}, {"tier", "disk"}});
    }
    void expect_all_are_hits()
    {
        for (const char* name : {"a.cu", "b.cu", "c.cu"})
            EXPECT_TRUE(is_hit(name)) << name;
    }

    ProcessResult prewarm(const Words& words, Environment environment = {})
    {
        return run_clean(joined({"prewarm"}, words), std::move(environment));
    }
    nlohmann::json prewarm_json(const Words& words, Environment environment = {})
    {
        return object_of(prewarm(joined(words, {"--json"}), std::move(environment)));
    }
};

}  // namespace

TEST_F(Prewarm, what_nobody_has_is_compiled_and_a_second_time_nothing)
{
    record_some();
    const nlohmann::json first = prewarm_json({"--recipes", m_recipes, "--jobs", "2"});
    EXPECT_TRUE(holds(first, {{"exit", 0}, {"total", 3}, {"compiled", 3}, {"filled", 0}}));
    expect_all_are_hits();
    EXPECT_TRUE(holds(prewarm_json({"--recipes", m_recipes}), {{"exit", 0}, {"compiled", 0}, {"already_there", 3}}));
    expect_compiled_nicely("a.cu");
}

TEST_F(Prewarm, what_a_bundle_has_is_fetched_and_the_rest_is_compiled_or_missing)
{
    record_some();
    const Environment bundled{{"HEARTH_BUNDLES", bundle({"b.cu"})}};
    const ProcessResult lacking = prewarm({"--recipes", m_recipes, "--no-compile"}, bundled);
    EXPECT_TRUE(ends_printing(lacking, 1, "3 kernels: 1 fetched, 0 already there, 0 compiled, 2 missing; "));
    EXPECT_TRUE(ends_saying(lacking, 1, "2 kernels are on no server and in no bundle"));
    EXPECT_TRUE(is_hit("b.cu"));
    EXPECT_FALSE(is_hit("a.cu"));
    fs::remove_all(cache);
    EXPECT_TRUE(ends_printing(prewarm({"--recipes", m_recipes}, bundled), 0,
                              "3 kernels: 1 fetched, 0 already there, 2 compiled, 0 missing; "));
    expect_all_are_hits();
}

TEST_F(Prewarm, everything_that_is_fetched_needs_no_compiler)
{
    record_some();
    const std::string file = bundle();
    const nlohmann::json result = prewarm_json(
        {"--recipes", m_recipes}, {{"HEARTH_BUNDLES", file}, {"HEARTH_NVRTC", (scratch / "none.so").string()}});
    EXPECT_TRUE(holds(result, {{"exit", 0}, {"filled", 3}}));
    const ProcessResult lacking = prewarm({"--recipes", m_recipes, "--dir", (scratch / "other").string()},
                                          {{"HEARTH_NVRTC", (scratch / "none.so").string()}});
    EXPECT_TRUE(ends_saying(lacking, 3, "3 kernels are on no server and in no bundle, and cannot be compiled here"));
}

TEST_F(Prewarm, what_fails_is_said_as_a_build_says_it)
{
    record("good.cu", "__global__ void good() {}");
    record("failed_before.cu", "__global__ void f() { FAILS }");
    record("timed.cu", "__global__ void t() { const char* t = __TIME__; }");
    const ProcessResult as_before = prewarm({"--recipes", m_recipes});
    EXPECT_TRUE(ends_printing(as_before, 0, "2 kernels: 0 fetched, 0 already there, 1 compiled, 0 missing",
                              "1 compile fails as when it was recorded."));
    EXPECT_TRUE(ends_saying(as_before, 0, "timed.cu goes past the cache: "));
    EXPECT_EQ(prewarm({"--recipes", m_recipes, "--no-compile"}).exit_code, 0) << "nobody can do better";

    record("later.cu", "__global__ void k() { FAILS_LATER }");
    const nlohmann::json later = prewarm_json({"--recipes", m_recipes}, {{"HEARTH_NVRTC", HEARTH_NEXT_NVRTC}});
    EXPECT_TRUE(holds(later, {{"exit", 4}, {"compile_errors", 1}, {"recorded_with_another_compiler", 3}}));
}

TEST_F(Prewarm, a_process_that_dies_costs_its_kernel_alone)
{
    record("good.cu", "__global__ void g() {}");
    record("bad.cu", "__global__ void b() { DIES }");
    const nlohmann::json result = prewarm_json({"--recipes", m_recipes}, {{"FAKENVRTCDIES", "1"}});
    EXPECT_TRUE(holds(result, {{"exit", 1}, {"compiled", 1}, {"failed", 1}}));
}

TEST_F(Prewarm, it_stops_at_the_size_that_was_given_and_lets_nothing_go)
{
    record_some();
    const std::string file = bundle();
    const nlohmann::json result =
        prewarm_json({"--recipes", m_recipes, "--max-size", "1B"}, {{"HEARTH_BUNDLES", file}});
    EXPECT_TRUE(holds(result, {{"exit", 1}, {"no_room", 3}, {"compiled", 0}}));
    EXPECT_TRUE(ends_saying(prewarm({"--recipes", m_recipes, "--max-size", "1B", "--jobs", "1"}), 1,
                            "left out: there is no more room (--max-size 1 B"));

    fs::remove_all(cache);
    put("mine", noise(100'000));
    EXPECT_TRUE(ends_saying(prewarm({"--bundle", file}, {{"HEARTH_MAX_BYTES", "100500B"}}), 1,
                            "3 entries were left out: there is no more room", "HEARTH_MAX_BYTES"));
    EXPECT_EQ(hearth({"get", "mine"}).exit_code, 0);
}

TEST_F(Prewarm, a_bundle_is_copied_to_the_disk)
{
    record_some();
    const std::string file = bundle();
    const ProcessResult first = prewarm({"--bundle", file, "--rate", "1GB"});
    EXPECT_TRUE(ends_printing(first, 0, "Copied 3 entries (", "0 were there already, 0 rejected; "));
    fs::remove(file);
    expect_all_are_hits();
    const nlohmann::json second = prewarm_json({"--bundle", bundle()});
    EXPECT_TRUE(holds(second, {{"already_there", 3}, {"bytes", 0}}));
    EXPECT_GT(second.at("read_bytes"), 0);
    // Carrying entries is no use of them.
    EXPECT_EQ(json_of({"stats", "--json"}).at("misses").at("absent"), 0);
}

TEST_F(Prewarm, a_damaged_entry_of_a_bundle_is_rejected_and_the_rest_copied)
{
    record_some();
    const std::string file = bundle();
    flip(file, fs::file_size(file) - 40);
    const ProcessResult result = prewarm({"--bundle", file});
    EXPECT_TRUE(ends_printing(result, 1, "Copied 2 entries (", "1 rejected"));
    EXPECT_TRUE(ends_saying(result, 1, "is corrupt; it was not taken"));
}

TEST_F(Prewarm, the_most_used_are_read_and_verified)
{
    for (const char* key : {"k1", "k2", "k3", "k4"})
        put(key, noise(20'000));
    for (int use = 0; use < 3; ++use)
        hearth({"get", "k2"});
    const nlohmann::json all = prewarm_json({"--top", "10"});
    EXPECT_TRUE(holds(all, {{"exit", 0}, {"already_there", 4}}));
    EXPECT_GT(all.at("read_bytes"), 80'000);
    EXPECT_TRUE(ends_printing(prewarm({"--top", "1"}), 0, "Read 1 entry ("));
    EXPECT_EQ(prewarm_json({"--top", "10", "--max-size", "50KB"}).at("already_there"), 2);
    EXPECT_EQ(prewarm({"--top", "10", "--max-size", "5KB"}).exit_code, 1);
    // A cache that may not be written can be read.
    EXPECT_EQ(prewarm({"--top", "10"}, {{"HEARTH_READ_ONLY", "1"}}).exit_code, 0);

    put("large", noise(400'000));
    flip(largest_file(), fs::file_size(largest_file()) / 2);
    const ProcessResult damaged = prewarm({"--top", "10"});
    EXPECT_TRUE(ends_printing(damaged, 1, "Read 4 entries (", "; 1 damaged; "));
    EXPECT_TRUE(ends_saying(damaged, 1, "verify --repair"));
}

TEST_F(Prewarm, wrong_input_is_a_sentence_that_names_it)
{
    const std::string text = write("text", "neither recipes nor a bundle").string();
    for (const char* option : {"--recipes", "--bundle"})
        for (const std::string& file : {text, (scratch / "missing").string(), scratch.string()})
            EXPECT_TRUE(is_refused(prewarm({option, file}), 3, file)) << option;
    EXPECT_TRUE(ends_saying(prewarm({"--recipes", write("empty", "").string()}), 1, "no recipe was recorded"));
    EXPECT_TRUE(ends_saying(prewarm({}), 2, "--recipes", "--bundle", "--top"));
    EXPECT_TRUE(is_refused(prewarm({"--top", "5"}), 1, "There is nothing to read: the cache is empty."));
    EXPECT_FALSE(fs::exists(cache)) << "and nothing was begun";
}

TEST_F(Prewarm, a_directory_that_cannot_be_written_is_said)
{
    record_some();
    const std::string file = bundle();
    for (const Words& words : {Words{"--recipes", m_recipes}, Words{"--bundle", file}})
        EXPECT_TRUE(ends_saying(prewarm(words, {{"HEARTH_READ_ONLY", "1"}}), 3,
                                "is read-only (by environment HEARTH_READ_ONLY)"));
}

TEST_F(Prewarm, a_server_that_does_not_answer_is_said_and_its_kernels_are_compiled)
{
    record_some();
    const ProcessResult result = prewarm({"--recipes", m_recipes}, {{"HEARTH_REMOTE", "redis://127.0.0.1:1"}});
    EXPECT_TRUE(ends_printing(result, 0, "3 compiled, 0 missing"));
    EXPECT_TRUE(ends_saying(result, 0, "does not answer"));
}

TEST_F(Prewarm, stopped_by_a_signal_leaves_nothing_behind)
{
    record("w.cu", "__global__ void w() { WAITS }");
    EXPECT_EQ(stopped_in_a_compile({"prewarm", "--recipes", m_recipes}, SIGINT), 128 + SIGINT);
    EXPECT_TRUE(fs::is_empty(scratch / "tmp"));
}

TEST_F(Prewarm, of_a_damaged_file_the_rest_is_brought_and_that_is_said)
{
    record_damaged();
    const ProcessResult result = prewarm({"--recipes", m_recipes});
    EXPECT_TRUE(ends_saying(result, 1, "2 places of the recipes are damaged"));
    EXPECT_TRUE(ends_printing(result, 1, "1 compiled, 1 missing"));
    EXPECT_TRUE(is_hit("b.cu"));
}

using PrewarmForReal = ForReal<Prewarm>;

TEST_F(PrewarmForReal, recorded_and_prewarmed_a_program_misses_nothing)
{
    write("value.h", "#define VALUE 7\n");
    record("one.cu", "#include \"value.h\"\n__global__ void one(int* x) { *x = VALUE; }");
    record("two.cu", "__global__ void two(float* x) { *x *= 2; }");
    EXPECT_TRUE(ends_printing(prewarm({"--recipes", m_recipes}), 0,
                              "2 kernels: 0 fetched, 0 already there, 2 compiled, 0 missing; "));
    EXPECT_TRUE(is_hit("one.cu"));
    EXPECT_TRUE(is_hit("two.cu"));
    EXPECT_TRUE(ends_printing(prewarm({"--recipes", m_recipes}), 0, "2 already there, 0 compiled"));

    fs::remove_all(cache);
    EXPECT_TRUE(ends_printing(prewarm({"--bundle", bundle()}), 0, "Copied 2 entries"));
    EXPECT_TRUE(is_hit("one.cu"));
    EXPECT_TRUE(is_hit("two.cu"));
}

}  // namespace hearth::test
