#include "opencl_test.hpp"
#include "support/process.hpp"

#include <filesystem>

namespace hearth::test {

namespace {

class OpenClProcesses : public OpenClTest {
protected:
    // What a new process says that builds saxpy and launches it: outcome, right or wrong, hits, makes, stores, files.
    // Where PoCL keeps its files is a fresh, empty place each time.
    enum class PoclCache : std::uint8_t { off, on };
    std::string worker(const std::vector<std::string>& local_sizes, PoclCache cache = PoclCache::off)
    {
        const std::string pocl = m_scratch / ("pocl" + std::to_string(m_processes++));
        std::filesystem::create_directory(pocl);
        ProcessOptions options;
        options.environment = {{"POCL_KERNEL_CACHE", cache == PoclCache::on ? "1" : "0"}, {"POCL_CACHE_DIR", pocl}};
        std::vector<std::string> command{HEARTH_OPENCL_WORKER, directory()};
        command.insert(command.end(), local_sizes.begin(), local_sizes.end());
        const ProcessResult result = run_process(command, options);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        return result.out;
    }

    int m_processes = 0;
};

TEST_F(OpenClProcesses, the_second_builds_nothing_and_gets_the_right_numbers)
{
    const std::string first = worker({"64"});
    EXPECT_TRUE(first.starts_with("miss right 0 1 2 ")) << first << "stored when built, and again when launched";
    EXPECT_EQ(worker({"64"}), "hit right 1 0 0 0\n") << "nothing is compiled at its first launch";
    const std::string unseen = worker({"16"});
    EXPECT_TRUE(unseen.starts_with("hit right 1 0 ")) << unseen;
}

TEST_F(OpenClProcesses, every_local_size_is_stored_where_the_driver_keeps_its_code)
{
    const std::string first = worker({"64", "16"}, PoclCache::on);
    if (first.starts_with("miss right 0 1 2 "))
        GTEST_SKIP() << "This driver's binary is the same after a launch.";
    EXPECT_TRUE(first.starts_with("miss right 0 1 3 ")) << first;
    EXPECT_EQ(worker({"64", "16"}), "hit right 1 0 0 0\n");
}

}  // namespace

}  // namespace hearth::test
