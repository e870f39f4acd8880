// What the linkers make of PTX.

#include "ptx_test.hpp"

#include "hearth/nvrtc.hpp"

namespace hearth::test {

namespace {

class PtxLinkers : public PtxTest, public testing::WithParamInterface<ptx::Linker> {
protected:
    void SetUp() override
    {
        if (const std::string why = why_not_there(GetParam()); !why.empty())
            GTEST_SKIP() << why;
    }
    static Result<ptx::Compiled> compile(Cache& cache, const ptx::Program& program)
    {
        return ptx::compile(cache, program, {.linker = GetParam()});
    }
};

INSTANTIATE_TEST_SUITE_P(, PtxLinkers, testing::Values(ptx::Linker::nvjitlink, ptx::Linker::driver),
                         [](const testing::TestParamInfo<ptx::Linker>& linker) {
                             return linker.param == ptx::Linker::driver ? "driver" : "nvjitlink";
                         });

TEST_P(PtxLinkers, ptx_becomes_a_cubin_once)
{
    Cache cache = open();
    const Result<ptx::Compiled> first = compile(cache, program_of(ptx_text()));
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_FALSE(first->failed()) << first->log();
    EXPECT_EQ(first->outcome(), ptx::Outcome::compiled);
    EXPECT_EQ(first->reason(), "absent");
    EXPECT_TRUE(is_cubin(first->cubin()));
    EXPECT_EQ(first->artifact().metadata.label, "store.ptx");
    EXPECT_EQ(first->artifact().metadata.target, "sm_90");

    const Result<ptx::Compiled> second = compile(cache, program_of(ptx_text()));
    ASSERT_TRUE(second.ok()) << second.error().message;
    EXPECT_EQ(second->outcome(), ptx::Outcome::hit);
    EXPECT_EQ(as_text(second->cubin()), as_text(first->cubin()));
    EXPECT_EQ(cache.stats().compiles, 1U);
    EXPECT_EQ(cache.stats().hits, 1U);
}

// That it is remembered is in the conformance suite.
TEST_P(PtxLinkers, invalid_ptx_and_what_is_none_fail_with_the_linkers_own_log)
{
    Cache cache = open();
    std::string text = ptx_text();
    text.replace(text.find("ret;"), 4, "rett;");
    for (const auto& [wrong, told] : {std::pair(text, "rett"), std::pair(std::string("this is no PTX\n"), "")}) {
        const Result<ptx::Compiled> compiled = compile(cache, program_of(wrong));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message;
        EXPECT_TRUE(compiled->failed());
        EXPECT_NE(compiled->status(), 0);
        EXPECT_TRUE(compiled->cubin().empty());
        EXPECT_FALSE(compiled->log().empty());
        EXPECT_NE(compiled->log().find(told), std::string::npos) << compiled->log();
    }
}

TEST_P(PtxLinkers, what_the_linker_tells_is_told_again_on_a_hit)
{
    Cache cache = open();
    ptx::Program program = program_of(ptx_text());
    program.options = {"-verbose"};
    const Result<ptx::Compiled> first = compile(cache, program);
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_NE(first->log().find("registers"), std::string::npos) << first->log();
    const Result<ptx::Compiled> second = compile(cache, program);
    ASSERT_TRUE(second.ok()) << second.error().message;
    EXPECT_EQ(second->outcome(), ptx::Outcome::hit);
    EXPECT_EQ(second->log(), first->log());
}

class NvJitLink : public PtxTest {
protected:
    void SetUp() override
    {
        if (!why_not_there(ptx::Linker::nvjitlink).empty())
            GTEST_SKIP() << "There is no libnvJitLink here.";
    }
    // What NVRTC makes of a kernel; a null artifact where there is no NVRTC.
    static Result<nvrtc::Compiled> nvrtc_compile(Cache& cache, std::vector<std::string> options)
    {
        return nvrtc::compile(cache, {.source = "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n",
                                      .options = std::move(options),
                                      .target = "sm_90"});
    }
};

TEST_F(NvJitLink, takes_the_ptx_that_nvrtc_gives)
{
    Cache cache = open();
    const Result<nvrtc::Compiled> source = nvrtc_compile(cache, {});
    if (!source)
        GTEST_SKIP() << source.error().message;
    const Result<ptx::Compiled> compiled = ptx::compile(cache, program_of(std::string(source->ptx())));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    EXPECT_FALSE(compiled->failed()) << compiled->log();
    EXPECT_TRUE(is_cubin(compiled->cubin()));
}

TEST_F(NvJitLink, takes_lto_ir)
{
    Cache cache = open();
    const Result<nvrtc::Compiled> source = nvrtc_compile(cache, {"-dlto"});
    if (!source)
        GTEST_SKIP() << source.error().message;
    ptx::Program program = program_of(std::string(as_text(source->lto_ir())));
    program.input = ptx::Input::lto_ir;
    const Result<ptx::Compiled> compiled = ptx::compile(cache, program);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    EXPECT_FALSE(compiled->failed()) << compiled->log();
    EXPECT_TRUE(is_cubin(compiled->cubin()));

    program.options = {"-ptx"};
    const Result<ptx::Compiled> as_ptx = ptx::compile(cache, program);
    ASSERT_TRUE(as_ptx.ok()) << as_ptx.error().message;
    EXPECT_NE(as_ptx->ptx().find(".entry"), std::string_view::npos) << as_ptx->log();
}

TEST_F(NvJitLink, an_option_it_does_not_know_is_its_own_to_refuse)
{
    Cache cache = open();
    ptx::Program program = program_of(ptx_text());
    program.options = {"-no-such-option"};
    const Result<ptx::Compiled> compiled = ptx::compile(cache, program);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    EXPECT_TRUE(compiled->failed());
    EXPECT_NE(compiled->log().find("-no-such-option"), std::string::npos) << compiled->log();
}

TEST_F(NvJitLink, times_are_never_answered_from_the_cache)
{
    Cache cache = open();
    ptx::Program program = program_of(ptx_text());
    program.options = {"-time"};
    for (int i = 0; i < 2; ++i) {
        const Result<ptx::Compiled> compiled = ptx::compile(cache, program);
        ASSERT_TRUE(compiled.ok()) << compiled.error().message;
        EXPECT_EQ(compiled->outcome(), ptx::Outcome::past_the_cache);
        EXPECT_NE(compiled->reason().find("-time"), std::string::npos);
    }
    EXPECT_EQ(cache.stats().compiles, 2U);
    EXPECT_EQ(cache.stats().stores, 0U);
}

}  // namespace

}  // namespace hearth::test
