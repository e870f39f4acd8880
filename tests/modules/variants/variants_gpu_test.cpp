// 54: hot kernels made faster while they run, on a GPU.

#include "hearth/variants.hpp"
#include "modules/gpu_test.hpp"

#include <thread>

namespace hearth::test {

namespace {

using namespace hearth::cuda;

// All variants compute the same; the more WORK, in cycles, the longer it takes.
constexpr const char* k_squares = R"(
#ifndef WORK
#define WORK 200000
#endif
extern "C" __global__ void squares(float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (const long long start = clock64(); clock64() - start < WORK;)
        ;
    if (i < n)
        out[i] += i * 2.0f;
})";

Variant with_work(const std::string& work)
{
    return {.name = work, .options = {"-DWORK=" + work}};
}

}  // namespace

class VariantsOnGpu : public GpuTest {
protected:
    void SetUp() override
    {
        GpuTest::SetUp();
        if (m_driver == nullptr)
            return;
        ASSERT_EQ(m_driver->create_stream(&m_stream, 1), 0);
    }
    void TearDown() override
    {
        if (m_stream != nullptr)
            m_driver->destroy_stream(m_stream);
        GpuTest::TearDown();
    }

    LaunchConfig config() const { return {.grid = 8, .block = 128, .stream = m_stream}; }
    // Launches until it is settled. Every launch has to have run exactly once, whichever variant it was.
    int run_until_settled(const Kernel& kernel)
    {
        const DeviceFloats out(m_cuda, std::vector<float>(1024));
        int launches = 0;
        while (launches < 50'000 && (kernel.variants().empty() || kernel.variants().back().winner.empty())) {
            const Status launched = kernel.launch(config(), out.pointer(), 1024);
            EXPECT_TRUE(launched.ok()) << launched.error().message << launched.error().log;
            ++launches;
            if (launches % 16 == 0)
                m_driver->finish_stream(m_stream);  // as a program does that uses its results
        }
        m_driver->finish_stream(m_stream);
        const std::vector<float> result = out.read();
        for (int i = 0; i < 1024; i += 341)
            EXPECT_EQ(result[i], static_cast<float>(i) * 2 * static_cast<float>(launches));
        return launches;
    }

    CUstream_st* m_stream = nullptr;
};

TEST_F(VariantsOnGpu, the_faster_variant_wins_every_launch_runs_once_and_the_next_start_has_the_winner)
{
    const Variants variants{.others = {with_work("300000"), with_work("10")}, .after_launches = 5};
    {
        Cache cache = open();
        const Kernel kernel(cache, {.source = k_squares}, "squares", variants);
        run_until_settled(kernel);
        const VariantRecord record = kernel.variants().at(0);
        EXPECT_EQ(record.winner, "10");
        EXPECT_LT(record.variants.at(2).highest, 0.5);
        EXPECT_GT(record.launches, 5U);
        EXPECT_NE(record.device, "");
        EXPECT_NE(record.driver.find('.'), std::string::npos) << record.driver;
    }
    unload_unused_modules();
    Cache cache = open();
    const Kernel kernel(cache, {.source = k_squares}, "squares", variants);
    const DeviceFloats out(m_cuda, std::vector<float>(1024));
    ASSERT_TRUE(kernel.launch(config(), out.pointer(), 1024).ok());
    EXPECT_EQ(kernel.variants().at(0).winner, "10") << "from its first launch on";
    EXPECT_EQ(cache.stats().compiles, 0U);
}

TEST_F(VariantsOnGpu, a_constant_from_a_run_time_value_is_compiled_in_for_that_value_only)
{
    Cache cache = open();
    const char* const source = R"(
extern "C" __global__ void mark(float* out, int n)
{
#ifdef N
    out[threadIdx.x] = N * 1000 + (N == n);
#else
    for (const long long start = clock64(); clock64() - start < 200000;)
        ;
    out[threadIdx.x] = n;
#endif
})";
    const Kernel kernel(cache, {.source = source}, "mark",
                        Variants{.others = {specialise({{"N", 1}})}, .after_launches = 2});
    const DeviceFloats out(m_cuda, std::vector<float>(32));
    const auto value_with = [&](int n) {
        EXPECT_TRUE(kernel.launch({.grid = 1, .block = 32, .stream = m_stream}, out.pointer(), n).ok());
        m_driver->finish_stream(m_stream);
        return out.read()[0];
    };
    for (int i = 0; i < 20'000 && value_with(7) != 7001; ++i)
        if (i > 10)
            std::this_thread::sleep_for(std::chrono::microseconds(200));
    for (int i = 0; i < 20'000 && kernel.variants().at(0).winner.empty(); ++i)
        value_with(7);
    EXPECT_EQ(value_with(7), 7001) << "seven is compiled in";
    EXPECT_EQ(value_with(9), 9) << "and is not used for nine";
}

TEST_F(VariantsOnGpu, captures_go_on_undisturbed_and_hold_the_program_as_it_is)
{
    Cache cache = open();
    const Kernel kernel(cache, {.source = k_squares}, "squares",
                        Variants{.others = {with_work("10")}, .after_launches = 1});
    const DeviceFloats out(m_cuda, std::vector<float>(1024));
    const auto launch = [&] { EXPECT_TRUE(kernel.launch(config(), out.pointer(), 1024).ok()); };
    launch();  // the variants are compiled and loaded while the stream is captured
    constexpr int k_global = 0;
    ASSERT_EQ(m_cuda.begin_capture(m_stream, k_global), 0);
    for (int i = 0; i < 50; ++i) {
        launch();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CUgraph_st* graph = nullptr;
    ASSERT_EQ(m_cuda.end_capture(m_stream, &graph), 0) << "the capture was not ended by what was loaded beside it";
    CUgraphExec_st* executable = nullptr;
    ASSERT_EQ(m_cuda.instantiate(&executable, graph, 0), 0);
    EXPECT_EQ(m_cuda.launch_graph(executable, m_stream), 0);
    for (int i = 0; i < 200; ++i)
        launch();
    EXPECT_EQ(m_driver->finish_stream(m_stream), 0);
    EXPECT_EQ(kernel.variants().at(0).variants.at(0).launches, 0U) << "nothing is timed beside a live graph";
    EXPECT_EQ(out.read()[1], 2.0F * (1 + 50 + 200));
    m_cuda.destroy_executable(executable);
    m_cuda.destroy_graph(graph);
}

TEST_F(VariantsOnGpu, a_context_that_ends_in_the_middle_takes_nothing_with_it)
{
    Cache cache = open();
    const Kernel kernel(cache, {.source = k_squares}, "squares",
                        Variants{.others = {with_work("10")}, .after_launches = 2});
    CUctx_st* const other = make_context();
    {
        unsigned long long memory = 0;
        ASSERT_EQ(m_cuda.allocate(&memory, 4096), 0);
        for (int i = 0; i < 30; ++i)
            EXPECT_TRUE(kernel.launch({.grid = 8, .block = 128}, memory, 1024).ok());
    }
    destroy_context(other);
    ASSERT_EQ(m_driver->set_current(m_context), 0);
    run_until_settled(kernel);
    EXPECT_EQ(kernel.variants().back().winner, "10");
}

}  // namespace hearth::test
