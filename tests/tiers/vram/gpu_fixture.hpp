#pragma once

#include "gpu/cuda/cuda_context.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

// The primary context of GPU 0 is current on the test's thread. Without a GPU the test skips itself.
class GpuFixture : public testing::Test {
protected:
    void SetUp() override
    {
        const Result<const gpu::CudaDriver*> driver = gpu::cuda_driver();
        if (!driver)
            GTEST_SKIP() << driver.error().message;
        m_driver = *driver;
        ASSERT_EQ(m_driver->primary_retain(&m_context, 0), 0);
        ASSERT_EQ(m_driver->set_current(m_context), 0);
    }
    void TearDown() override
    {
        if (m_driver == nullptr)
            return;
        m_driver->set_current(nullptr);
        m_driver->primary_release(0);
    }
    std::uint64_t free_bytes() const
    {
        std::size_t free = 0;
        std::size_t total = 0;
        EXPECT_EQ(m_driver->memory_info(&free, &total), 0);
        return free;
    }

    const gpu::CudaDriver* m_driver = nullptr;
    CUctx_st* m_context = nullptr;
    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
};

}  // namespace hearth::test
