#include "gpu_test.hpp"

#include <deque>

// After a preload nothing is missed (52).

namespace hearth::test {

namespace {

using cuda::Kernel;
using cuda::PreloadReport;
using Floats = std::vector<float>;

class KernelPreload : public GpuTest {
protected:
    static constexpr int k_programs = 12;

    static std::vector<nvrtc::Program> programs()
    {
        std::vector<nvrtc::Program> all;
        for (int i = 1; i <= k_programs; ++i)
            all.push_back({.source = "extern \"C\" __global__ void times(const float* in, float* out, int n) { if "
                                     "(threadIdx.x < n) out[threadIdx.x] = in[threadIdx.x] * " +
                                     std::to_string(i) + "; }"});
        return all;
    }
    void use_all(Cache& cache)
    {
        const std::vector<nvrtc::Program> all = programs();
        for (int i = 0; i < k_programs; ++i)
            EXPECT_EQ(map(Kernel(cache, all[static_cast<std::size_t>(i)], "times"), {1, 2}),
                      (Floats{static_cast<float>(i + 1), static_cast<float>(2 * (i + 1))}));
    }
    static void expect_all_loaded(const PreloadReport& report)
    {
        EXPECT_EQ(report.loaded, static_cast<std::uint64_t>(k_programs));
        EXPECT_TRUE(report.problems.empty()) << report.problems[0];
    }
    void expect_no_misses(Cache& cache)
    {
        const std::uint64_t loads = stats().loads;
        const std::uint64_t misses = cache.stats().misses_in_all();
        const std::uint64_t makes = cache.stats().compiles;
        use_all(cache);
        EXPECT_EQ(stats().loads, loads);
        EXPECT_EQ(cache.stats().misses_in_all(), misses);
        EXPECT_EQ(cache.stats().compiles, makes);
    }
};

TEST_F(KernelPreload, of_programs)
{
    Cache cache = open();
    expect_all_loaded(cuda::preload(cache, programs(), {.threads = 4}));
    EXPECT_EQ(stats().loads, static_cast<std::uint64_t>(k_programs));
    expect_no_misses(cache);
}

TEST_F(KernelPreload, of_kernels)
{
    Cache cache = open();
    std::deque<Kernel> kernels;
    std::vector<const Kernel*> list;
    for (const nvrtc::Program& program : programs())
        list.push_back(&kernels.emplace_back(cache, program, "times"));
    expect_all_loaded(cuda::preload(list));
    expect_no_misses(cache);
}

TEST_F(KernelPreload, of_what_was_used_most)
{
    {
        Cache cache = open();
        use_all(cache);
        use_all(cache);
        // Something that is no code, and was used once.
        ASSERT_TRUE(cache.insert(Key::of("other", 1), Artifact(std::string_view("no code"))));
        EXPECT_TRUE(cache.find(Key::of("other", 1)));
        cache.flush();
    }
    cuda::unload_unused_modules();
    Cache cache = open();
    expect_all_loaded(cuda::preload_hottest(cache, k_programs + 1));
    EXPECT_EQ(cache.stats().lookups(), 0U) << "a preload is no use";
    expect_no_misses(cache);
}

}  // namespace

}  // namespace hearth::test
