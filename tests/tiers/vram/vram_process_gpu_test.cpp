// What is tried in a process of its own, since a driver that was misused, or told to hide its devices, stays so.

#include "gpu/cuda/cuda_driver.hpp"
#include "support/process.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <string>

namespace hearth::test {

namespace {

// What vram_worker.cpp says, a word after each name.
class VramProcess : public testing::Test {
protected:
    void run(const std::string& backend, int resets, const std::optional<std::string>& visible_devices = {})
    {
        ProcessOptions options{.environment = {}, .limit = std::chrono::seconds(200)};
        if (visible_devices)
            options.environment["CUDA_VISIBLE_DEVICES"] = visible_devices;
        m_result = run_process({HEARTH_VRAM_WORKER, backend, std::to_string(resets)}, options);
        EXPECT_FALSE(m_result.timed_out) << "it hangs";
        EXPECT_EQ(m_result.signal, 0) << m_result.err;
    }
    std::string word_after(const std::string& name) const
    {
        const std::size_t at = m_result.out.find(name + ' ');
        if (at == std::string::npos)
            return {};
        const std::size_t start = at + name.size() + 1;
        return m_result.out.substr(start, m_result.out.find_first_of(" \n:", start) - start);
    }

    ProcessResult m_result;
};

TEST_F(VramProcess, a_device_that_is_reset_under_load_gives_misses_and_never_a_wrong_byte_and_recovers)
{
    if (const Result<const gpu::CudaDriver*> driver = gpu::cuda_driver(); !driver)
        GTEST_SKIP() << driver.error().message;
    run("cuda", 10);
    EXPECT_EQ(m_result.exit_code, 0) << m_result.out << m_result.err;
    EXPECT_EQ(word_after("resets"), "10");
    EXPECT_EQ(word_after("wrong"), "0");
    EXPECT_EQ(word_after("stale"), "0") << "leases of a context that is gone say so";
    EXPECT_NE(word_after("lost"), "0") << "none was held over a reset: nothing was tried";
    EXPECT_EQ(word_after("cuda"), "cuda") << "it is used again";
}

// Capability 59, with the driver that is here.
TEST_F(VramProcess, a_gpu_hidden_by_cuda_visible_devices_gives_the_same_results_from_the_host_and_says_so)
{
    run("cuda", 0, "");
    EXPECT_EQ(m_result.exit_code, 0) << m_result.out << m_result.err;
    EXPECT_EQ(word_after("cuda"), "host");
    const bool has_gpu = gpu::cuda_driver().ok();
    if (has_gpu) {
        EXPECT_NE(m_result.out.find("CUDA_VISIBLE_DEVICES is \"\""), std::string::npos) << m_result.out;
    }
    run("cuda", 0);
    EXPECT_EQ(m_result.exit_code, 0) << m_result.out << m_result.err;
    EXPECT_EQ(word_after("cuda"), has_gpu ? "cuda" : "host");
}

}  // namespace

}  // namespace hearth::test
