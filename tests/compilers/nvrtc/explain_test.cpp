#include "nvrtc_fixture.hpp"

namespace hearth::test {

namespace {

class NvrtcExplains : public NvrtcTest {
protected:
    void SetUp() override
    {
        NvrtcTest::SetUp();
        if (IsSkipped())
            return;
        write("inc/value.h", "#define VALUE 1\n");
        m_program = program("#include <value.h>", {include("inc"), "-std=c++17"});
        compile(m_program);
    }
    Explanation explain() { return nvrtc::explain(*m_cache, m_program).value(); }
    // From the nearest entry, which there is.
    Difference only_difference()
    {
        const Explanation why = explain();
        EXPECT_TRUE(why.tiers.empty());
        EXPECT_TRUE(why.nearest);
        EXPECT_EQ(why.differences.size(), 1U);
        return why.differences.empty() ? Difference{} : why.differences.front();
    }

    nvrtc::Program m_program;
};

TEST_F(NvrtcExplains, a_hit_says_where_it_is_and_is_no_lookup_as_each_compile_is_one)
{
    EXPECT_EQ(explain().tiers, (std::vector<std::string>{"memory", "disk"}));
    EXPECT_EQ(m_cache->stats().lookups(), 1U) << "asking is not looking up";
    compile(m_program);
    const Stats stats = m_cache->stats();
    EXPECT_EQ(stats.lookups(), 2U);
    EXPECT_EQ(stats.hits, 1U);
    EXPECT_EQ(stats.stores, 1U);
    EXPECT_EQ(stats.compiles, 1U);
}

TEST_F(NvrtcExplains, the_option_the_header_or_the_source_that_changed_is_named)
{
    m_program.options[1] = "-std=c++20";
    const Difference option = only_difference();
    EXPECT_EQ(option.field, "options");
    EXPECT_EQ(option.here, "-std=c++20");
    EXPECT_EQ(option.there, "-std=c++17");
    m_program.options[1] = "-std=c++17";
    write("inc/value.h", "#define VALUE 2\n");
    EXPECT_NE(only_difference().field.find("value.h"), std::string::npos) << only_difference().field;
    write("inc/value.h", "#define VALUE 1\n");
    m_program.source += "\n// changed";
    EXPECT_EQ(only_difference().field, "source");
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
