#include "gpu_test.hpp"
#include "hearth/admin.hpp"
#include "support/in_threads.hpp"
#include "support/open_cache.hpp"
#include "watch/manifest.hpp"

// Code that is given, and code that the driver will not take (48, 49).

namespace hearth::test {

namespace {

using cuda::Kernel;
using Floats = std::vector<float>;

class KernelImage : public GpuTest {
protected:
    // Puts `image` into the cache as the result of compiling the program.
    static void store(Cache& cache, const nvrtc::Program& program, ByteView image)
    {
        const Key key = nvrtc::explain(cache, program).value().key;
        Artifact artifact;
        artifact.sections.push_back({"cubin", Bytes::copy_of(image)});
        artifact.sections.push_back({"hearth.conditions", watch::encode_conditions({})});
        ASSERT_TRUE(cache.insert(key, std::move(artifact)));
    }
    nvrtc::Program program(const char* source)
    {
        return {.source = source, .target = gpu::target_of_device(0).value()};
    }
};

TEST_F(KernelImage, two_ptx_texts_are_two_functions_and_one_text_is_one_module)
{
    const Kernel plus_one = Kernel::from_image(ptx_of("plus_one", "add.f32 %f2, %f1, 0f3F800000;"), "plus_one");
    const Kernel twice = Kernel::from_image(ptx_of("twice", "mul.f32 %f2, %f1, 0f40000000;"), "twice");
    EXPECT_EQ(run(plus_one, 5), Floats{6});
    EXPECT_EQ(run(twice, 5), Floats{10});
    EXPECT_NE(plus_one.function().value(), twice.function().value());
    EXPECT_EQ(run(Kernel::from_image(ptx_of("plus_one", "add.f32 %f2, %f1, 0f3F800000;"), "plus_one"), 5), Floats{6});
    EXPECT_EQ(stats().loads, 2U);
}

TEST_F(KernelImage, invalid_ptx_gives_the_drivers_log)
{
    const Kernel kernel = Kernel::from_image(ptx_of("wrong", "frobnicate.f32 %f2, %f1;"), "wrong");
    const Status warm = kernel.warm();
    ASSERT_FALSE(warm.ok());
    EXPECT_EQ(warm.error().code, Code::other_version);
    EXPECT_NE(warm.error().message.find("CUDA_ERROR_INVALID_PTX"), std::string::npos) << warm.error().message;
    EXPECT_NE(warm.error().log.find("frobnicate"), std::string::npos) << warm.error().log;
    EXPECT_EQ(stats().rejected, 1U);
}

TEST_F(KernelImage, the_bytes_of_a_cubin_are_taken_as_they_are)
{
    Cache cache = open();
    const nvrtc::Compiled compiled = nvrtc::compile(cache, program(k_copy_and_neg)).value();
    // At an odd address, as a slice of something larger may lie.
    std::vector<std::byte> moved(compiled.cubin().size() + 1);
    std::copy(compiled.cubin().begin(), compiled.cubin().end(), moved.begin() + 1);
    const Kernel kernel = Kernel::from_image(ByteView(moved).subspan(1), "neg");
    EXPECT_EQ(map(kernel, {2, -3}), (Floats{-2, 3}));
}

TEST_F(KernelImage, a_stored_image_that_is_rejected_is_compiled_again_once)
{
    for (const std::string& garbage : {std::string("this is no cubin"), "\x7f" + std::string("ELF, but no more")}) {
        SCOPED_TRACE(garbage);
        Cache cache = open();
        admin::clear(cache);
        const cuda::ModuleStats before = stats();
        store(cache, program(k_add), as_bytes(garbage));
        const Kernel kernel(cache, program(k_add), "add");
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(add(kernel, {1, 2, 3}, {4, 5, 6}), (Floats{5, 7, 9}));
        EXPECT_EQ(stats().rejected - before.rejected, 1U);
        EXPECT_EQ(stats().loads - before.loads, 1U);
        EXPECT_EQ(cache.stats().compiles, 1U);
        // And what is stored now is good.
        EXPECT_EQ(nvrtc::compile(cache, program(k_add)).value().outcome(), nvrtc::Outcome::hit);
        cuda::evict_module(nvrtc::explain(cache, program(k_add)).value().key);
    }
}

TEST_F(KernelImage, a_rejected_image_that_cannot_be_removed_does_no_harm_either)
{
    {
        Cache cache = open();
        store(cache, program(k_add), as_bytes("this is no cubin"));
        cache.flush();
    }
    Cache cache = open_cache(m_scratch / "cache", {.memory_bytes = 0, .access = Access::read_only});
    const Kernel kernel(cache, program(k_add), "add");
    EXPECT_EQ(add(kernel, {1, 2, 3}, {4, 5, 6}), (Floats{5, 7, 9}));
    EXPECT_EQ(stats().rejected, 1U);
    EXPECT_EQ(stats().loads, 1U);
}

TEST_F(KernelImage, code_for_another_device_under_our_key_is_compiled_again)
{
    Cache cache = open();
    nvrtc::Program other = program(k_scale);
    const std::string name = "math::scale<float, 4>";
    other.name_expressions = {name};
    nvrtc::Program ours = other;
    other.target = ours.target == "sm_80" ? "sm_90" : "sm_80";
    const nvrtc::Compiled foreign = nvrtc::compile(cache, other).value();
    store(cache, ours, foreign.cubin());
    const Kernel kernel(cache, ours, name);
    in_threads(16, [&](std::uint64_t) {
        EXPECT_EQ(m_driver->set_current(m_context), 0);
        EXPECT_EQ(map(kernel, {1, 2}), (Floats{4, 8}));
    });
    EXPECT_EQ(stats().rejected, 1U);
    EXPECT_EQ(cache.stats().compiles, 2U) << "the other device's and ours, once";
}

}  // namespace

}  // namespace hearth::test
