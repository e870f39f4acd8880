// The same through each OpenCL that may be here, NVIDIA's among them: a kernel is compiled in a process of its own,
// within a time limit, since a compiler of somebody else's may hang. The next process gets it from the cache.

#include "hearth/opencl.hpp"
#include "support/isolated_environment.hpp"
#include "support/process.hpp"
#include "support/scratch_directory.hpp"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

namespace hearth::test {

namespace {

// As it was before this process asked for a platform. The loader that comes with CUDA then cuts the list off at its
// first colon, in the environment itself, and a process started later would see that one platform only.
const std::optional<std::string> g_icd_files = [] {
    const char* const files = std::getenv("OCL_ICD_FILENAMES");
    return files ? std::optional<std::string>(files) : std::nullopt;
}();

struct Platform {
    const char* name;  // of the test
    const char* part;  // of the platform's name
};

void PrintTo(const Platform& platform, std::ostream* out)
{
    *out << platform.name;
}

class OpenClPlatform : public testing::TestWithParam<Platform> {
protected:
    static constexpr std::chrono::seconds k_limit{90};

    OpenClPlatform()
    {
        static const ScratchDirectory pocl;  // until the process ends: PoCL keeps to what it reads first
        m_environment.set("POCL_CACHE_DIR", pocl.path());
    }

    // Its number among devices(), or none.
    static std::optional<std::size_t> device()
    {
        if (const Result<std::vector<opencl::Device>> devices = opencl::devices())
            for (const opencl::Device& device : *devices)
                if (device.platform.find(GetParam().part) != std::string::npos)
                    return device.index;
        return std::nullopt;
    }
    enum class Through : std::uint8_t { cache, nothing };
    ProcessResult compile(std::size_t device, Through through)
    {
        const std::string pocl = m_scratch / ("pocl" + std::to_string(m_processes++));
        std::filesystem::create_directory(pocl);
        // Caches of the drivers' own would answer in the place of ours.
        ProcessOptions options{.environment = {{"HEARTH_TEST_OPENCL_DEVICE", std::to_string(device)},
                                               {"OCL_ICD_FILENAMES", g_icd_files},
                                               {"HOME", m_scratch.path()},
                                               {"POCL_KERNEL_CACHE", "0"},
                                               {"POCL_CACHE_DIR", pocl}},
                               .limit = k_limit};
        if (through == Through::nothing)
            options.environment["HEARTH_DISABLE"] = "1";
        return run_process({HEARTH_OPENCL_WORKER, m_scratch / "cache", "64"}, options);
    }

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
    int m_processes = 0;
};

TEST_P(OpenClPlatform, compiles_a_kernel_once_and_the_next_process_gets_it_from_the_cache)
{
    const std::optional<std::size_t> device = this->device();
    if (!device)
        GTEST_SKIP() << "No OpenCL platform here has \"" << GetParam().part << "\" in its name.";
    const ProcessResult first = compile(*device, Through::cache);
    if (first.timed_out && compile(*device, Through::nothing).timed_out)
        GTEST_SKIP() << "This OpenCL takes more than " << k_limit.count()
                     << " s for a kernel of five lines, without Hearth too. Nothing was shown.";
    ASSERT_FALSE(first.timed_out) << "Through Hearth the compile took more than " << k_limit.count()
                                  << " s, and without it less.";
    ASSERT_EQ(first.exit_code, 0) << first.err;
    EXPECT_TRUE(first.out.starts_with("miss right 0 1 ")) << first.out;
    const ProcessResult second = compile(*device, Through::cache);
    ASSERT_EQ(second.exit_code, 0) << (second.timed_out ? "It hangs where nothing is to be compiled." : second.err);
    EXPECT_TRUE(second.out.starts_with("hit right 1 0 ")) << second.out;
}

INSTANTIATE_TEST_SUITE_P(Platforms, OpenClPlatform,
                         testing::Values(Platform{"nvidia", "NVIDIA"}, Platform{"pocl", "Portable Computing"}),
                         [](const auto& one) { return one.param.name; });

}  // namespace

}  // namespace hearth::test
