// A GPU that CUDA_VISIBLE_DEVICES hides: a program of its own, since a driver that is loaded stays.

#include "hearth/hearth.hpp"
#include "support/open_cache.hpp"
#include "support/sample_entries.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

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
    Cache cache = open_cache("", {.tiers = {memory(1_MiB)}});
    const std::string ptx = ".version 7.0";
    const nvrtc::Program program{.source = "extern \"C\" __global__ void k() {}", .target = "sm_90"};
    for (const Error& error : {cuda::get_or_load(cache, ptx, "k").error(),
                               cuda::Kernel(cache, ptx::Program{.text = ptx}, "k").warm().error(),
                               cuda::Kernel(cache, program, "k").warm().error()})
        EXPECT_NE(error.message.find("CUDA_VISIBLE_DEVICES is \"\""), std::string::npos) << error.message;
}

// What a program sees of its device memory, call by call, whatever it lies in.
std::vector<std::string> seen_through(device::Backend backend)
{
    CacheOptions options;
    options.tiers = {vram({.backend = backend, .max_bytes = 100'000, .partitions = {{"ir", 10'000}}})};
    options.policy = lru();
    Cache cache = open_cache("", options);
    const Vram vram = cache.vram();
    std::vector<std::string> seen;
    const auto say = [&](const auto& result) {
        seen.push_back(result.ok() ? "ok" : "error " + std::to_string(static_cast<int>(result.error().code)));
    };
    for (std::uint64_t i = 0; i < 20; ++i)
        say(vram.insert(numbered_key(i), sample_bytes(numbered_key(i), 9000), {.partition = i % 5 == 0 ? "ir" : ""}));
    say(vram.insert(numbered_key(50), sample_bytes(numbered_key(50), 200'000)));
    say(vram.insert(numbered_key(51), sample_bytes(numbered_key(51), 10), {.partition = "none"}));
    std::vector<Key> keys;
    for (std::uint64_t i = 0; i < 22; ++i) {
        keys.push_back(numbered_key(i));
        const device::Lease lease = vram.lease(keys.back());
        seen.push_back(std::to_string(lease.size()) + (lease.lost() ? " lost" : ""));
        const Result<device::HostCopy> copy = vram.read(keys.back());
        say(copy);
        if (copy)
            seen.emplace_back(as_text(copy->bytes()));
        seen.emplace_back(to_string(cache.find(keys.back()).why()));
    }
    seen.push_back(std::to_string(vram.read_many(keys)->found()));
    say(vram.load(numbered_key(60)));
    say(vram.copy_to_device(keys[19], 1));
    seen.push_back(std::to_string(vram.give_back(UINT64_MAX).value()));
    say(vram.insert(keys[0], sample_bytes(keys[0], 10)));
    say(vram.trim());
    seen.emplace_back(as_text(vram.read(keys[0])->bytes()));
    return seen;
}

// Capability 59.
TEST_F(HiddenGpu, same_calls_give_the_same_results_from_host_memory_and_the_mode_is_reported)
{
    const std::vector<std::string> host = seen_through(device::Backend::host);
    EXPECT_EQ(seen_through(device::Backend::cuda), host);

    Cache cache = open_cache("", {.tiers = {vram({.backend = device::Backend::cuda, .max_bytes = 1_MiB})}});
    ASSERT_TRUE(cache.vram().insert(numbered_key(1), sample_bytes(numbered_key(1), 100)).ok());
    const device::Report report = *cache.vram().report();
    EXPECT_EQ(report.backend, device::Backend::host);
    EXPECT_NE(report.fallback.find("CUDA_VISIBLE_DEVICES"), std::string::npos) << report.fallback;
    ASSERT_EQ(report.devices.size(), 1U);
    EXPECT_EQ(report.devices[0].backend, device::Backend::host);
    EXPECT_FALSE(report.devices[0].gpu);
    const std::string note = cache.stats().tiers[0].note;
    EXPECT_TRUE(note.starts_with("host: ")) << note;
    EXPECT_NE(note.find("CUDA_VISIBLE_DEVICES"), std::string::npos) << note;
}

}  // namespace

}  // namespace hearth::test
