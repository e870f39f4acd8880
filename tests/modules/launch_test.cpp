// What reaches the driver of a launch, and what does not.

#include "fake_cuda.hpp"
#include "modules/loaded_function.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

namespace {

std::vector<std::uint64_t> g_launched;  // the sizes of the last launch, grid first; empty: there was none

class Launches : public testing::Test {
protected:
    Launches()
    {
        g_launched.clear();
        m_driver.launch = [](CUfunc_st*, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned, CUstream_st*, void**, void**) {
            g_launched = {gx, gy, gz, bx, by, bz};
            return gpu::cuda::k_success;
        };
        m_function.driver = &m_driver;
        m_function.name = "fill";
    }
    std::string refusal(const cuda::LaunchConfig& config)
    {
        const Status status = m_function.launch(config, {});
        return status.ok() ? "" : status.error().message;
    }

    FakeCuda m_cuda;
    gpu::CudaDriver m_driver = m_cuda.driver();
    cuda::LoadedFunction m_function;
};

TEST_F(Launches, sizes_reach_the_driver_as_they_are)
{
    EXPECT_EQ(refusal({.grid = {0x7fffffffU, 2, 3L}, .block = {std::uint8_t{4}, 5, 6}}), "");
    EXPECT_EQ(g_launched, (std::vector<std::uint64_t>{0x7fffffff, 2, 3, 4, 5, 6}));
}

TEST_F(Launches, a_size_that_no_device_has_is_refused_with_its_value_and_the_limit)
{
    const std::string many = refusal({.grid = (std::uint64_t{1} << 32U) + 7, .block = 256});
    EXPECT_NE(many.find("a grid of 4294967303 in x, and no device takes more than 2147483647"), std::string::npos)
        << many;
    EXPECT_NE(refusal({.grid = {1, -3}, .block = 256}).find("a grid of -3 in y"), std::string::npos);
    EXPECT_NE(refusal({.grid = 1, .block = {1, 1, 1LL << 40U}}).find("a block of 1099511627776 in z"),
              std::string::npos);
    EXPECT_NE(refusal({.grid = ~std::uint64_t{0}, .block = 1}), "") << "which is not -1";
    EXPECT_TRUE(g_launched.empty()) << "7 blocks would be wrong";
}

// What the driver was asked for, in order. Inside a capture only the launch itself is allowed.
std::vector<std::string> g_calls;

class FoundFunctions : public testing::Test {
protected:
    FoundFunctions()
    {
        g_calls.clear();
        FakeCuda::make_current(m_context);
        m_driver.function = [](CUfunc_st** function, CUmod_st*, const char*) {
            g_calls.emplace_back("cuModuleGetFunction");
            *function = reinterpret_cast<CUfunc_st*>(std::uintptr_t{16});
            return 0;
        };
        m_driver.load_function = [](CUfunc_st*) { return g_calls.emplace_back("cuFuncLoad"), 0; };
        m_driver.function_attribute = [](int* value, int, CUfunc_st*) {
            return g_calls.emplace_back("cuFuncGetAttribute"), *value = 0, 0;
        };
        m_driver.current_device = [](int* device) { return *device = 0, 0; };
        m_driver.device_attribute = [](int* value, int, int) { return *value = 1024, 0; };
        m_driver.launch = [](CUfunc_st*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             CUstream_st*, void**, void**) { return g_calls.emplace_back("cuLaunchKernel"), 0; };
    }
    std::shared_ptr<const cuda::LoadedFunction> find()
    {
        cuda::ModuleLease module =
            m_table.get(m_driver, m_context, Key::of("module", 1), as_bytes(std::string("image"))).value();
        return cuda::LoadedFunction::find(m_driver, std::move(module), "fill", "fill").value();
    }

    FakeCuda m_cuda;
    gpu::CudaDriver m_driver = m_cuda.driver();
    gpu::CudaContext m_context = m_cuda.make_context(1);
    cuda::ModuleTable m_table;
};

TEST_F(FoundFunctions, have_their_code_before_they_are_launched_also_where_the_driver_has_no_cuFuncLoad)
{
    for (const bool has_load : {true, false}) {
        if (!has_load)
            m_driver.load_function = nullptr;
        g_calls.clear();
        const std::shared_ptr<const cuda::LoadedFunction> function = find();
        ASSERT_GE(g_calls.size(), 2U);
        EXPECT_EQ(g_calls[0], "cuModuleGetFunction") << "it loads the code before 12.4";
        EXPECT_EQ(g_calls[1] == "cuFuncLoad", has_load);
        g_calls.clear();
        ASSERT_TRUE(function->launch({.grid = 1, .block = 1}, {}).ok());
        EXPECT_EQ(g_calls, std::vector<std::string>{"cuLaunchKernel"}) << "all that a capture allows";
    }
}

}  // namespace

}  // namespace hearth::test
