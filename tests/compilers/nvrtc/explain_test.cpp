#include "hearth/admin.hpp"
#include "nvrtc_fixture.hpp"

#include <algorithm>

namespace hearth::test {

namespace {

class NvrtcExplains : public NvrtcTest {
protected:
    void SetUp() override
    {
        NvrtcTest::SetUp();
        write("inc/value.h", "#define VALUE 1\n");
        m_program = {.source = "#include <value.h>\n__global__ void k(int* x) { *x = VALUE; }",
                     .name = "k.cu",
                     .options = {"-I" + (m_scratch / "inc"), "-std=c++17"},
                     .target = "sm_90"};
        compile(m_program);
        admin::reset_stats(*m_cache);
    }
    Explanation explain() { return nvrtc::explain(*m_cache, m_program).value(); }
    nvrtc::Program m_program;
};

TEST_F(NvrtcExplains, a_hit_says_where_it_is)
{
    EXPECT_EQ(explain().tiers, (std::vector<std::string>{"memory", "disk"}));
    EXPECT_EQ(m_cache->stats().lookups(), 0U) << "asking is not looking up";
}

TEST_F(NvrtcExplains, one_option_changed_is_named)
{
    m_program.options[1] = "-std=c++20";
    const Explanation why = explain();
    EXPECT_TRUE(why.tiers.empty());
    ASSERT_TRUE(why.nearest);
    ASSERT_EQ(why.differences.size(), 1U);
    EXPECT_EQ(why.differences[0].field, "options");
    EXPECT_EQ(why.differences[0].here, "-std=c++20");
    EXPECT_EQ(why.differences[0].there, "-std=c++17");
}

TEST_F(NvrtcExplains, one_header_changed_is_named)
{
    write("inc/value.h", "#define VALUE 2\n");
    const Explanation why = explain();
    ASSERT_EQ(why.differences.size(), 1U);
    EXPECT_NE(why.differences[0].field.find("value.h"), std::string::npos) << why.differences[0].field;
}

TEST_F(NvrtcExplains, the_source_changed_is_said)
{
    m_program.source += "\n// changed";
    const Explanation why = explain();
    ASSERT_EQ(why.differences.size(), 1U);
    EXPECT_EQ(why.differences[0].field, "source");
}

TEST_F(NvrtcExplains, a_bypass_says_why)
{
    m_program.options.emplace_back("--use-pch=x");
    EXPECT_NE(explain().why_past_the_cache.find("--use-pch"), std::string::npos);
}

TEST_F(NvrtcExplains, of_several_entries_the_nearest_is_taken)
{
    nvrtc::Program other = m_program;
    other.options.emplace_back("-DX=1");
    other.target = "sm_80";
    const Key far = compile(other).request().key();
    m_program.options.emplace_back("-DY=1");
    const Explanation why = explain();
    ASSERT_TRUE(why.nearest);
    EXPECT_NE(why.nearest->key, far);
}

}  // namespace

}  // namespace hearth::test
