#include "recipes/header_tree.hpp"

#include "support/faulty_files.hpp"
#include "support/scratch_directory.hpp"

#include <cerrno>
#include <climits>
#include <filesystem>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using recipes::HeaderTree;
using recipes::TreePlan;

class Trees : public testing::Test {
protected:
    // The content of every digest is known.
    base::Sha256 digest(const std::string& text)
    {
        const base::Sha256 sum = base::sha256(as_bytes(text));
        m_contents[sum] = text;
        return sum;
    }
    auto contents()
    {
        return [this](const base::Sha256& sum) -> std::optional<Bytes> {
            const auto found = m_contents.find(sum);
            if (found == m_contents.end())
                return std::nullopt;
            return Bytes::copy_of(found->second);
        };
    }
    // Of files by their whole paths, with these texts.
    TreePlan plan_of(const std::map<std::string, std::string>& files)
    {
        TreePlan plan;
        for (const auto& [path, text] : files)
            EXPECT_TRUE(plan.add_file("/", path, digest(text)).ok()) << path;
        return plan;
    }
    std::string root() const { return m_scratch / "tree"; }

    ScratchDirectory m_scratch;
    std::map<base::Sha256, std::string> m_contents;
};

}  // namespace

TEST_F(Trees, hold_files_where_they_lay_and_directories_that_a_path_only_passes_through)
{
    TreePlan plan = plan_of({{"/inc/sub/../b.h", "passed"}});
    ASSERT_TRUE(plan.add_file("/home/ann", "/opt/inc/a.h", digest("a")).ok());
    ASSERT_TRUE(plan.add_file("/home/ann", "local.h", digest("local")).ok());
    ASSERT_TRUE(plan.add_file("/home/ann", "../bob/b.h", digest("b")).ok());
    ASSERT_TRUE(plan.add_directory("/home/ann", ".").ok());
    HeaderTree tree(base::system_files(), root());
    ASSERT_TRUE(tree.become(plan, contents()).ok());
    EXPECT_EQ(read_file(root() + "/opt/inc/a.h"), "a");
    EXPECT_EQ(read_file(root() + "/home/ann/local.h"), "local");
    EXPECT_EQ(read_file(root() + "/home/ann/../bob/b.h"), "b");
    EXPECT_EQ(read_file(root() + "/inc/sub/../b.h"), "passed");
}

TEST_F(Trees, become_the_next_with_nothing_of_the_last_left)
{
    HeaderTree tree(base::system_files(), root());
    const TreePlan first = plan_of(
        {{"/inc/same.h", "same"}, {"/inc/changes.h", "one"}, {"/gone/deep/x.h", "x"}, {"/inc/was_file", "file"}});
    ASSERT_TRUE(tree.become(first, contents()).ok());
    const auto before = std::filesystem::last_write_time(root() + "/inc/same.h");
    const TreePlan second =
        plan_of({{"/inc/same.h", "same"}, {"/inc/changes.h", "two"}, {"/inc/was_file/now_folder.h", "now"}});
    ASSERT_TRUE(tree.become(second, contents()).ok());
    EXPECT_EQ(snapshot(root()), (std::map<std::string, std::string>{{root() + "/inc", "<directory>"},
                                                                    {root() + "/inc/same.h", "same"},
                                                                    {root() + "/inc/changes.h", "two"},
                                                                    {root() + "/inc/was_file", "<directory>"},
                                                                    {root() + "/inc/was_file/now_folder.h", "now"}}));
    EXPECT_EQ(std::filesystem::last_write_time(root() + "/inc/same.h"), before) << "what stays is not touched";
    ASSERT_TRUE(tree.become(TreePlan{}, contents()).ok());
    EXPECT_TRUE(snapshot(root()).empty());
}

TEST_F(Trees, write_nothing_above_their_root)
{
    TreePlan plan;
    for (const char* path : {"/../x.h", "/a/../../x.h", "../../x.h", "/.."}) {
        const Status added = plan.add_file("/home", path, digest("x"));
        ASSERT_FALSE(added.ok()) << path;
    }
    EXPECT_NE(plan.add_file("/home", "../../x.h", digest("x")).error().message.find("above the root"),
              std::string::npos);
    EXPECT_FALSE(plan.add_directory("/home", "../..//../y").ok());
    EXPECT_FALSE(plan.add_file("/", "/", digest("x")).ok());
    EXPECT_FALSE(plan.add_file("/", std::string("/a\0b", 4), digest("x")).ok());
    EXPECT_TRUE(plan.files().empty());
}

TEST_F(Trees, take_no_path_that_the_system_does_not)
{
    TreePlan plan;
    std::string path = "/x.h";
    while (path.size() + 3 < PATH_MAX)
        path.insert(0, "/.");
    EXPECT_TRUE(plan.add_file("/", path, digest("x")).ok()) << path.size();
    path.insert(0, "/./.");
    const Status added = plan.add_file("/", path, digest("x"));
    ASSERT_FALSE(added.ok());
    EXPECT_NE(added.error().message.find("the system takes 4095"), std::string::npos) << added.error().message;
    EXPECT_FALSE(plan.add_directory(path, ".").ok());
}

TEST_F(Trees, cannot_have_two_contents_at_one_place)
{
    TreePlan plan = plan_of({{"/inc/a.h", "one"}});
    EXPECT_TRUE(plan.add_file("/", "/inc/../inc/a.h", digest("one")).ok()) << "the same one it can";
    const Status two = plan.add_file("/", "/inc/./a.h", digest("two"));
    ASSERT_FALSE(two.ok());
    EXPECT_NE(two.error().message.find("/inc/a.h led to two files"), std::string::npos) << two.error().message;
    HeaderTree tree(base::system_files(), root());
    EXPECT_FALSE(tree.become(plan_of({{"/inc", "file"}, {"/inc/a.h", "below"}}), contents()).ok());
}

TEST_F(Trees, whose_content_is_missing_or_whose_disk_is_full_begin_anew)
{
    const TreePlan good = plan_of({{"/inc/a.h", "a"}});
    TreePlan lacking;
    ASSERT_TRUE(lacking.add_file("/", "/inc/b.h", base::sha256(as_bytes("never stored"))).ok());
    HeaderTree tree(base::system_files(), root());
    ASSERT_TRUE(tree.become(good, contents()).ok());
    const Status missing = tree.become(lacking, contents());
    ASSERT_FALSE(missing.ok());
    EXPECT_NE(missing.error().message.find("/inc/b.h"), std::string::npos) << missing.error().message;
    ASSERT_TRUE(tree.become(good, contents()).ok());
    EXPECT_EQ(snapshot(root()).size(), 2U);

    const TreePlan more = plan_of({{"/inc/a.h", "a"}, {"/deep/er/c.h", "c"}});
    const std::uint64_t operations = [&] {
        FaultyFiles counting({.error = ENOSPC});
        HeaderTree counted(counting, m_scratch / "counted");
        EXPECT_TRUE(counted.become(more, contents()).ok());
        return counting.strikable();
    }();
    for (std::uint64_t fails = 0; fails < operations; ++fails) {
        FaultyFiles files({.error = ENOSPC, .first = fails, .times = Fault::k_once});
        HeaderTree full(files, m_scratch / ("full" + std::to_string(fails)));
        EXPECT_FALSE(full.become(more, contents()).ok()) << fails;
        ASSERT_TRUE(full.become(more, contents()).ok()) << fails;
        EXPECT_EQ(read_file(full.root() + "/deep/er/c.h"), "c");
    }
}

}  // namespace hearth::test
