#include "gpu_test.hpp"

// PTX to a function, through the cache (48), on the real driver; what needs none is in ptx_module_test.cpp.

namespace hearth::test {

namespace {

using cuda::get_or_load;
using cuda::Kernel;
using cuda::Loaded;
using Floats = std::vector<float>;

class PtxKernel : public GpuTest {
protected:
    using GpuTest::run;
    Floats run(const Result<Loaded>& loaded, float value)
    {
        EXPECT_TRUE(loaded) << loaded.error().message << '\n' << loaded.error().log;
        return loaded ? run(*loaded, value) : Floats{};
    }
    // Launches inside a capture, then the graph.
    Floats captured(const Kernel& kernel, float value)
    {
        const DeviceFloats x(m_cuda, {value});
        EXPECT_EQ(GpuTest::captured(0,
                                    [&](CUstream_st* stream) {
                                        return kernel.launch({.grid = 1, .block = 1, .stream = stream}, x.pointer());
                                    }),
                  0);
        return x.read();
    }

    const std::string m_plus_one = ptx_of("plus_one", "add.f32 %f2, %f1, 0f3F800000;");
    const std::string m_twice = ptx_of("twice", "mul.f32 %f2, %f1, 0f40000000;");
    const std::string m_bad = ptx_of("wrong", "frobnicate.f32 %f2, %f1;");
};

TEST_F(PtxKernel, ptx_text_becomes_a_function_and_is_compiled_once_for_all_processes)
{
    {
        Cache cache = open();
        const Kernel plus_one(cache, ptx::Program{.text = m_plus_one}, "plus_one");
        const Kernel twice(cache, ptx::Program{.text = m_twice}, "twice");
        EXPECT_EQ(plus_one.name(), "plus_one");
        EXPECT_EQ(stats().loads, 0U) << "nothing happens until it is used";
        EXPECT_EQ(run(plus_one, 5), Floats{6});
        EXPECT_EQ(run(twice, 5), Floats{10});
        EXPECT_EQ(cache.stats().compiles, 2U);
        cache.flush();
    }
    cuda::unload_unused_modules();
    // As the next process finds it: nothing in memory, no module loaded.
    Cache cache = open();
    EXPECT_EQ(run(Kernel(cache, ptx::Program{.text = m_plus_one}, "plus_one"), 5), Floats{6});
    EXPECT_EQ(run(get_or_load(cache, m_twice, "twice"), 5), Floats{10});
    EXPECT_EQ(cache.stats().compiles, 0U);
    EXPECT_EQ(cache.stats().hits, 2U);
    EXPECT_EQ(stats().loads, 4U);
}

TEST_F(PtxKernel, get_or_load_asks_no_tier_once_it_is_loaded)
{
    Cache cache = open();
    EXPECT_EQ(run(get_or_load(cache, m_plus_one, "plus_one"), 5), Floats{6});
    const std::uint64_t lookups = cache.stats().lookups();
    const cuda::Function function = get_or_load(cache, m_plus_one, "plus_one").value().function();
    for (float value = 0; value < 5; ++value) {
        const Loaded loaded = get_or_load(cache, std::string(m_plus_one), "plus_one").value();
        EXPECT_EQ(loaded.function(), function);
        EXPECT_EQ(run(loaded, value), Floats{value + 1});
    }
    EXPECT_EQ(cache.stats().lookups(), lookups);
    EXPECT_EQ(stats().loads, 1U);
    EXPECT_EQ(stats().hits, 6U);
}

TEST_F(PtxKernel, without_nvjitlink_the_driver_compiles_it_once)
{
    const ptx::Program program{.text = m_plus_one};
    const ptx::CompileOptions by_driver{.linker = ptx::Linker::driver};
    for (const bool first : {true, false}) {
        Cache cache = open();
        EXPECT_EQ(run(get_or_load(cache, program, "plus_one", by_driver), 5), Floats{6});
        EXPECT_EQ(run(Kernel(cache, program, "plus_one", by_driver), 6), Floats{7});
        const ptx::Program here{.text = m_plus_one, .target = "device"};
        if (const auto compiled = ptx::compile(cache, here, by_driver).value();
            compiled.outcome() == ptx::Outcome::past_the_cache)
            GTEST_SKIP() << "This driver's results are not kept: " << compiled.reason();
        EXPECT_EQ(cache.stats().compiles, first ? 1U : 0U);
        cache.flush();
        cuda::unload_unused_modules();
    }
    EXPECT_EQ(stats().loads, 2U);
}

// As with PTX that is newer than the nvJitLink that is installed.
TEST_F(PtxKernel, what_nvjitlink_refuses_the_driver_may_take)
{
    Cache cache = open();
    const ptx::Program program{.text = m_twice, .options = {"-O4"}};
    EXPECT_EQ(run(get_or_load(cache, program, "twice"), 5), Floats{10});
    const Result<Loaded> refused = get_or_load(cache, program, "twice", {.linker = ptx::Linker::nvjitlink});
    ASSERT_FALSE(refused) << "or this nvJitLink knows -O4, and shows nothing here";
}

TEST_F(PtxKernel, of_this_chip_alone_is_compiled_for_it)
{
    const std::string target = gpu::target_of_device(0).value();
    if (target != "sm_90" && target != "sm_100")
        GTEST_SKIP() << "PTX for " << target << "a alone is not known here.";
    Cache cache = open();
    const std::string text =
        ptx_of("twice", "mul.f32 %f2, %f1, 0f40000000;",
               (target == "sm_90" ? ".version 8.0\n.target " : ".version 8.6\n.target ") + target + "a");
    EXPECT_EQ(run(get_or_load(cache, text, "twice"), 5), Floats{10});
    EXPECT_EQ(run(Kernel(cache, ptx::Program{.text = text}, "twice", {.linker = ptx::Linker::driver}), 5), Floats{10});
}

TEST_F(PtxKernel, what_is_loaded_and_compiled_inside_a_capture_does_not_break_it)
{
    Cache cache = open();
    const Kernel plus_one(cache, ptx::Program{.text = m_plus_one}, "plus_one");
    EXPECT_EQ(captured(plus_one, 5), Floats{6});
    const Kernel by_driver(cache, ptx::Program{.text = m_twice}, "twice", {.linker = ptx::Linker::driver});
    EXPECT_EQ(captured(by_driver, 5), Floats{10});
}

TEST_F(PtxKernel, preloaded_ptx_is_found_loaded)
{
    Cache cache = open();
    const ptx::Program programs[] = {{.text = m_plus_one}, {.text = m_twice}, {.text = m_bad}};
    const cuda::PreloadReport report = cuda::preload(cache, programs);
    EXPECT_EQ(report.loaded, 2U);
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_NE(report.problems[0].find("does not compile"), std::string::npos) << report.problems[0];
    const std::uint64_t lookups = cache.stats().lookups();
    EXPECT_EQ(run(get_or_load(cache, m_plus_one, "plus_one"), 5), Floats{6});
    EXPECT_EQ(run(Kernel(cache, programs[1], "twice"), 5), Floats{10});
    EXPECT_EQ(cache.stats().lookups(), lookups);
    EXPECT_EQ(stats().loads, 2U);
}

}  // namespace

}  // namespace hearth::test
