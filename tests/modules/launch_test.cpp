// What reaches the driver of a launch, and what does not.

#include "fake_cuda.hpp"
#include "modules/loaded_function.hpp"
#include "support/in_threads.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <vector>

namespace hearth::test {

namespace {

std::mutex g_mutex;                     // guards the next two
std::vector<std::uint64_t> g_launched;  // the sizes of the last launch, grid first; empty: there was none
std::vector<std::string> g_calls;       // what the driver was asked for, in order
std::atomic<bool> g_tells{true};        // whether it told
constexpr int k_static_bytes = 1024;
constexpr int k_most_bytes = 4096;

int note(const char* call)
{
    const std::lock_guard lock(g_mutex);
    g_calls.emplace_back(call);
    return gpu::cuda::k_success;
}

int told(const char* call, int* value, int number)
{
    note(call);
    *value = number;
    return g_tells ? gpu::cuda::k_success : gpu::cuda::k_invalid_context;
}

class Launches : public testing::Test {
protected:
    Launches()
    {
        g_launched.clear();
        g_calls.clear();
        g_tells = true;
        FakeCuda::make_current(m_context);
        m_driver.function = [](CUfunc_st** function, CUmod_st*, const char*) {
            *function = reinterpret_cast<CUfunc_st*>(std::uintptr_t{16});
            return note("cuModuleGetFunction");
        };
        m_driver.load_function = [](CUfunc_st*) { return note("cuFuncLoad"); };
        m_driver.function_attribute = [](int* value, int attribute, CUfunc_st*) {
            return told("cuFuncGetAttribute", value,
                        attribute == gpu::cuda::k_static_shared_bytes ? k_static_bytes : 0);
        };
        m_driver.current_device = [](int* device) { return told("cuCtxGetDevice", device, 0); };
        m_driver.device_attribute = [](int* value, int, int) {
            return told("cuDeviceGetAttribute", value, k_most_bytes);
        };
        m_driver.launch = [](CUfunc_st*, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned, CUstream_st*, void**, void**) {
            const std::lock_guard lock(g_mutex);
            g_launched = {gx, gy, gz, bx, by, bz};
            g_calls.emplace_back("cuLaunchKernel");
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

    // The kernel of a module that is loaded for it.
    std::shared_ptr<const cuda::LoadedFunction> find(int module_number = 1)
    {
        cuda::ModuleLease module =
            m_table.get(m_driver, m_context, Key::of("module", module_number), as_bytes("image")).value();
        return cuda::LoadedFunction::find(m_driver, std::move(module), "fill", "fill").value();
    }

    FakeCuda m_cuda;
    gpu::CudaDriver m_driver = m_cuda.driver();
    gpu::CudaContext m_context = m_cuda.make_context(1);
    cuda::ModuleTable m_table;
    cuda::LoadedFunction m_function;  // without a module
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

TEST_F(Launches, more_shared_memory_than_there_is_beside_the_kernels_own_is_refused)
{
    EXPECT_EQ(refusal({.grid = 1, .block = 1, .shared_bytes = k_most_bytes - k_static_bytes + 1}),
              "Kernel \"fill\" is launched with 3073 bytes of dynamic shared memory, and this device has 3072 for it. "
              "Lower shared_bytes.");
    EXPECT_TRUE(g_launched.empty());
}

TEST_F(Launches, a_driver_that_does_not_tell_is_asked_again_next_time)
{
    g_tells = false;
    EXPECT_NE(refusal({.grid = 1, .block = 1}).find("does not tell what kernel \"fill\" needs"), std::string::npos);
    EXPECT_TRUE(g_launched.empty());
    g_tells = true;
    EXPECT_EQ(refusal({.grid = 1, .block = 1}), "");
}

TEST_F(Launches, threads_that_launch_first_at_once_agree)
{
    std::atomic<int> launched{0};
    in_threads(4, [&](std::uint64_t) { launched += m_function.launch({.grid = 1, .block = 1}, {}).ok() ? 1 : 0; });
    EXPECT_EQ(launched, 4);
    const cuda::LaunchFacts* const known = m_function.facts;
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(known->most_shared_bytes, static_cast<std::uint32_t>(k_most_bytes - k_static_bytes));
}

TEST_F(Launches, what_only_a_launch_needs_is_asked_at_the_first_one)
{
    m_driver.parameter_info = [](CUfunc_st*, std::size_t index, std::size_t*, std::size_t* size) {
        *size = 8;
        note("cuFuncGetParamInfo");
        return index < 1 ? gpu::cuda::k_success : gpu::cuda::k_invalid_value;
    };
    const std::shared_ptr<const cuda::LoadedFunction> found = find();
    g_calls.clear();
    const Status none = found->launch({.grid = 1, .block = 1}, {});
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().message, "Kernel \"fill\" takes 1 arguments and was given 0. Give each one it declares.");
    EXPECT_EQ(g_calls.size(), 6U)
        << "two of the function, two of its device, one for its argument, and whether there is another";
    g_calls.clear();
    std::uint64_t value = 0;
    const cuda::Argument argument{&value, sizeof value};
    EXPECT_TRUE(found->launch({.grid = 1, .block = 1}, {&argument, 1}).ok());
    EXPECT_EQ(g_calls, std::vector<std::string>{"cuLaunchKernel"}) << "once for all launches";
}

// Inside a capture only the launch itself is allowed, and questions.
TEST_F(Launches, a_found_function_has_its_code_before_it_is_launched_also_where_the_driver_has_no_cuFuncLoad)
{
    using Calls = std::vector<std::string>;
    for (const bool has_load : {true, false}) {
        if (!has_load)
            m_driver.load_function = nullptr;
        g_calls.clear();
        const std::shared_ptr<const cuda::LoadedFunction> found = find(has_load ? 1 : 2);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(found->function), 16U);
        EXPECT_EQ(g_calls, has_load ? (Calls{"cuModuleGetFunction", "cuFuncLoad"}) : Calls{"cuModuleGetFunction"})
            << "the first loads the code before 12.4; a program that launches by itself needs no more";
        g_calls.clear();
        ASSERT_TRUE(found->launch({.grid = 1, .block = 1}, {}).ok());
        EXPECT_EQ(g_calls, (Calls{"cuFuncGetAttribute", "cuFuncGetAttribute", "cuCtxGetDevice", "cuDeviceGetAttribute",
                                  "cuLaunchKernel"}));
    }
}

}  // namespace

}  // namespace hearth::test
