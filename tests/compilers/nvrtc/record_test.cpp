// What nvrtc::compile() records, with the real NVRTC.

#include "compilers/nvrtc/record.hpp"
#include "nvrtc_fixture.hpp"

namespace hearth::test {

namespace {

using nvrtc::Program;

const char* const k_plain = "extern \"C\" __global__ void k(int* x) { *x = 1; }";

class RecordsNvrtc : public NvrtcTest {
protected:
    RecordsNvrtc() { m_options.record_to = recipes_path(); }

    std::string recipes_path() const { return m_scratch / "r.recipes"; }
    recipes::Recipes recorded() const { return recipes::read(recipes_path()).value(); }

    // The only recipe there is.
    recipes::Recipe one() const
    {
        const recipes::Recipes all = recorded();
        EXPECT_EQ(all.list().size(), 1U);
        EXPECT_EQ(all.damage().places, 0U);
        return all.list().empty() ? recipes::Recipe{} : all.list().front();
    }
};

TEST_F(RecordsNvrtc, a_miss_and_a_hit_are_one_recipe_with_two_uses)
{
    const Program program{.source = k_plain,
                          .name = "k.cu",
                          .options = {"-std=c++20"},
                          .headers = {{"unused.h", "// given\n"}},
                          .name_expressions = {"k"},
                          .target = "sm_90"};
    const nvrtc::Compiled compiled = compile(program);
    EXPECT_EQ(compile(program).outcome(), nvrtc::Outcome::hit);
    const recipes::Recipe recipe = one();
    EXPECT_EQ(recipe.key, compiled.request().key());
    EXPECT_EQ(recipe.name, "k.cu");
    EXPECT_EQ(recipe.target, "sm_90");
    EXPECT_EQ(recipe.options, (std::vector<std::string>{"-std=c++20", "-arch=sm_90"}));
    EXPECT_EQ(recipe.name_expressions, std::vector<std::string>{"k"});
    EXPECT_EQ(recipe.compiler, compiled.artifact().metadata.compiler);
    EXPECT_FALSE(recipe.compiler_build.empty());
    EXPECT_EQ(recipe.why_past_the_cache, "");
    EXPECT_EQ(recipe.missing, "");
    EXPECT_EQ(recipe.status, 0);
    EXPECT_EQ(recipe.cost, compiled.artifact().cost);
    EXPECT_EQ(recipe.uses, 2U);
    EXPECT_EQ(recipe.processes, 1U);
    EXPECT_GT(recipe.first_use.count(), 0);
    EXPECT_EQ(recipe.source_bytes, program.source.size());
    EXPECT_EQ(recipe.headers, 1U);
    EXPECT_EQ(recipe.header_bytes, 9U);
}

TEST_F(RecordsNvrtc, a_disabled_cache_and_one_that_is_not_asked_to_record_nothing)
{
    Cache plain = open_cache(m_scratch / "cache");
    Cache off = Cache::open({.caching = Switch::off, .record_to = recipes_path()}).value();
    EXPECT_EQ(off.recording(), nullptr);
    for (Cache* cache : {&plain, &off})
        ASSERT_TRUE(nvrtc::compile(*cache, {.source = k_plain, .target = "sm_90"}).ok());
    EXPECT_FALSE(std::filesystem::exists(recipes_path()));
}

TEST_F(RecordsNvrtc, a_file_that_was_only_looked_for_without_its_text)
{
    const std::string there = write("k.cu", "what NVRTC only sees to be there");
    compile({.source = "#include \"a.h\"\n", .name = there, .headers = {{"a.h", ""}}, .target = "sm_90"});
    EXPECT_EQ(one().headers, 2U);
    EXPECT_EQ(one().header_bytes, 0U);
}

TEST_F(RecordsNvrtc, contents_that_several_programs_read_stand_there_once)
{
    write("inc/large.h", "#define VALUE 1\n// " + std::string(5000, 'x'));
    Program reads = program("#include <large.h>", {include("inc")});
    compile(reads);
    const std::uint64_t once = recorded().content_bytes();
    reads.source[reads.source.find(" k(") + 1] = 'b';
    compile(reads);
    const recipes::Recipes all = recorded();
    EXPECT_EQ(all.list().size(), 2U);
    EXPECT_EQ(all.content_bytes(), once + reads.source.size());
    EXPECT_LT(all.stored_bytes(), all.content_bytes() / 10);
}

TEST_F(RecordsNvrtc, what_no_cache_can_answer_with_the_reason)
{
    const Program timed{.source = "__device__ const char* t = __TIME__; __global__ void k() { printf(\"%s\", t); }",
                        .name = "timed.cu"};
    EXPECT_EQ(compile(timed).outcome(), nvrtc::Outcome::past_the_cache);
    compile(timed);
    const recipes::Recipe recipe = one();
    EXPECT_NE(recipe.why_past_the_cache.find("time"), std::string::npos) << recipe.why_past_the_cache;
    EXPECT_EQ(recipe.uses, 2U);
    EXPECT_EQ(recipe.name, "timed.cu");
}

TEST_F(RecordsNvrtc, what_was_missing_where_making_is_forbidden)
{
    m_options.compiling = Compiling::forbidden;
    Cache strict = open();
    const Result<nvrtc::Compiled> missing = nvrtc::compile(strict, {.source = k_plain, .name = "src/other.cu"});
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, Code::compile_forbidden);
    EXPECT_TRUE(missing.error().message.starts_with("other.cu (entry ")) << missing.error().message;
    const recipes::Recipe recipe = one();
    EXPECT_EQ(recipe.missing, "");
    EXPECT_EQ(recipe.compiler, "") << "none was asked";
    EXPECT_FALSE(recipe.compiler_build.empty());
}

TEST_F(RecordsNvrtc, a_header_that_has_changed_meanwhile_is_not_recorded_as_what_it_was)
{
    write("inc/value.h", "#define VALUE 1\n");
    const Program reads = program("#include <value.h>", {include("inc")});
    const nvrtc::Plan plan = nvrtc::make_plan(*m_cache, reads, {}).value();
    const compilers::Answer answer = nvrtc::compile_plan(*m_cache, reads, plan).value();
    write("inc/value.h", "#define VALUE 2\n");
    nvrtc::record(*m_cache, reads, plan, &answer);
    EXPECT_TRUE(recorded().list().empty());
    write("inc/value.h", "#define VALUE 1\n");
    nvrtc::record(*m_cache, reads, plan, &answer);
    EXPECT_EQ(recorded().list().size(), 1U) << "the next time it can be had";
    EXPECT_EQ(one().missing, "");
}

TEST_F(RecordsNvrtc, a_tree_that_moved_is_the_same_recipe)
{
    for (const std::string root : {"one", "two"}) {
        write(root + "/inc/value.h", "#define VALUE 1\n");
        Program here = program("#include <value.h>", {include(root + "/inc")});
        here.name = m_scratch / (root + "/k.cu");
        compile(here);
    }
    EXPECT_EQ(one().uses, 2U);
}

TEST_F(RecordsNvrtc, in_a_place_that_cannot_be_written_says_so_once_and_compiles_even_where_the_log_throws)
{
    std::vector<std::string> logged;
    m_options.record_to = m_scratch / "missing/folder/r";
    m_options.log = [&](LogLevel, std::string_view sentence) {
        logged.emplace_back(sentence);
        throw std::runtime_error("a log of the user's");
    };
    m_cache.emplace(open());
    for (const char* source : {k_plain, "__global__ void other() {}"})
        EXPECT_FALSE(compile({.source = source, .target = "sm_90"}).failed());
    ASSERT_EQ(logged.size(), 1U);
    EXPECT_NE(logged[0].find("missing/folder/r"), std::string::npos) << logged[0];
}

TEST_F(RecordsNvrtc, into_a_file_named_from_the_directory_that_it_was_opened_in)
{
    std::filesystem::current_path(m_scratch.path());
    m_options.record_to = "relative.recipes";
    m_cache.emplace(open());
    std::filesystem::current_path("/");
    compile({.source = k_plain, .target = "sm_90"});
    EXPECT_EQ(recipes::read(m_scratch / "relative.recipes").value().list().size(), 1U);
}

}  // namespace

}  // namespace hearth::test
