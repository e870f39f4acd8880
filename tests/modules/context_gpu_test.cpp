#include "gpu_test.hpp"

#include <thread>

// No handle is used in a context it was not loaded in, and none after its context (5).

namespace hearth::test {

namespace {

using cuda::Kernel;
using cuda::Loaded;
using Floats = std::vector<float>;

class KernelContext : public GpuTest {
protected:
    // Through a lease, in whatever context it is of; memory comes from that context.
    Floats negated(const Loaded& loaded)
    {
        const DeviceFloats in(m_cuda, {2, -3});
        const DeviceFloats out(m_cuda, {0, 0});
        const Status launched = loaded.launch({.grid = 1, .block = 2}, in.pointer(), out.pointer(), 2);
        EXPECT_TRUE(launched.ok()) << launched.error().message;
        return out.read();
    }
};

TEST_F(KernelContext, destroyed_and_made_again_it_gets_a_module_of_its_own)
{
    Cache cache = open();
    const Kernel kernel(cache, {.source = k_add}, "add");
    for (std::uint64_t round = 1; round <= 5; ++round) {
        EXPECT_EQ(add(kernel, {1, 2, 3}, {4, 5, 6}), (Floats{5, 7, 9}));
        EXPECT_EQ(stats().loads, round);
        EXPECT_EQ(stats().loaded, 1U);
        destroy_context(m_context);
        m_context = make_context();
    }
    EXPECT_EQ(cache.stats().compiles, 1U);
    EXPECT_EQ(stats().unloads, 0U);
}

TEST_F(KernelContext, a_primary_context_that_was_reset_gets_a_module_of_its_own)
{
    Cache cache = open();
    const Kernel kernel(cache, {.source = k_add}, "add");
    CUctx_st* primary = nullptr;
    for (std::uint64_t round = 1; round <= 3; ++round) {
        ASSERT_EQ(m_driver->primary_retain(&primary, 0), 0);
        ASSERT_EQ(m_driver->set_current(primary), 0);
        EXPECT_EQ(add(kernel, {1, 2, 3}, {4, 5, 6}), (Floats{5, 7, 9}));
        EXPECT_EQ(stats().loads, round);
        ASSERT_EQ(m_cuda.reset_primary(0), 0);
    }
    EXPECT_EQ(m_driver->set_current(m_context), 0);
    EXPECT_EQ(add(kernel, {1, 2, 3}, {4, 5, 6}), (Floats{5, 7, 9}));
    EXPECT_EQ(stats().loaded, 1U) << "those of the contexts that are gone are off the books";
}

TEST_F(KernelContext, a_primary_context_that_was_released_gets_a_module_of_its_own)
{
    Cache cache = open();
    const Kernel kernel(cache, {.source = k_copy_and_neg}, "neg");
    for (int round = 0; round < 3; ++round) {
        const Loaded loaded = kernel.on(0).value();
        CUctx_st* primary = nullptr;
        ASSERT_EQ(m_driver->primary_retain(&primary, 0), 0);
        ASSERT_EQ(m_driver->push_current(primary), 0);
        EXPECT_EQ(negated(loaded), (Floats{-2, 3}));
        ASSERT_EQ(m_driver->pop_current(&primary), 0);
        ASSERT_EQ(m_driver->primary_release(0), 0);
    }
}

TEST_F(KernelContext, two_contexts_of_a_thread_have_a_function_each)
{
    Cache cache = open();
    const Kernel kernel(cache, {.source = k_add}, "add");
    const cuda::Function first = kernel.function().value();
    CUctx_st* other = make_context();
    const cuda::Function second = kernel.function().value();
    EXPECT_NE(first, second);
    EXPECT_EQ(add(kernel, {1}, {2}), Floats{3});
    ASSERT_EQ(m_driver->set_current(m_context), 0);
    EXPECT_EQ(kernel.function().value(), first);
    EXPECT_EQ(add(kernel, {1}, {2}), Floats{3});
    EXPECT_EQ(stats().loads, 2U);
    ASSERT_EQ(m_driver->set_current(other), 0);
    destroy_context(other);
    ASSERT_EQ(m_driver->set_current(m_context), 0);
}

TEST_F(KernelContext, a_lease_outlives_its_kernel_and_launches_in_its_own_context_whichever_is_current)
{
    Cache cache = open();
    Loaded loaded = Kernel(cache, {.source = k_copy_and_neg}, "neg").bind().value();
    cuda::unload_unused_modules();
    EXPECT_TRUE(loaded.alive());
    const DeviceFloats in(m_cuda, {2, -3});
    const DeviceFloats out(m_cuda, {0, 0});
    std::thread([&] {
        EXPECT_TRUE(loaded.launch({.grid = 1, .block = 2}, in.pointer(), out.pointer(), 2).ok());
        CUctx_st* current = nullptr;
        EXPECT_EQ(m_driver->current_context(&current), 0);
        EXPECT_EQ(current, nullptr) << "and leaves the thread as it was";
    }).join();
    EXPECT_EQ(out.read(), (Floats{-2, 3}));
    EXPECT_EQ(stats().unloads, 0U);
    loaded = {};
    cuda::unload_unused_modules();
    EXPECT_EQ(stats().unloads, 1U);
}

TEST_F(KernelContext, a_lease_of_a_dead_context_says_so_and_ends_quietly)
{
    Cache cache = open();
    Loaded loaded = Kernel(cache, {.source = k_copy_and_neg}, "neg").bind().value();
    EXPECT_TRUE(loaded.alive());
    destroy_context(m_context);
    m_context = nullptr;
    EXPECT_FALSE(loaded.alive());
    const Status launched = loaded.launch({.grid = 1, .block = 2}, loaded.function(), loaded.function(), 2);
    ASSERT_FALSE(launched.ok());
    EXPECT_NE(launched.error().message.find("is gone"), std::string::npos) << launched.error().message;
    loaded = {};
    cuda::unload_unused_modules();
    EXPECT_EQ(stats().unloads, 0U);
    EXPECT_EQ(stats().lost, 1U);
    EXPECT_EQ(stats().loaded, 0U);
}

TEST_F(KernelContext, without_a_context_the_error_says_what_to_do)
{
    Cache cache = open();
    const Kernel kernel(cache, {.source = k_add}, "add");
    ASSERT_TRUE(kernel.warm().ok());
    const std::string text = ptx_of("twice", "mul.f32 %f2, %f1, 0f40000000;");
    ASSERT_TRUE(cuda::get_or_load(cache, text, "twice"));
    std::thread([&] {
        for (const Error& error : {kernel.warm().error(), cuda::get_or_load(cache, text, "twice").error()}) {
            EXPECT_EQ(error.code, Code::unavailable);
            EXPECT_NE(error.message.find("No CUDA context is current on this thread"), std::string::npos)
                << error.message;
        }
    }).join();
    const Result<Loaded> nowhere = kernel.on(1000);
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, Code::invalid_argument);
    EXPECT_NE(nowhere.error().message.find("Device 1000"), std::string::npos) << nowhere.error().message;
}

}  // namespace

}  // namespace hearth::test
