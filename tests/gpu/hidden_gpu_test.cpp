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
    static constexpr const char* k_hidden = "There is no CUDA device here: cuInit gives";
    static void expect_hidden(const Error& error)
    {
        EXPECT_EQ(error.code, Code::unavailable);
        EXPECT_NE(error.message.find(k_hidden), std::string::npos) << error.message;
    }
};

TEST_F(HiddenGpu, is_reported_with_what_hides_it)
{
    const std::string missing = device::backends().front().missing;
    EXPECT_NE(missing.find(k_hidden), std::string::npos) << missing;
    EXPECT_NE(missing.find("CUDA_VISIBLE_DEVICES is \"\", and what it does not name is hidden"), std::string::npos)
        << missing;
}

// Every door to a kernel gives a clear error at every use, and nothing is looked up or compiled for it.
TEST_F(HiddenGpu, has_no_kernels)
{
    Cache cache = open_cache("", {.tiers = {memory(1_MiB)}});
    const ptx::Program text{.text = ".version 7.0"};
    const nvrtc::Program source{.source = "extern \"C\" __global__ void k() {}"};
    const cuda::Kernel kernels[] = {{cache, source, "k"}, {cache, text, "k"}, cuda::Kernel::from_image(text.text, "k")};
    for (const cuda::Kernel& kernel : kernels) {
        EXPECT_EQ(kernel.name(), "k");
        for (int i = 0; i < 2; ++i) {
            expect_hidden(kernel.function().error());
            expect_hidden(kernel.warm().error());
            expect_hidden(kernel.bind().error());
            expect_hidden(kernel.on(0).error());
            expect_hidden(kernel.launch({.grid = 1, .block = 1}, 1, 2.0F).error());
        }
    }
    expect_hidden(cuda::get_or_load(cache, text.text, "k").error());
    expect_hidden(cuda::get_or_load(cache, text, "k").error());
    const cuda::Kernel* const first[] = {&kernels[0]};
    for (const cuda::PreloadReport& report :
         {cuda::preload(first), cuda::preload(cache, std::span(&source, 1)), cuda::preload(cache, std::span(&text, 1)),
          cuda::preload_hottest(cache, 10)}) {
        EXPECT_EQ(report.loaded, 0U);
        ASSERT_EQ(report.problems.size(), 1U);
        EXPECT_NE(report.problems[0].find(k_hidden), std::string::npos) << report.problems[0];
    }
    EXPECT_EQ(cache.stats().lookups(), 0U);
}

TEST_F(HiddenGpu, has_no_modules_and_they_can_be_asked_about)
{
    cuda::set_module_limits({});
    cuda::evict_module(Key{});
    cuda::unload_unused_modules();
    EXPECT_EQ(cuda::module_stats().loaded, 0U);
    const cuda::Loaded empty;
    EXPECT_EQ(empty.function(), nullptr);
    EXPECT_FALSE(empty.alive());
    EXPECT_EQ(empty.launch({}).error().code, Code::invalid_argument);
}

// What a program sees of its device memory, call by call, whatever it lies in.
std::vector<std::string> seen_through(device::Backend backend)
{
    const VramOptions options{.backend = backend, .max_bytes = 100'000, .partitions = {{"ir", 10'000}}};
    Cache cache = open_cache("", {.tiers = {vram(options)}, .policy = lru()});
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

    std::string said;
    const auto log = [&](LogLevel, std::string_view message) { said += message; };
    Cache cache = open_cache("", {.tiers = {vram({.backend = device::Backend::cuda, .max_bytes = 1_MiB})}, .log = log});
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
    EXPECT_NE(said.find("host memory"), std::string::npos) << said;
}

}  // namespace

}  // namespace hearth::test
