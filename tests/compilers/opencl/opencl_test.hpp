#pragma once

#include "hearth/opencl.hpp"
#include "sample.hpp"
#include "support/isolated_environment.hpp"
#include "support/open_cache.hpp"
#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>
#include <optional>

namespace hearth::test {

// A context on the first device, and caches in a directory of the test's own. Skips where there is no OpenCL.
class OpenClTest : public testing::Test {
protected:
    OpenClTest()
    {
        // PoCL has a cache of its own, which would answer in the place of ours. It reads these when it is first used
        // and then keeps to them, so the place lasts as long as the process.
        static const ScratchDirectory pocl;
        m_environment.set("POCL_KERNEL_CACHE", "0");
        m_environment.set("POCL_CACHE_DIR", pocl.path());
    }
    void SetUp() override
    {
        const Result<opencl::Device> device = opencl::find_device(device_of_tests());
        if (!device)
            GTEST_SKIP() << device.error().message;
        m_context = opencl::Context::open(*device).value();
        m_cache.emplace(open());
    }
    Cache open(CacheOptions options = {}) const { return open_cache(m_scratch / "cache", std::move(options)); }
    const opencl::Context& context() const { return *m_context; }
    opencl::Program build(Cache& cache, const opencl::Source& source = saxpy_source()) const
    {
        Result<opencl::Program> built = opencl::build(cache, context(), source);
        EXPECT_TRUE(built.ok()) << (built.ok() ? "" : built.error().message);
        return *std::move(built);
    }
    opencl::Program build(const opencl::Source& source = saxpy_source()) { return build(*m_cache, source); }
    opencl::Buffer buffer_of_ints(std::size_t count) const { return context().buffer(count * sizeof(int)).value(); }

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
    std::optional<Cache> m_cache;
    std::optional<opencl::Context> m_context;
};

}  // namespace hearth::test
