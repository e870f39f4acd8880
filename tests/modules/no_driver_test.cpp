#include "gpu/cuda/cuda_driver.hpp"
#include "hearth/cuda.hpp"
#include "support/open_cache.hpp"

#include <gtest/gtest.h>

// Without a driver or a GPU every door gives a clear error and nothing crashes.

namespace hearth::test {

namespace {

class NoDriver : public testing::Test {
protected:
    void SetUp() override
    {
        if (gpu::cuda_driver())
            GTEST_SKIP() << "This machine has a GPU; what is shown without one is shown elsewhere.";
    }
    static Cache open() { return open_cache("", {.tiers = {memory(1_MiB)}}); }
    static void expect_unavailable(const Error& error)
    {
        EXPECT_EQ(error.code, Code::unavailable);
        EXPECT_NE(error.message.find("There is no CUDA device here"), std::string::npos) << error.message;
    }
    const nvrtc::Program m_program{.source = "extern \"C\" __global__ void nothing() {}"};
};

TEST_F(NoDriver, a_kernel_gives_an_error_at_every_use)
{
    Cache cache = open();
    const cuda::Kernel kernel(cache, m_program, "nothing");
    EXPECT_EQ(kernel.name(), "nothing");
    for (int i = 0; i < 2; ++i) {
        expect_unavailable(kernel.function().error());
        expect_unavailable(kernel.warm().error());
        expect_unavailable(kernel.bind().error());
        expect_unavailable(kernel.on(0).error());
        expect_unavailable(kernel.launch({.grid = 1, .block = 1}, 1, 2.0F).error());
    }
    EXPECT_EQ(cache.stats().lookups(), 0U) << "and nothing was looked up for it";
}

TEST_F(NoDriver, an_image_gives_an_error_too)
{
    const cuda::Kernel kernel = cuda::Kernel::from_image(".version 7.0", "nothing");
    expect_unavailable(kernel.function().error());
}

TEST_F(NoDriver, ptx_gives_an_error_and_is_not_compiled)
{
    Cache cache = open();
    const ptx::Program program{.text = ".version 7.0"};
    const cuda::Kernel kernel(cache, program, "nothing");
    expect_unavailable(kernel.function().error());
    expect_unavailable(cuda::get_or_load(cache, program.text, "nothing").error());
    expect_unavailable(cuda::get_or_load(cache, program, "nothing").error());
    EXPECT_EQ(cuda::preload(cache, std::span(&program, 1)).problems.size(), 1U);
    EXPECT_EQ(cache.stats().lookups(), 0U);
}

TEST_F(NoDriver, preloading_says_why_it_loads_nothing)
{
    Cache cache = open();
    const cuda::Kernel kernel(cache, m_program, "nothing");
    const cuda::Kernel* const kernels[] = {&kernel};
    const cuda::PreloadReport reports[] = {cuda::preload(kernels), cuda::preload(cache, std::span(&m_program, 1)),
                                           cuda::preload_hottest(cache, 10)};
    for (const cuda::PreloadReport& report : reports) {
        EXPECT_EQ(report.loaded, 0U);
        ASSERT_EQ(report.problems.size(), 1U);
        EXPECT_NE(report.problems[0].find("There is no CUDA device here"), std::string::npos);
    }
}

TEST_F(NoDriver, the_table_of_modules_is_empty_and_can_be_asked)
{
    cuda::set_module_limits({});
    cuda::evict_module(Key{});
    cuda::unload_unused_modules();
    EXPECT_EQ(cuda::module_stats().loaded, 0U);
}

TEST_F(NoDriver, an_empty_handle_says_where_to_get_one)
{
    const cuda::Loaded empty;
    EXPECT_EQ(empty.function(), nullptr);
    EXPECT_FALSE(empty.alive());
    EXPECT_EQ(empty.launch({}).error().code, Code::invalid_argument);
}

}  // namespace

}  // namespace hearth::test
