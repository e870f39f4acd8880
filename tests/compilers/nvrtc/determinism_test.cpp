#include "nvrtc_fixture.hpp"

namespace hearth::test {

namespace {

// What a hit gives is what NVRTC gives without Hearth, byte for byte, over the kernels of the demo.
class NvrtcDeterminism : public NvrtcTest,
                         public ::testing::WithParamInterface<std::tuple<std::string, std::vector<std::string>>> {};

TEST_P(NvrtcDeterminism, cold_and_warm_are_what_nvrtc_gives)
{
    const auto& [file, options] = GetParam();
    nvrtc::Program program;
    program.name = std::string(HEARTH_DEMO_KERNELS) + "/" + file;
    program.source = read_file(program.name);
    program.options = options;
    program.options.emplace_back("-std=c++17");
    program.target = "sm_90";
    if (file == "gemm.cu")
        program.name_expressions = {"gemm<4>", "gemm<8>", "gemm<16>", "gemm<32>"};
    const nvrtc::Compiled cold = compile(program);
    ASSERT_FALSE(cold.failed()) << cold.log();
    expect_as_bare(cold, program);
    m_cache.emplace(open());
    const nvrtc::Compiled warm = compile(program);
    EXPECT_EQ(warm.outcome(), nvrtc::Outcome::hit);
    EXPECT_EQ(warm.artifact().sections, cold.artifact().sections);
    EXPECT_EQ(warm.log(), cold.log());
    for (const std::string& expression : program.name_expressions)
        EXPECT_TRUE(warm.lowered_name(expression)) << expression;
}

const std::vector<std::vector<std::string>> k_options{
    {}, {"-lineinfo"}, {"-G"}, {"--use_fast_math", "-maxrregcount=32"}, {"-dlto"}, {"-rdc=true"}};

INSTANTIATE_TEST_SUITE_P(demo_kernels, NvrtcDeterminism,
                         ::testing::Combine(::testing::Values("vector_add.cu", "gemm.cu", "reduce.cu", "softmax.cu",
                                                              "scan.cu"),
                                            ::testing::ValuesIn(k_options)));

}  // namespace

}  // namespace hearth::test
