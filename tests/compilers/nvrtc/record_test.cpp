// What nvrtc::compile() records, with the real NVRTC.

#include "compilers/nvrtc/record.hpp"
#include "nvrtc_fixture.hpp"
#include "support/open_cache.hpp"

#include <unistd.h>

namespace hearth::test {

namespace {

using nvrtc::Program;

const char* const k_plain = "extern \"C\" __global__ void k(int* x) { *x = 1; }";

class RecordsNvrtc : public NvrtcTest {
protected:
    void SetUp() override
    {
        NvrtcTest::SetUp();
        if (IsSkipped())
            return;
        m_cache.emplace(open_recording());
    }

    std::string recipes_path() const { return m_scratch / "r.recipes"; }

    Cache open_recording(Compiling compiling = Compiling::allowed)
    {
        CacheOptions options;
        options.record_to = recipes_path();
        options.compiling = compiling;
        return open_cache(m_scratch / "cache", options);
    }

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
    Cache plain = open();
    ASSERT_TRUE(nvrtc::compile(plain, {.source = k_plain, .target = "sm_90"}).ok());
    CacheOptions options;
    options.caching = Switch::off;
    options.record_to = recipes_path();
    Cache off = Cache::open(options).value();
    EXPECT_EQ(off.recording(), nullptr);
    ASSERT_TRUE(nvrtc::compile(off, {.source = k_plain, .target = "sm_90"}).ok());
    EXPECT_FALSE(std::filesystem::exists(recipes_path()));
}

TEST_F(RecordsNvrtc, headers_of_every_kind_with_their_contents)
{
    const std::string absolute = write("elsewhere/absolute.h", "#define ABSOLUTE 1\n");
    write("program/beside.h", "#include \"sub/nested.h\"\n");
    write("program/sub/nested.h", "#define NESTED 2\n");
    write("inc/angled.h", "#include \"../outside.h\"\n#define ANGLED 3\n");
    write("outside.h", "#define OUTSIDE 4\n");
    const Program program{.source = "#include \"beside.h\"\n#include <angled.h>\n#include \"" + absolute +
                                    "\"\n#include <given.h>\n__global__ void k(int* x) { *x = ABSOLUTE + NESTED + "
                                    "ANGLED + OUTSIDE + GIVEN; }",
                          .name = m_scratch / "program/main.cu",
                          .options = {"-I" + (m_scratch / "inc")},
                          .headers = {{"given.h", "#define GIVEN 5\n"}},
                          .target = "sm_90"};
    ASSERT_FALSE(compile(program).failed());
    const recipes::Recipe recipe = one();
    EXPECT_EQ(recipe.headers, 6U) << "five files, and one that was given";
    EXPECT_EQ(recipe.missing, "");
    EXPECT_GT(recipe.header_bytes, 6U * 16U);
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
    Program program{.source = "#include <large.h>\n__global__ void a(int* x) { *x = VALUE; }",
                    .options = {"-I" + (m_scratch / "inc")},
                    .target = "sm_90"};
    compile(program);
    const std::uint64_t once = recorded().content_bytes();
    program.source[program.source.find(" a(") + 1] = 'b';
    compile(program);
    const recipes::Recipes all = recorded();
    EXPECT_EQ(all.list().size(), 2U);
    EXPECT_EQ(all.content_bytes(), once + program.source.size());
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

TEST_F(RecordsNvrtc, a_compile_error_with_its_status)
{
    EXPECT_TRUE(compile({.source = "__global__ void k() { undeclared = 1; }"}).failed());
    EXPECT_EQ(one().status, 6);
}

TEST_F(RecordsNvrtc, what_was_missing_where_making_is_forbidden)
{
    Cache strict = open_recording(Compiling::forbidden);
    const Result<nvrtc::Compiled> missing = nvrtc::compile(strict, {.source = k_plain, .target = "sm_90"});
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, Code::compile_forbidden);
    const recipes::Recipe recipe = one();
    EXPECT_EQ(recipe.missing, "");
    EXPECT_EQ(recipe.compiler, "") << "none was asked";
    EXPECT_FALSE(recipe.compiler_build.empty());
}

TEST_F(RecordsNvrtc, a_header_that_has_changed_meanwhile_is_not_recorded_as_what_it_was)
{
    write("inc/value.h", "#define VALUE 1\n");
    const Program program{.source = "#include <value.h>\n__global__ void k(int* x) { *x = VALUE; }",
                          .options = {"-I" + (m_scratch / "inc")},
                          .target = "sm_90"};
    const nvrtc::Plan plan = nvrtc::make_plan(*m_cache, program, {}).value();
    const compilers::Answer answer = nvrtc::compile_plan(*m_cache, program, plan).value();
    write("inc/value.h", "#define VALUE 2\n");
    nvrtc::record(*m_cache, program, plan, &answer);
    EXPECT_TRUE(recorded().list().empty());
    write("inc/value.h", "#define VALUE 1\n");
    nvrtc::record(*m_cache, program, plan, &answer);
    EXPECT_EQ(recorded().list().size(), 1U) << "the next time it can be had";
    EXPECT_EQ(one().missing, "");
}

TEST_F(RecordsNvrtc, a_log_that_throws_costs_the_record_and_not_the_compile)
{
    CacheOptions options;
    options.record_to = m_scratch / "missing/folder/r";
    options.log = [](LogLevel, std::string_view) { throw std::runtime_error("a log of the user's"); };
    Cache cache = open_cache(m_scratch / "cache", options);
    EXPECT_TRUE(nvrtc::compile(cache, {.source = k_plain, .target = "sm_90"}).ok());
}

TEST_F(RecordsNvrtc, a_tree_that_moved_is_the_same_recipe)
{
    write("one/inc/value.h", "#define VALUE 1\n");
    write("two/inc/value.h", "#define VALUE 1\n");
    for (const char* root : {"one", "two"})
        compile({.source = "#include <value.h>\n__global__ void k(int* x) { *x = VALUE; }",
                 .name = m_scratch / (std::string(root) + "/k.cu"),
                 .options = {"-I" + (m_scratch / (std::string(root) + "/inc"))},
                 .target = "sm_90"});
    EXPECT_EQ(one().uses, 2U);
}

TEST_F(RecordsNvrtc, in_a_place_that_cannot_be_written_says_so_once_and_compiles)
{
    std::vector<std::string> logged;
    CacheOptions options;
    options.record_to = m_scratch / "missing/folder/r";
    options.log = [&](LogLevel, std::string_view sentence) { logged.emplace_back(sentence); };
    Cache cache = open_cache(m_scratch / "cache", options);
    for (const char* source : {k_plain, "__global__ void other() {}"})
        EXPECT_TRUE(nvrtc::compile(cache, {.source = source, .target = "sm_90"}).ok());
    ASSERT_EQ(logged.size(), 1U);
    EXPECT_NE(logged[0].find("missing/folder/r"), std::string::npos) << logged[0];
}

TEST_F(RecordsNvrtc, into_a_file_named_from_the_directory_that_it_was_opened_in)
{
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(m_scratch.path());
    CacheOptions options;
    options.directory = m_scratch / "cache";
    options.record_to = "relative.recipes";
    Cache cache = Cache::open(options).value();
    std::filesystem::current_path(before);
    ASSERT_TRUE(nvrtc::compile(cache, {.source = k_plain, .target = "sm_90"}).ok());
    EXPECT_EQ(recipes::read(m_scratch / "relative.recipes").value().list().size(), 1U);
}

}  // namespace

}  // namespace hearth::test
