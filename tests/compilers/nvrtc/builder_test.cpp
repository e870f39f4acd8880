// Recipes built elsewhere: the keys and the bytes that the recording machine has, whatever it reads its headers from.

#include "compilers/nvrtc/plan.hpp"
#include "nvrtc_fixture.hpp"
#include "recipes/recipe_data.hpp"

namespace hearth::test {

namespace {

using nvrtc::Program;
using recipes::BuildResult;

class BuildsRecipes : public NvrtcTest {
protected:
    BuildsRecipes() { m_options.record_to = m_scratch / "r.recipes"; }

    recipes::Recipes recorded() const { return recipes::read(m_scratch / "r.recipes").value(); }

    // Every recipe for one target of the builder's; empty: as recorded.
    std::vector<BuildResult> build(const std::vector<std::string>& architectures = {})
    {
        const std::string scratch = m_scratch / ("scratch" + std::to_string(m_builds++));
        std::filesystem::create_directories(scratch);
        const recipes::Recipes all = recorded();
        recipes::Builder builder(m_elsewhere, all, {.scratch = scratch});
        std::vector<BuildResult> results;
        for (std::size_t i = 0; i < all.list().size(); ++i)
            for (const std::string& target : recipes::targets_of(all.list()[i], architectures))
                results.push_back(builder.build(i, target));
        return results;
    }
    BuildResult build_one()
    {
        const std::vector<BuildResult> all = build();
        EXPECT_EQ(all.size(), 1U);
        return all.empty() ? BuildResult{} : all.front();
    }
    // With this in what is said of it.
    static void expect_ended(const BuildResult& result, recipes::Outcome outcome, const std::string& part = "")
    {
        EXPECT_EQ(to_string(result.outcome), to_string(outcome)) << result.reason;
        EXPECT_NE(result.reason.find(part), std::string::npos) << result.reason << "\n" << result.log;
    }
    static void expect_built(const BuildResult& result) { expect_ended(result, recipes::Outcome::built); }
    // What was built is what NVRTC gives.
    void expect_hit(const Program& program)
    {
        const Result<nvrtc::Compiled> hit = nvrtc::compile(m_elsewhere, program);
        ASSERT_TRUE(hit.ok()) << hit.error().message;
        EXPECT_EQ(hit->outcome(), nvrtc::Outcome::hit);
        expect_as_bare(*hit, program);
    }

    // Which variables are among the conditions depends on what a process has compiled before.
    static std::vector<Section> sections_of(const Artifact& artifact)
    {
        std::vector<Section> sections = artifact.sections;
        std::erase_if(sections, [](const Section& section) { return section.name == "hearth.conditions"; });
        return sections;
    }

    // Everything is compiled and recorded here, then the files go away, and it is built elsewhere: the same key and the
    // same bytes.
    void expect_same_elsewhere(const Program& program, const std::vector<std::string>& folders)
    {
        const nvrtc::Compiled here = compile(program);
        ASSERT_FALSE(here.failed()) << here.log();
        for (const std::string& folder : folders)
            std::filesystem::rename(m_scratch / folder, m_scratch / (folder + "-away"));
        const BuildResult result = build_one();
        expect_built(result);
        EXPECT_EQ(result.key, here.request().key());
        const Lookup there = m_elsewhere.peek(result.key);
        ASSERT_TRUE(there.hit());
        EXPECT_EQ(sections_of(*there), sections_of(here.artifact())) << "code, names, log: no path of this machine";
        EXPECT_EQ(there->metadata, here.artifact().metadata);
        EXPECT_EQ(there->request, here.artifact().request);
        for (const std::string& folder : folders)
            std::filesystem::rename(m_scratch / (folder + "-away"), m_scratch / folder);
        // Where its files are, wherever that is, it is a hit now.
        expect_hit(program);
    }

    Cache m_elsewhere = open_cache(m_scratch / "elsewhere", {.failure_ttl = std::chrono::milliseconds(0)});
    int m_builds = 0;
};

TEST_F(BuildsRecipes, with_headers_beside_the_program_in_directories_given_and_nested)
{
    write("tree/program/beside.h", "#include \"sub/nested.h\"\n");
    write("tree/program/sub/nested.h",
          "#include \"../cousin.h\"\nstatic __device__ int warned() { int unused; return 1; }\n");
    write("tree/program/cousin.h", "#define COUSIN 1\n");
    write("tree/one/shadowed.h", "#define SHADOWED 1\n");
    write("tree/two/shadowed.h", "#define SHADOWED 2\n");
    write("tree/two/angled.h", "#include \"../outside.h\"\n#include \"detail/inner.h\"\n");
    write("tree/two/detail/inner.h", "#pragma once\n#if __has_include(<maybe.h>)\n#define MAYBE 1\n#endif\n");
    write("tree/two/maybe.h", "");
    write("tree/outside.h", "#define OUTSIDE 3\n");
    expect_same_elsewhere({.source =
                               "#include \"beside.h\"\n#include <shadowed.h>\n#include <angled.h>\n#include "
                               "\"given.h\"\ntemplate <class T> __global__ void k(T* x) { *x = COUSIN + SHADOWED + "
                               "OUTSIDE + MAYBE + GIVEN; }",
                           .name = m_scratch / "tree/program/main.cu",
                           .options = {"-std=c++20", "-DX=1", include("tree/one"), "-I", m_scratch / "tree/missing",
                                       "--include-path=" + (m_scratch / "tree/two/")},
                           .headers = {{"given.h", "#define GIVEN 4\n#include <maybe.h>\n"}},
                           .name_expressions = {"k<float>"},
                           .target = "sm_90"},
                          {"tree"});
    EXPECT_EQ(recorded().list().at(0).headers, 9U) << "eight files, and one that was given";
    EXPECT_GT(recorded().list().at(0).header_bytes, 9U * 16U);
}

TEST_F(BuildsRecipes, with_everything_named_from_the_working_directory)
{
    write("work/src/local.h", "#define LOCAL 1\n");
    write("work/inc/value.h", "#include \"../src/local.h\"\n#define TWO 2\n");
    write("work/inc/asserts.h", "static __device__ int checked(int x) { assert(x); return x; }\n");
    write("work/pre.h", "#define PRE 3\n");
    write("up.h", "#define UP 4\n");
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(m_scratch / "work");
    std::vector<Program> programs;
    std::vector<Key> keys;
    // What the second gives holds "inc/asserts.h", wherever that is.
    for (const char* more :
         {"#define VALUE LOCAL + TWO + PRE + UP", "#include <asserts.h>\n#define VALUE checked(*x)"}) {
        programs.push_back(program(std::string("#include \"local.h\"\n#include <value.h>\n#include <up.h>\n") + more,
                                   {"-Iinc", "-I..", "--pre-include=pre.h"}, "sm_90"));
        programs.back().name = "src/main.cu";
        keys.push_back(compile(programs.back()).request().key());
    }
    std::filesystem::current_path(before);
    std::filesystem::rename(m_scratch / "work", m_scratch / "moved");
    const std::vector<BuildResult> results = build();
    ASSERT_EQ(results.size(), programs.size());
    EXPECT_EQ(std::filesystem::current_path(), before) << "the process is left where it was";
    std::filesystem::current_path(m_scratch / "moved");
    for (std::size_t i = 0; i < results.size(); ++i) {
        expect_built(results[i]);
        EXPECT_EQ(results[i].key, keys[i]);
        expect_hit(programs[i]);
    }
}

TEST_F(BuildsRecipes, for_other_targets_of_the_same_kind)
{
    write("inc/value.h", "#define VALUE __CUDA_ARCH__\n");
    Program here = program("#include <value.h>", {include("inc"), "-arch=sm_90", "-DLAST"}, "");
    compile(here);
    here.options[1] = "--gpu-architecture=compute_90";
    compile(here);
    for (const BuildResult& result : build({"sm_80", "sm_86"}))
        expect_built(result);
    for (const char* option :
         {"-arch=sm_80", "-arch=sm_86", "--gpu-architecture=compute_80", "--gpu-architecture=compute_86"}) {
        SCOPED_TRACE(option);
        here.options[1] = option;
        expect_hit(here);
    }
    EXPECT_EQ(m_elsewhere.stats().compiles, 4U);
    here.options[1] = "-arch=sm_90";
    EXPECT_EQ(nvrtc::compile(m_elsewhere, here)->outcome(), nvrtc::Outcome::compiled) << "which was not asked for";
}

TEST_F(BuildsRecipes, that_name_no_target_as_recorded_and_for_each)
{
    Program here{.source = "__global__ void k() {}", .name = "k.cu"};
    compile(here);
    const std::vector<BuildResult> results = build({"sm_80"});
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(results[0].target, "");
    EXPECT_EQ(results[1].target, "sm_80");
    expect_hit(here);
    here.options = {"-arch=sm_80"};
    expect_hit(here);
}

TEST_F(BuildsRecipes, only_what_is_not_there_yet)
{
    compile({.source = "__global__ void a() {}", .target = "sm_90"});
    expect_built(build_one());
    compile({.source = "__global__ void b() {}", .target = "sm_90"});
    const std::vector<BuildResult> again = build();
    ASSERT_EQ(again.size(), 2U);
    expect_ended(again[0], recipes::Outcome::already_there);
    expect_built(again[1]);
    EXPECT_EQ(m_elsewhere.stats().compiles, 2U);
}

TEST_F(BuildsRecipes, with_the_flags_that_the_environment_had)
{
    const Program program{.source = "__global__ void k() {}", .target = "sm_90"};
    ::setenv("NVRTC_APPEND_FLAGS", "-DFROM_ENVIRONMENT", 1);
    compile(program);
    ::setenv("NVRTC_APPEND_FLAGS", "-DOTHER", 1);
    expect_built(build_one());
    EXPECT_STREQ(std::getenv("NVRTC_APPEND_FLAGS"), "-DOTHER");
    ::setenv("NVRTC_APPEND_FLAGS", "-DFROM_ENVIRONMENT", 1);
    expect_hit(program);
}

TEST_F(BuildsRecipes, whose_output_holds_the_name_of_the_program_under_that_name)
{
    write("inc/value.h", "#define VALUE 1\n");
    Program named = program("#include <value.h>\n__device__ const char* f = __FILE__;", {include("inc")}, "sm_90");
    named.name = "/no/such/folder/main.cu";
    expect_same_elsewhere(named, {"inc"});
}

TEST_F(BuildsRecipes, whose_paths_matter_where_the_same_files_are_and_nowhere_else)
{
    const std::string asserts = "static __device__ int checked(int x) { assert(x); return x; }\n";
    write("inc/asserts.h", asserts);
    write("program/local.h", "#define VALUE checked(*x)\n");
    std::vector<Program> programs;
    for (const std::vector<std::string>& options :
         {std::vector{include("inc")}, std::vector<std::string>{include("inc"), "-lineinfo"}}) {
        programs.push_back(program("#include \"local.h\"\n#include <asserts.h>", options, "sm_90"));
        programs.back().name = m_scratch / "program/main.cu";
        compile(programs.back());
    }
    write("inc/asserts.h", "// changed\n");
    for (const BuildResult& result : build())
        expect_ended(result, recipes::Outcome::not_buildable,
                     m_scratch / "inc/asserts.h is another file on this machine");
    std::filesystem::rename(m_scratch / "inc", m_scratch / "away");
    for (const BuildResult& result : build())
        expect_ended(result, recipes::Outcome::not_buildable, "asserts.h is not on this machine");
    std::filesystem::rename(m_scratch / "away", m_scratch / "inc");
    write("inc/asserts.h", asserts);
    for (const BuildResult& result : build())
        expect_built(result);
    for (const Program& program : programs)
        expect_hit(program);
}

TEST_F(BuildsRecipes, that_include_by_an_absolute_path_where_that_file_is)
{
    const std::string absolute = write("fixed/x.h", "#define X 1\n");
    write("inc/value.h", "#define VALUE (X + 2)\n");
    compile(program("#include \"" + absolute + "\"\n#include <value.h>", {include("inc")}));
    std::filesystem::remove_all(m_scratch / "inc");
    std::filesystem::rename(m_scratch / "fixed", m_scratch / "away");
    expect_ended(build_one(), recipes::Outcome::not_buildable, "it is included by that path");
    std::filesystem::rename(m_scratch / "away", m_scratch / "fixed");
    expect_built(build_one());
}

TEST_F(BuildsRecipes, that_would_read_something_else_here_are_told)
{
    // Nothing was there when it was recorded.
    const std::string absent = m_scratch / "fixed/late.h";
    compile(program("#if __has_include(\"" + absent + "\")\n#define VALUE 1\n#else\n#define VALUE 0\n#endif"));
    write("fixed/late.h", "");
    expect_ended(build_one(), recipes::Outcome::failed,
                 "late.h is another file here, or was not read when it was recorded");
}

TEST_F(BuildsRecipes, that_no_cache_can_answer_or_that_fail_are_told_apart_with_the_line_that_says_why)
{
    compile({.source = "__device__ const char* t = __TIME__; __global__ void k() { printf(\"%s\", t); }"});
    // A warning whose text has the word comes first.
    compile({.source = "__global__ void k() { int error_code; undeclared = 1; }", .target = "sm_90"});
    compile({.source = "__global__ void k() {}", .options = {"-Xptxas", "--no-such-option"}, .target = "sm_90"});
    const std::vector<BuildResult> results = build();
    ASSERT_EQ(results.size(), 3U);
    expect_ended(results[0], recipes::Outcome::past_the_cache);
    expect_ended(results[1], recipes::Outcome::failed_as_recorded, "undeclared");
    expect_ended(results[2], recipes::Outcome::failed_as_recorded, "no-such-option");
    EXPECT_NE(results[1].log.find("undeclared"), std::string::npos);
    EXPECT_FALSE(m_elsewhere.peek(results[1].key).hit()) << "a failure is told, and not kept";
}

TEST_F(BuildsRecipes, that_fail_for_another_target_only)
{
    compile(program("#if __CUDA_ARCH__ < 900\n#error needs sm_90\n#endif\n#define VALUE 1", {}, "sm_90"));
    const std::vector<BuildResult> results = build({"sm_80", "sm_90"});
    ASSERT_EQ(results.size(), 2U);
    expect_ended(results[0], recipes::Outcome::compile_error, "needs sm_90");
    expect_built(results[1]);
}

TEST_F(BuildsRecipes, that_fail_where_nobody_knows_how_it_went_then)
{
    m_options.compiling = Compiling::forbidden;
    Cache strict = open_cache(m_scratch / "strict", m_options);
    ASSERT_FALSE(nvrtc::compile(strict, {.source = "__global__ void k() { undeclared = 1; }", .target = "sm_90"}).ok());
    expect_ended(build_one(), recipes::Outcome::compile_error, "it was not compiled when it was recorded");
}

TEST_F(BuildsRecipes, and_says_so_where_the_cache_did_not_keep_one)
{
    compile({.source = "__global__ void k() {}", .target = "sm_90"});
    m_elsewhere = open_cache(m_scratch / "tiny", {.memory_bytes = 0, .disk_bytes = 1});
    expect_ended(build_one(), recipes::Outcome::failed, "It was compiled, and the cache did not keep it.");
}

TEST_F(BuildsRecipes, one_after_the_other_in_trees_that_share_nothing_they_should_not)
{
    // Beside the first program lies a header that the second must not find.
    write("one/value.h", "#define VALUE 1\n");
    write("inc/value.h", "#define VALUE 2\n");
    Program here = program("#include \"value.h\"", {include("inc")}, "sm_90");
    for (const char* name : {"one/k.cu", "two/k.cu"}) {
        here.name = m_scratch / name;
        compile(here);
    }
    for (const char* folder : {"one", "two", "inc"})
        std::filesystem::remove_all(m_scratch / folder);
    const std::vector<BuildResult> results = build();
    ASSERT_EQ(results.size(), 2U);
    for (const BuildResult& result : results) {
        expect_built(result);
        EXPECT_EQ(m_elsewhere.peek(result.key)->text("cubin"), m_cache->peek(result.key)->text("cubin"));
    }
    EXPECT_NE(results[0].key, results[1].key);
}

TEST_F(BuildsRecipes, with_cub)
{
    std::vector<std::string> options;
    for (const std::string& directory : library_directories())
        for (const char* include : {"/../include/cccl", "/../include"})
            if (options.size() < 2 && (std::filesystem::exists(directory + include + "/cub/cub.cuh") ||
                                       std::filesystem::exists(directory + include + "/cuda_fp16.h")))
                options.push_back("-I" + std::filesystem::canonical(directory + include).string());
    if (options.empty())
        GTEST_SKIP() << "the CUDA toolkit's headers are not on this machine";
    const Program program{.source = "#include <cub/block/block_reduce.cuh>\n"
                                    "__global__ void k(const float* x, float* y) {\n"
                                    "  using Reduce = cub::BlockReduce<float, 128>;\n"
                                    "  __shared__ typename Reduce::TempStorage storage;\n"
                                    "  *y = Reduce(storage).Sum(x[threadIdx.x]);\n}",
                          .name = "cub.cu",
                          .options = options,
                          .target = "sm_90"};
    expect_same_elsewhere(program, {});
    EXPECT_GT(recorded().list().at(0).headers, 500U);
}

TEST_F(BuildsRecipes, from_a_damaged_file_what_is_whole)
{
    write("inc/value.h", "#define VALUE 1\n");
    compile(program("#include <value.h>", {include("inc")}));
    compile({.source = "__global__ void b() {}", .name = "b.cu", .target = "sm_90"});
    std::string bytes = read_file(m_scratch / "r.recipes");
    bytes[bytes.find("#define VALUE")] ^= 1;  // the header is too short to be compressed
    write_file(m_scratch / "r.recipes", bytes);
    const std::vector<BuildResult> results = build();
    ASSERT_EQ(results.size(), 2U);
    expect_ended(results[0], recipes::Outcome::not_buildable, "inc/value.h is not in the recipe file");
    expect_built(results[1]);
}

TEST_F(BuildsRecipes, that_somebody_made_up_have_no_effects_of_their_own)
{
    // A recipe whose key is right, and whose options would write a file.
    const std::string victim = m_scratch / "victim";
    const std::string source = "__global__ void k() {}";
    compile({.source = source, .target = "sm_90"});
    format::Recipe made_up = recorded().data().recipes.at(0);
    const nvrtc::Plan plan =
        nvrtc::make_plan(*m_cache, {.source = source, .options = {"--time=" + victim}}, {}).value();
    made_up.options = plan.options;
    made_up.target = "";
    made_up.key = plan.request.key();
    write_file(m_scratch / "r.recipes",
               format::encode_content(made_up.source, as_bytes(source), 0) + format::encode_recipe(made_up));
    expect_ended(build_one(), recipes::Outcome::past_the_cache);
    EXPECT_FALSE(std::filesystem::exists(victim));
}

TEST(RecipeTargets, keep_the_kind_that_was_recorded)
{
    using Strings = std::vector<std::string>;
    recipes::Recipe recipe;
    recipe.target = "sm_90";
    EXPECT_EQ(recipes::targets_of(recipe, {}), Strings{"sm_90"});
    EXPECT_EQ(recipes::targets_of(recipe, {"sm_80", "compute_80", "sm_90a"}), (Strings{"sm_80", "sm_90a"}));
    recipe.target = "compute_90";
    EXPECT_EQ(recipes::targets_of(recipe, {"sm_80"}), Strings{"compute_80"});
    recipe.target = "";
    EXPECT_EQ(recipes::targets_of(recipe, {}), Strings{""});
    EXPECT_EQ(recipes::targets_of(recipe, {"sm_80"}), (Strings{"", "sm_80"}));
    for (const char* good : {"sm_80", "compute_90a", "sm_120f", "lto_90"})
        EXPECT_TRUE(recipes::is_target(good)) << good;
    for (const char* bad : {"", "sm_", "80", "sm_x", "sm_80b", "device", "sm_80,sm_90", "native"})
        EXPECT_FALSE(recipes::is_target(bad)) << bad;
}

}  // namespace

}  // namespace hearth::test
