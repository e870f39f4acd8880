// prewarm: what a program will ask for, brought here beforehand (52).
#include "recorded.hpp"

#include <csignal>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Prewarm : public Recorded {
protected:
    ProcessResult compile(const std::string& name, const Words& more, Environment environment = {})
    {
        Words words{"compile", (scratch / name).string(), "--arch", "sm_90"};
        words.insert(words.end(), more.begin(), more.end());
        return hearth(words, with(std::move(environment)));
    }
    void record_some()
    {
        for (const char* name : {"a", "b", "c"})
            record(std::string(name) + ".cu", std::string("__global__ void ") + name + "() {}");
    }
    // What was recorded, as a bundle.
    std::string bundle(const Words& more = {})
    {
        const std::string file = (scratch / "app.bundle").string();
        Words words{"--dir", (scratch / "recording").string(), "bundle", "create", file};
        words.insert(words.end(), more.begin(), more.end());
        EXPECT_EQ(hearth(words).exit_code, 0);
        return file;
    }
    bool is_hit(const std::string& name)
    {
        const ProcessResult result = compile(name, {"--json"}, {{"HEARTH_FORBID_COMPILE", "1"}});
        const auto json = nlohmann::json::parse(result.out, nullptr, false);
        return result.exit_code == 0 && json.is_object() && json.value("outcome", "") == "hit" &&
               json.value("tier", "") == "disk";
    }

    ProcessResult prewarm(Words words, Environment environment = {})
    {
        words.insert(words.begin(), "prewarm");
        return run_clean(words, std::move(environment));
    }
    nlohmann::json prewarm_json(Words words, Environment environment = {})
    {
        words.insert(words.begin(), "prewarm");
        return json_of_clean(std::move(words), std::move(environment));
    }
};

}  // namespace

TEST_F(Prewarm, what_nobody_has_is_compiled_and_a_second_time_nothing)
{
    record_some();
    const nlohmann::json first = prewarm_json({"--recipes", m_recipes, "--jobs", "2"});
    EXPECT_EQ(first.at("exit"), 0);
    EXPECT_EQ(first.at("total"), 3);
    EXPECT_EQ(first.at("compiled"), 3);
    EXPECT_EQ(first.at("filled"), 0);
    for (const char* name : {"a.cu", "b.cu", "c.cu"})
        EXPECT_TRUE(is_hit(name)) << name;
    const nlohmann::json second = prewarm_json({"--recipes", m_recipes});
    EXPECT_EQ(second.at("exit"), 0);
    EXPECT_EQ(second.at("compiled"), 0);
    EXPECT_EQ(second.at("already_there"), 3);
}

TEST_F(Prewarm, what_a_bundle_has_is_fetched_and_the_rest_is_compiled)
{
    record_some();
    const std::string file = bundle({"a.cu"});
    const ProcessResult result = prewarm({"--recipes", m_recipes}, {{"HEARTH_BUNDLES", file}});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out.find("3 kernels: 1 fetched, 0 already there, 2 compiled, 0 missing; "), 0U) << result.out;
    for (const char* name : {"a.cu", "b.cu", "c.cu"})
        EXPECT_TRUE(is_hit(name)) << name;
}

TEST_F(Prewarm, everything_that_is_fetched_needs_no_compiler)
{
    record_some();
    const std::string file = bundle();
    const nlohmann::json result = prewarm_json(
        {"--recipes", m_recipes}, {{"HEARTH_BUNDLES", file}, {"HEARTH_NVRTC", (scratch / "none.so").string()}});
    EXPECT_EQ(result.at("exit"), 0);
    EXPECT_EQ(result.at("filled"), 3);
    const ProcessResult lacking = prewarm({"--recipes", m_recipes, "--dir", (scratch / "other").string()},
                                          {{"HEARTH_NVRTC", (scratch / "none.so").string()}});
    EXPECT_EQ(lacking.exit_code, 3);
    EXPECT_NE(lacking.err.find("3 kernels are on no server and in no bundle, and cannot be compiled here"),
              std::string::npos)
        << lacking.err;
}

TEST_F(Prewarm, without_compiling_what_nobody_has_is_missing)
{
    record_some();
    const ProcessResult result =
        prewarm({"--recipes", m_recipes, "--no-compile"}, {{"HEARTH_BUNDLES", bundle({"b.cu"})}});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out.find("3 kernels: 1 fetched, 0 already there, 0 compiled, 2 missing; "), 0U) << result.out;
    EXPECT_NE(result.err.find("2 kernels are on no server and in no bundle"), std::string::npos) << result.err;
    EXPECT_TRUE(is_hit("b.cu"));
    EXPECT_FALSE(is_hit("a.cu"));
}

TEST_F(Prewarm, compiles_give_way_to_everything_else)
{
    record("k.cu", "__global__ void k() {}");
    ASSERT_EQ(prewarm({"--recipes", m_recipes}).exit_code, 0);
    expect_compiled_nicely("k.cu");
}

TEST_F(Prewarm, what_fails_is_said_as_a_build_says_it)
{
    record("good.cu", "__global__ void good() {}");
    record("failed_before.cu", "__global__ void f() { FAILS }");
    record("timed.cu", "__global__ void t() { const char* t = __TIME__; }");
    const ProcessResult as_before = prewarm({"--recipes", m_recipes});
    EXPECT_EQ(as_before.exit_code, 0) << as_before.err;
    EXPECT_NE(as_before.out.find("2 kernels: 0 fetched, 0 already there, 1 compiled, 0 missing"), std::string::npos)
        << as_before.out;
    EXPECT_NE(as_before.out.find("1 compile fails as when it was recorded."), std::string::npos) << as_before.out;
    EXPECT_NE(as_before.err.find("timed.cu goes past the cache: "), std::string::npos) << as_before.err;
    EXPECT_EQ(prewarm({"--recipes", m_recipes, "--no-compile"}).exit_code, 0) << "nobody can do better";

    record("later.cu", "__global__ void k() { FAILS_LATER }");
    const nlohmann::json later = prewarm_json({"--recipes", m_recipes}, {{"HEARTH_NVRTC", HEARTH_NEXT_NVRTC}});
    EXPECT_EQ(later.at("exit"), 4);
    EXPECT_EQ(later.at("compile_errors"), 1);
    EXPECT_EQ(later.at("recorded_with_another_compiler"), 3);
}

TEST_F(Prewarm, a_process_that_dies_costs_its_kernel_alone)
{
    record("good.cu", "__global__ void g() {}");
    record("bad.cu", "__global__ void b() { DIES }");
    const nlohmann::json result = prewarm_json({"--recipes", m_recipes}, {{"FAKENVRTCDIES", "1"}});
    EXPECT_EQ(result.at("exit"), 1);
    EXPECT_EQ(result.at("compiled"), 1);
    EXPECT_EQ(result.at("failed"), 1);
}

TEST_F(Prewarm, it_stops_at_the_size_that_was_given_and_lets_nothing_go)
{
    record_some();
    const std::string file = bundle();
    const nlohmann::json result =
        prewarm_json({"--recipes", m_recipes, "--max-size", "1B"}, {{"HEARTH_BUNDLES", file}});
    EXPECT_EQ(result.at("exit"), 1);
    EXPECT_EQ(result.at("no_room"), 3);
    EXPECT_EQ(result.at("compiled"), 0);
    EXPECT_TRUE(ends_saying(prewarm({"--recipes", m_recipes, "--max-size", "1B", "--jobs", "1"}), 1,
                            "left out: there is no more room (--max-size 1 B"));

    fs::remove_all(cache);
    const std::string big = put("mine", noise(100'000));
    const ProcessResult full = prewarm({"--bundle", file}, {{"HEARTH_MAX_BYTES", "100500B"}});
    EXPECT_TRUE(ends_saying(full, 1, "3 entries were left out: there is no more room"));
    EXPECT_NE(full.err.find("HEARTH_MAX_BYTES"), std::string::npos) << full.err;
    EXPECT_EQ(hearth({"get", "mine"}).exit_code, 0);
}

TEST_F(Prewarm, a_bundle_is_copied_to_the_disk)
{
    record_some();
    const std::string file = bundle();
    const ProcessResult first = prewarm({"--bundle", file, "--rate", "1GB"});
    EXPECT_EQ(first.exit_code, 0) << first.err;
    EXPECT_EQ(first.out.find("Copied 3 entries ("), 0U) << first.out;
    EXPECT_NE(first.out.find("0 were there already, 0 rejected; "), std::string::npos) << first.out;
    fs::remove(file);
    for (const char* name : {"a.cu", "b.cu", "c.cu"})
        EXPECT_TRUE(is_hit(name)) << name;
    const nlohmann::json second = prewarm_json({"--bundle", bundle()});
    EXPECT_EQ(second.at("already_there"), 3);
    EXPECT_EQ(second.at("bytes"), 0);
    EXPECT_GT(second.at("read_bytes"), 0);
    // Carrying entries is no use of them.
    EXPECT_EQ(json_of({"stats", "--json"}).at("misses").at("absent"), 0);
}

TEST_F(Prewarm, a_damaged_entry_of_a_bundle_is_rejected_and_the_rest_copied)
{
    record_some();
    const std::string file = bundle();
    const std::string bytes = read(file);
    flip(file, bytes.size() - 40);
    const ProcessResult result = prewarm({"--bundle", file});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out.find("Copied 2 entries ("), 0U) << result.out;
    EXPECT_NE(result.out.find("1 rejected"), std::string::npos) << result.out;
    EXPECT_NE(result.err.find("is corrupt; it was not taken"), std::string::npos) << result.err;

    fs::remove_all(cache);
    write("app.bundle", bytes.substr(0, bytes.size() - 40));
    const ProcessResult cut = prewarm({"--bundle", file});
    EXPECT_EQ(cut.exit_code, 1);
    EXPECT_EQ(cut.out.find("Copied 2 entries ("), 0U) << cut.out;
    EXPECT_NE(cut.out.find("1 rejected"), std::string::npos) << cut.out;
    EXPECT_NE(cut.err.find("Get the file again"), std::string::npos) << cut.err;
}

TEST_F(Prewarm, a_bundle_is_believed_as_far_as_the_settings_do)
{
    const std::string key = (scratch / "build.key").string();
    const ProcessResult made = hearth({"keygen", key});
    const std::string pub = write("build.pub", made.out).string();
    given["HEARTH_SIGN_WITH"] = key;
    record_some();
    given.clear();
    const Environment strict{{"HEARTH_TRUSTED_KEYS", pub}, {"HEARTH_DEMAND_SIGNATURES", "bundles"}};
    EXPECT_TRUE(ends_saying(prewarm({"--bundle", bundle()}, strict), 3, "app.bundle"));
    EXPECT_EQ(prewarm({"--bundle", bundle({"--sign-with", key})}, strict).exit_code, 0);
}

TEST_F(Prewarm, the_most_used_are_read_and_verified)
{
    for (const char* key : {"k1", "k2", "k3", "k4"})
        put(key, noise(20'000));
    for (int use = 0; use < 3; ++use)
        hearth({"get", "k2"});
    const nlohmann::json all = prewarm_json({"--top", "10"});
    EXPECT_EQ(all.at("exit"), 0);
    EXPECT_EQ(all.at("already_there"), 4);
    EXPECT_GT(all.at("read_bytes"), 80'000);
    const ProcessResult one = prewarm({"--top", "1"});
    EXPECT_EQ(one.out.find("Read 1 entry ("), 0U) << one.out;
    EXPECT_EQ(prewarm_json({"--top", "10", "--max-size", "50KB"}).at("already_there"), 2);
    EXPECT_EQ(prewarm({"--top", "10", "--max-size", "5KB"}).exit_code, 1);
    // A cache that may not be written can be read.
    EXPECT_EQ(prewarm({"--top", "10"}, {{"HEARTH_READ_ONLY", "1"}}).exit_code, 0);

    put("large", noise(400'000));
    flip(largest_file(), fs::file_size(largest_file()) / 2);
    const ProcessResult damaged = prewarm({"--top", "10"});
    EXPECT_TRUE(ends_printing(damaged, 1, "Read 4 entries ("));
    EXPECT_NE(damaged.out.find("; 1 damaged; "), std::string::npos) << damaged.out;
    EXPECT_NE(damaged.err.find("verify --repair"), std::string::npos) << damaged.err;
}

TEST_F(Prewarm, of_an_empty_cache_there_is_nothing_to_read)
{
    const ProcessResult result = prewarm({"--top", "5"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.err, "hearth: There is nothing to read: the cache is empty.\n");
    EXPECT_FALSE(fs::exists(cache));
}

TEST_F(Prewarm, wrong_input_is_a_sentence_that_names_it)
{
    const std::string text = write("text", "neither recipes nor a bundle").string();
    const std::string missing = (scratch / "missing").string();
    for (const char* option : {"--recipes", "--bundle"})
        for (const std::string& file : {text, missing, scratch.string()}) {
            const ProcessResult result = prewarm({option, file});
            EXPECT_EQ(result.exit_code, 3) << option << ' ' << file;
            EXPECT_EQ(result.err.rfind("hearth: ", 0), 0U) << result.err;
            EXPECT_NE(result.err.find(file), std::string::npos) << result.err;
        }
    EXPECT_TRUE(ends_saying(prewarm({"--recipes", write("empty", "").string()}), 1, "no recipe was recorded"));
    const ProcessResult nothing = prewarm({});
    EXPECT_EQ(nothing.exit_code, 2);
    for (const char* option : {"--recipes", "--bundle", "--top"})
        EXPECT_NE(nothing.err.find(option), std::string::npos) << nothing.err;
    EXPECT_EQ(prewarm({"--bundle", text, "--top", "3"}).exit_code, 2);
    EXPECT_EQ(prewarm({"--bundle", text, "--no-compile"}).exit_code, 2);
    EXPECT_EQ(prewarm({"--bundle", text, "--rate", "soup"}).exit_code, 2);
    EXPECT_EQ(prewarm({"--recipes", text, "--jobs", "0"}).exit_code, 2);
    EXPECT_FALSE(fs::exists(cache)) << "and nothing was begun";
}

TEST_F(Prewarm, a_directory_that_cannot_be_written_is_said)
{
    record_some();
    const std::string file = bundle();
    for (const Words& words : {Words{"--recipes", m_recipes}, Words{"--bundle", file}}) {
        EXPECT_TRUE(ends_saying(prewarm(words, {{"HEARTH_READ_ONLY", "1"}}), 3,
                                "is read-only (by environment HEARTH_READ_ONLY)"));
    }
}

TEST_F(Prewarm, a_server_that_does_not_answer_is_said_and_its_kernels_are_compiled)
{
    record_some();
    const ProcessResult result = prewarm({"--recipes", m_recipes}, {{"HEARTH_REMOTE", "redis://127.0.0.1:1"}});
    EXPECT_TRUE(ends_printing(result, 0, "3 compiled, 0 missing"));
    EXPECT_NE(result.err.find("does not answer"), std::string::npos) << result.err;
}

TEST_F(Prewarm, stopped_by_a_signal_leaves_nothing_behind)
{
    record("w.cu", "__global__ void w() { WAITS }");
    const std::string mark = (scratch / "waiting").string();
    EXPECT_EQ(
        stopped(
            {"prewarm", "--recipes", m_recipes}, SIGINT, [&] { return fs::exists(mark); },
            {{"HEARTH_NVRTC", HEARTH_FAKE_NVRTC}, {"TMPDIR", (scratch / "tmp").string()}, {"FAKENVRTCWAITS", mark}}),
        128 + SIGINT);
    EXPECT_TRUE(fs::is_empty(scratch / "tmp"));
}

TEST_F(Prewarm, of_a_damaged_file_the_rest_is_brought_and_that_is_said)
{
    record("a.cu", "__global__ void a() {}");
    record("b.cu", "__global__ void b() {}");
    std::string bytes = read(m_recipes);
    bytes[bytes.find("void a()")] ^= 1;
    write("r.recipes", bytes + "torn");
    const ProcessResult result = prewarm({"--recipes", m_recipes});
    EXPECT_TRUE(ends_saying(result, 1, "2 places of the recipes are damaged"));
    EXPECT_NE(result.out.find("1 compiled, 1 missing"), std::string::npos) << result.out;
    EXPECT_TRUE(is_hit("b.cu"));
}

namespace {

// With the real compiler.
class PrewarmForReal : public Prewarm {
protected:
    void SetUp() override
    {
        Prewarm::SetUp();
        need_real_compiler();
    }
    ProcessOptions with(Environment environment = {}) const override
    {
        environment.try_emplace("HEARTH_NVRTC", std::nullopt);
        return Prewarm::with(std::move(environment));
    }
};

}  // namespace

TEST_F(PrewarmForReal, recorded_and_prewarmed_a_program_misses_nothing)
{
    write("value.h", "#define VALUE 7\n");
    record("one.cu", "#include \"value.h\"\n__global__ void one(int* x) { *x = VALUE; }");
    record("two.cu", "__global__ void two(float* x) { *x *= 2; }");
    const ProcessResult result = prewarm({"--recipes", m_recipes});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out.find("2 kernels: 0 fetched, 0 already there, 2 compiled, 0 missing; "), 0U) << result.out;
    EXPECT_TRUE(is_hit("one.cu"));
    EXPECT_TRUE(is_hit("two.cu"));
    EXPECT_NE(prewarm({"--recipes", m_recipes}).out.find("2 already there, 0 compiled"), std::string::npos);

    fs::remove_all(cache);
    EXPECT_NE(prewarm({"--bundle", bundle()}).out.find("Copied 2 entries"), std::string::npos);
    EXPECT_TRUE(is_hit("one.cu"));
    EXPECT_TRUE(is_hit("two.cu"));
}

}  // namespace hearth::test
