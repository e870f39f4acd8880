#include "gpu/host/memory_limit.hpp"
#include "support/scratch_directory.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

class GroupLimits : public testing::Test {
protected:
    void write(const std::string& path, const std::string& text)
    {
        const std::filesystem::path file = m_scratch / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    std::uint64_t limit() const { return gpu::memory_limit_of_groups(m_scratch / "."); }

    ScratchDirectory m_scratch;
};

TEST_F(GroupLimits, of_a_group_and_those_above_it_the_least_counts)
{
    EXPECT_EQ(limit(), UINT64_MAX) << "there are no groups";
    write("proc/self/cgroup", "0::/jobs/train\n");
    write("sys/fs/cgroup/jobs/train/memory.max", "max\n");
    EXPECT_EQ(limit(), UINT64_MAX);
    write("sys/fs/cgroup/jobs/memory.max", "4096000\n");
    EXPECT_EQ(limit(), 4096000U);
    write("sys/fs/cgroup/jobs/train/memory.max", "1024000\n");
    EXPECT_EQ(limit(), 1024000U);
}

TEST_F(GroupLimits, a_container_sees_its_own_group_as_the_root)
{
    write("proc/self/cgroup", "0::/\n");
    write("sys/fs/cgroup/memory.max", "2048000\n");
    EXPECT_EQ(limit(), 2048000U);
}

TEST_F(GroupLimits, the_first_version_has_a_tree_for_memory_alone)
{
    write("proc/self/cgroup", "12:cpu,cpuacct:/jobs\n7:memory:/jobs\n1:name=systemd:/jobs\n");
    write("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "3072000\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_EQ(limit(), 3072000U);
}

}  // namespace

}  // namespace hearth::test
