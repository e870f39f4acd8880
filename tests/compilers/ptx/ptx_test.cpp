// What the linkers make of PTX.

#include "ptx_test.hpp"

#include "hearth/nvrtc.hpp"

namespace hearth::test {

namespace {

class NvJitLink : public PtxTest {
protected:
    void SetUp() override { skip_without(ptx::Linker::nvjitlink); }
    void skip_without(ptx::Linker linker)
    {
        if (const std::string why = why_not_there(linker); !why.empty())
            GTEST_SKIP() << why;
    }
    ptx::Compiled compile(const ptx::Program& program, ptx::Linker linker = ptx::Linker::nvjitlink)
    {
        Result<ptx::Compiled> compiled = ptx::compile(m_cache, program, {.linker = linker});
        if (!compiled)
            throw std::runtime_error(compiled.error().message);
        return *std::move(compiled);
    }

    Cache m_cache = open();
};

class PtxLinkers : public NvJitLink, public testing::WithParamInterface<ptx::Linker> {
protected:
    void SetUp() override { skip_without(GetParam()); }
    ptx::Compiled compile(const ptx::Program& program) { return NvJitLink::compile(program, GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(, PtxLinkers, testing::Values(ptx::Linker::nvjitlink, ptx::Linker::driver),
                         [](const testing::TestParamInfo<ptx::Linker>& linker) {
                             return linker.param == ptx::Linker::driver ? "driver" : "nvjitlink";
                         });

TEST_P(PtxLinkers, ptx_becomes_a_cubin_once_and_what_the_linker_tells_is_told_again)
{
    ptx::Program program = program_of(ptx_text());
    program.options = {"-verbose"};
    const ptx::Compiled first = compile(program);
    EXPECT_FALSE(first.failed()) << first.log();
    EXPECT_EQ(first.outcome(), ptx::Outcome::compiled);
    EXPECT_EQ(first.reason(), "absent");
    EXPECT_TRUE(is_cubin(first.cubin()));
    EXPECT_NE(first.log().find("registers"), std::string::npos) << first.log();
    EXPECT_EQ(first.artifact().metadata.label, "store.ptx");
    EXPECT_EQ(first.artifact().metadata.target, "sm_90");

    const ptx::Compiled second = compile(program);
    EXPECT_EQ(second.outcome(), ptx::Outcome::hit);
    EXPECT_EQ(as_text(second.cubin()), as_text(first.cubin()));
    EXPECT_EQ(second.log(), first.log());
    EXPECT_EQ(m_cache.stats().compiles, 1U);
    EXPECT_EQ(m_cache.stats().hits, 1U);
}

// That it is remembered is in the conformance suite.
TEST_P(PtxLinkers, invalid_ptx_and_what_is_none_fail_with_the_linkers_own_log)
{
    std::string text = ptx_text();
    text.replace(text.find("ret;"), 4, "rett;");
    for (const auto& [wrong, told] : {std::pair(text, "rett"), std::pair(std::string("this is no PTX\n"), "")}) {
        const ptx::Compiled compiled = compile(program_of(wrong));
        EXPECT_TRUE(compiled.failed());
        EXPECT_NE(compiled.status(), 0);
        EXPECT_TRUE(compiled.cubin().empty());
        EXPECT_FALSE(compiled.log().empty());
        EXPECT_NE(compiled.log().find(told), std::string::npos) << compiled.log();
    }
}

TEST_F(NvJitLink, takes_the_ptx_and_the_lto_ir_that_nvrtc_gives)
{
    nvrtc::Program source{.source = "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n", .target = "sm_90"};
    const Result<nvrtc::Compiled> in_ptx = nvrtc::compile(m_cache, source);
    if (!in_ptx)
        GTEST_SKIP() << in_ptx.error().message;
    source.options = {"-dlto"};
    const Result<nvrtc::Compiled> in_lto_ir = nvrtc::compile(m_cache, source);
    ASSERT_TRUE(in_lto_ir.ok()) << in_lto_ir.error().message;
    ptx::Program program = program_of(std::string(as_text(in_lto_ir->lto_ir())));
    program.input = ptx::Input::lto_ir;
    for (const ptx::Program& one : {program_of(std::string(in_ptx->ptx())), program}) {
        const ptx::Compiled compiled = compile(one);
        EXPECT_FALSE(compiled.failed()) << compiled.log();
        EXPECT_TRUE(is_cubin(compiled.cubin()));
    }
    program.options = {"-ptx"};
    const ptx::Compiled to_ptx = compile(program);
    EXPECT_NE(to_ptx.ptx().find(".entry"), std::string_view::npos) << to_ptx.log();
}

TEST_F(NvJitLink, an_option_it_does_not_know_is_its_own_to_refuse)
{
    ptx::Program program = program_of(ptx_text());
    program.options = {"-no-such-option"};
    const ptx::Compiled compiled = compile(program);
    EXPECT_TRUE(compiled.failed());
    EXPECT_NE(compiled.log().find("-no-such-option"), std::string::npos) << compiled.log();
}

TEST_F(NvJitLink, times_are_never_answered_from_the_cache)
{
    ptx::Program program = program_of(ptx_text());
    program.options = {"-time"};
    for (int i = 0; i < 2; ++i) {
        const ptx::Compiled compiled = compile(program);
        EXPECT_EQ(compiled.outcome(), ptx::Outcome::past_the_cache);
        EXPECT_NE(compiled.reason().find("-time"), std::string::npos);
    }
    EXPECT_EQ(m_cache.stats().compiles, 2U);
    EXPECT_EQ(m_cache.stats().stores, 0U);
}

}  // namespace

}  // namespace hearth::test
