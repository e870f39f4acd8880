// A GPU that CUDA_VISIBLE_DEVICES hides: a program of its own, since a driver that is loaded stays.

#include "hearth/hearth.hpp"
#include "support/sample_entries.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

class HiddenGpu : public testing::Test {
protected:
    void SetUp() override
    {
        ASSERT_NE(::dlopen(HEARTH_NO_DEVICE_CUDA, RTLD_NOW | RTLD_LOCAL), nullptr) << ::dlerror();
        ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
    }
};

TEST_F(HiddenGpu, is_reported_with_what_hides_it)
{
    const std::string missing = device::backends().front().missing;
    EXPECT_NE(missing.find("There is no CUDA device here: cuInit gives"), std::string::npos) << missing;
    EXPECT_NE(missing.find("CUDA_VISIBLE_DEVICES is \"\", and what it does not name is hidden"), std::string::npos)
        << missing;
}

TEST_F(HiddenGpu, has_no_kernels)
{
    Cache cache = Cache::open({.tiers = {memory(1_MiB)}, .maintenance = Maintenance::by_hand}).value();
    const std::string ptx = ".version 7.0";
    for (const Error& error : {cuda::get_or_load(cache, ptx, "k").error(),
                               cuda::Kernel(cache, ptx::Program{.text = ptx}, "k").warm().error()})
        EXPECT_NE(error.message.find("CUDA_VISIBLE_DEVICES is \"\""), std::string::npos) << error.message;
}

TEST_F(HiddenGpu, is_replaced_by_host_memory_that_says_why)
{
    CacheOptions options;
    options.tiers = {vram({.backend = device::Backend::cuda, .max_bytes = 1_MiB})};
    options.maintenance = Maintenance::by_hand;
    Cache cache = Cache::open(options).value();
    const Key key = numbered_key(1);
    ASSERT_TRUE(cache.vram().insert(key, sample_bytes(key, 100)).ok());
    EXPECT_EQ(as_text(cache.vram().read(key)->bytes()), sample_bytes(key, 100).text());
    const device::Report report = *cache.vram().report();
    EXPECT_EQ(report.backend, device::Backend::host);
    EXPECT_NE(report.fallback.find("CUDA_VISIBLE_DEVICES"), std::string::npos) << report.fallback;
}

}  // namespace

}  // namespace hearth::test
