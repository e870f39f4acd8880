#include "base/shared_library.hpp"
#include "gpu_test.hpp"
#include "modules/loaded_function.hpp"
#include "support/in_threads.hpp"

// Kernels compiled, loaded and launched on this machine's GPU (4, 23, 45, 47, 50).

namespace hearth::test {

namespace {

using cuda::Kernel;
using Floats = std::vector<float>;

class KernelGpu : public GpuTest {};

TEST_F(KernelGpu, a_template_is_found_by_its_expression_on_a_hit_too)
{
    const std::string name = "math::scale<float, 3>";
    {
        Cache cache = open();
        EXPECT_EQ(map(Kernel(cache, {.source = k_scale}, name), {1, 2}), (Floats{3, 6}));
        EXPECT_EQ(cache.stats().compiles, 1U);
        cache.flush();
    }
    cuda::unload_unused_modules();
    Cache cache = open();
    EXPECT_EQ(map(Kernel(cache, {.source = k_scale}, name), {1, 2}), (Floats{3, 6}));
    EXPECT_EQ(cache.stats().compiles, 0U);
    EXPECT_EQ(map(Kernel(cache, {.source = k_scale}, "math::scale<float, -1>"), {1, 2}), (Floats{-1, -2}));
}

TEST_F(KernelGpu, beyond_the_budget_what_nobody_holds_is_unloaded)
{
    Cache cache = open();
    cuda::set_module_limits({.max_modules = 1, .max_bytes = 0});
    const Kernel held(cache, {.source = k_add}, "add");
    EXPECT_EQ(add(held, {1}, {2}), Floats{3});
    for (const char* factor : {"2", "5", "7"}) {
        const Kernel kernel(cache, {.source = k_scale}, "math::scale<float, " + std::string(factor) + ">");
        EXPECT_EQ(map(kernel, {1}), Floats{std::stof(factor)});
        EXPECT_EQ(stats().loaded, 2U);
    }
    EXPECT_EQ(stats().loaded, 1U);
    EXPECT_EQ(stats().unloads, 3U);
    EXPECT_EQ(add(held, {1}, {2}), Floats{3});
    EXPECT_EQ(stats().loads, 4U);
}

class KernelCapture : public GpuTest {
protected:
    // Launches `neg` inside a capture, then the graph.
    Floats captured(const Kernel& kernel)
    {
        const DeviceFloats in(m_cuda, {2, -3});
        const DeviceFloats out(m_cuda, {0, 0});
        EXPECT_EQ(GpuTest::captured(0,
                                    [&](CUstream_st* stream) {
                                        return kernel.launch({.grid = 1, .block = 2, .stream = stream}, in.pointer(),
                                                             out.pointer(), 2);
                                    }),
                  0);
        return out.read();
    }
};

TEST_F(KernelCapture, a_warm_kernel_is_captured_and_even_one_that_is_loaded_inside_the_capture_does_not_break_it)
{
    Cache cache = open();
    const Kernel kernel(cache, {.source = k_copy_and_neg}, "neg");
    for (const char* const when : {"loaded inside", "warm"}) {
        EXPECT_EQ(captured(kernel), (Floats{-2, 3})) << when;
        EXPECT_EQ(stats().loads, 1U) << when;
    }
}

// Drivers 12.0 to 12.3 have no cuFuncLoad. Here it is hidden from Hearth, and every module is a new one.
TEST_F(KernelCapture, a_kernel_that_was_found_without_cuFuncLoad_is_captured_in_every_mode)
{
    const std::string neg = ptx_of("neg", "neg.f32 %f2, %f1;");
    gpu::CudaDriver older = *m_driver;
    older.load_function = nullptr;
    const base::SharedLibrary library = base::SharedLibrary::load("libcuda.so.1").value();
    auto* const state_of = library.find<int(int*, CUfunc_st*)>("cuFuncIsLoaded");  // 12.4
    for (const int mode : {0, 1, 2}) {                                             // global, of the thread, relaxed
        cuda::ModuleTable table;
        {
            cuda::ModuleLease module =
                table.get(older, gpu::current_context(older).value(), Key::of("neg", mode), as_bytes(neg)).value();
            const auto function = cuda::LoadedFunction::find(older, std::move(module), "neg", "neg").value();
            if (int state = -1; state_of != nullptr && state_of(&state, function->function) == 0)
                RecordProperty("loaded_before_the_launch_in_mode_" + std::to_string(mode), state);
            const DeviceFloats x(m_cuda, {7});
            float* const pointer = x.pointer();
            const cuda::Argument argument{&pointer, sizeof pointer};
            EXPECT_EQ(GpuTest::captured(
                          mode,
                          [&](CUstream_st* stream) {
                              return function->launch({.grid = 1, .block = 1, .stream = stream}, {&argument, 1});
                          }),
                      0);
            EXPECT_EQ(x.read(), Floats{-7}) << mode;
        }
        table.unload_unused();
    }
}

TEST_F(KernelGpu, an_argument_of_a_wrong_size_is_an_error_that_names_it)
{
    if (m_driver->parameter_info == nullptr)
        GTEST_SKIP() << "This driver is older than 12.4 and cannot tell what arguments a kernel takes.";
    Cache cache = open();
    const Kernel kernel(cache, {.source = k_add}, "add");
    const DeviceFloats any(m_cuda, {1});
    const Status launched =
        kernel.launch({.grid = 1, .block = 1}, any.pointer(), any.pointer(), any.pointer(), std::size_t{1});
    ASSERT_FALSE(launched.ok());
    EXPECT_EQ(launched.error().code, Code::invalid_argument);
    EXPECT_NE(launched.error().message.find("Argument 4 of kernel \"add\" has 4 bytes and was given as 8"),
              std::string::npos)
        << launched.error().message;
    EXPECT_EQ(add(kernel, {1}, {2}), Floats{3}) << "and nothing is broken";
}

TEST_F(KernelGpu, an_entry_that_is_not_there_is_named_with_what_there_is)
{
    Cache cache = open();
    const Kernel kernel(cache, {.source = k_copy_and_neg}, "invert");
    const Status warm = kernel.warm();
    ASSERT_FALSE(warm.ok());
    EXPECT_EQ(warm.error().code, Code::not_found);
    EXPECT_NE(warm.error().message.find("no kernel \"invert\""), std::string::npos) << warm.error().message;
    EXPECT_NE(warm.error().message.find("extern \"C\""), std::string::npos) << warm.error().message;
    if (m_driver->list_functions != nullptr) {
        EXPECT_NE(warm.error().message.find("copy"), std::string::npos) << warm.error().message;
        EXPECT_NE(warm.error().message.find("neg"), std::string::npos) << warm.error().message;
    }
}

TEST_F(KernelGpu, a_program_that_does_not_compile_gives_its_log)
{
    Cache cache = open();
    const Kernel kernel(cache, {.source = "__global__ void broken( {}"}, "broken");
    const Status warm = kernel.warm();
    ASSERT_FALSE(warm.ok());
    EXPECT_EQ(warm.error().code, Code::compile_failed);
    EXPECT_NE(warm.error().log.find("error"), std::string::npos) << warm.error().log;
}

TEST_F(KernelGpu, dynamic_shared_memory_goes_beyond_the_default)
{
    Cache cache = open();
    const Kernel kernel(cache, {.source = R"(
extern "C" __global__ void last(float* out, int n)
{
    extern __shared__ float numbers[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        numbers[i] = i;
    __syncthreads();
    if (threadIdx.x == 0)
        *out = numbers[n - 1];
})"},
                        "last");
    for (const std::uint32_t bytes : {std::uint32_t{16384}, std::uint32_t{65536}, std::uint32_t{90112}}) {
        const DeviceFloats out(m_cuda, {0});
        const int count = static_cast<int>(bytes / sizeof(float));
        const Status launched = kernel.launch({.grid = 1, .block = 256, .shared_bytes = bytes}, out.pointer(), count);
        ASSERT_TRUE(launched.ok()) << launched.error().message;
        EXPECT_EQ(out.read(), Floats{static_cast<float>(count - 1)});
    }
}

TEST_F(KernelGpu, sixteen_threads_that_ask_at_once_compile_and_load_once)
{
    Cache cache = open();
    const Kernel kernel(cache, {.source = k_add}, "add");
    EXPECT_EQ(stats().loads, 0U) << "nothing happens until it is used";
    in_threads(16, [&](std::uint64_t) {
        EXPECT_EQ(m_driver->set_current(m_context), 0);
        for (int i = 0; i < 50; ++i)
            EXPECT_EQ(add(kernel, {1, 2, 3}, {4, 5, 6}), (Floats{5, 7, 9}));
    });
    EXPECT_EQ(stats().loads, 1U);
    EXPECT_EQ(cache.stats().compiles, 1U);
}

}  // namespace

}  // namespace hearth::test
